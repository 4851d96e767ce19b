// want: network

// Command socket opens a connection without package net.
package main

import "syscall"

func main() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: 80}); err != nil {
		panic(err)
	}
}

// want: network

// Command network opens a connection.
package main

import (
	"net"
	"os"
)

func main() {
	if _, err := net.Dial("tcp", os.Args[1]); err != nil {
		panic(err)
	}
}

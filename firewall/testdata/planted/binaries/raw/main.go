// want: raw

// Command raw makes any system call by a wrapper that the analyser does not
// use.
package main

import "golang.org/x/sys/unix"

func main() {
	if _, _, errno := unix.RawSyscall(unix.SYS_SYNC, 0, 0, 0); errno != 0 {
		panic(errno)
	}
}

// want: write

// Command remove removes a file by a system call.
package main

import (
	"os"
	"syscall"
)

func main() {
	if err := syscall.Unlink(os.Args[1]); err != nil {
		panic(err)
	}
}

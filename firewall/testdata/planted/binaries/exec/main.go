// want: process

// Command exec runs a program.
package main

import (
	"os"
	"os/exec"
)

func main() {
	if err := exec.Command(os.Args[1]).Run(); err != nil {
		panic(err)
	}
}

// want: process

// Command process starts a program without os/exec.
package main

import "os"

func main() {
	p, err := os.StartProcess(os.Args[1], os.Args[1:], &os.ProcAttr{})
	if err != nil {
		panic(err)
	}
	p.Wait()
}

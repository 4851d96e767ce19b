// want: unknown
package main

import "os"

//go:noinline
func open(name string, flag int) { _, _ = os.OpenFile(name, flag, 0) }

func main() { open("x", os.O_RDONLY) }

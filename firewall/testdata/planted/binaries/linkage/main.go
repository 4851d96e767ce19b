// want: linkage loader

// Command linkage calls C.
package main

// static int one(void) { return 1; }
import "C"

func main() { println(C.one()) }

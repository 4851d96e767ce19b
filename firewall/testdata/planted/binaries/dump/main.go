// want: dump

// Command dump writes its memory to a descriptor.
package main

import "runtime/debug"

func main() { debug.WriteHeapDump(1) }

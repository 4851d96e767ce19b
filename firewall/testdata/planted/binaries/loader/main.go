// want: linkage loader network write

// Command loader loads code, which takes C and keeps every method of the program.
package main

import (
	"os"
	"plugin"
)

func main() {
	if _, err := plugin.Open(os.Args[1]); err != nil {
		panic(err)
	}
}

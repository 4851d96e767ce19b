// want: reads
package main

import "os"

func main() {
	for _, name := range os.Args {
		if f, err := os.Open(name); err == nil {
			f.Close()
		}
	}
	_, _ = os.OpenFile("x", os.O_RDONLY, 0)
}

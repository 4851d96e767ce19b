// want: write

// Command write writes a file.
package main

import "os"

func main() {
	if err := os.WriteFile(os.Args[1], []byte("x"), 0o600); err != nil {
		panic(err)
	}
}

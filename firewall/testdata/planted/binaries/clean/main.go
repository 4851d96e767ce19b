// want:

// Command clean reads a file and prints it.
package main

import "os"

func main() {
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(b)
}

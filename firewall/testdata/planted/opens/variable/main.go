// want: unknown
package main

import "os"

func main() { _, _ = os.OpenFile("x", len(os.Args), 0) }

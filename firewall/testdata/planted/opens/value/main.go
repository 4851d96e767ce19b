// want: unknown
package main

import "os"

var open = os.OpenFile

func main() { _, _ = open("x", os.O_RDONLY, 0) }

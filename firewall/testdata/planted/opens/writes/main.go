// want: writes
package main

import "os"

func main() { _, _ = os.OpenFile("x", os.O_WRONLY, 0) }

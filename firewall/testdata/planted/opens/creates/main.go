// want: writes
package main

import "os"

func main() { _, _ = os.OpenFile("x", os.O_RDONLY|os.O_CREATE, 0o600) }

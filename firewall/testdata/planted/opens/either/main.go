// want: writes
package main

import "os"

func main() {
	flag := os.O_RDONLY
	if len(os.Args) > 1 {
		println("appending")
		flag = os.O_APPEND | os.O_WRONLY
	}
	_, _ = os.OpenFile("x", flag, 0)
}

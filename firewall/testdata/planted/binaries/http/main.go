// want: network

// Command http fetches a page.
package main

import (
	"net/http"
	"os"
)

func main() {
	if _, err := http.Get(os.Args[1]); err != nil {
		panic(err)
	}
}

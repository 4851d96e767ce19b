// want: method network write

// Command method calls a method by name. From then on the linker keeps every
// exported method of every type, those that write and accept among them.
package main

import (
	"os"
	"text/template"
)

func main() {
	t := template.Must(template.New("t").Parse(os.Args[1]))
	if err := t.Execute(os.Stdout, os.Args); err != nil {
		panic(err)
	}
}

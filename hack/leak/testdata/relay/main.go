// Command relay stands in the place of the analyser: it starts the one beside
// it and keeps what the two programs say to each other in files beside it.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Dir(exe)
	c := exec.Command(filepath.Join(dir, "reach-analyser"), os.Args[1:]...)
	c.Env = []string{}
	said := map[string]*os.File{}
	for _, name := range []string{"in", "out", "log"} {
		if said[name], err = os.Create(filepath.Join(dir, "said-"+name)); err != nil {
			return err
		}
	}
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	c.Stdout, c.Stderr = io.MultiWriter(os.Stdout, said["out"]), io.MultiWriter(os.Stderr, said["log"])
	if err := c.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.MultiWriter(in, said["in"]), os.Stdin)
		in.Close()
	}()
	return c.Wait()
}

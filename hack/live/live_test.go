package main

import (
	"os"
	"sync"
	"testing"

	"github.com/gitops-reach/reach/hack/live/internal/programs"
)

// shared is what the tests of this package share.
var shared struct {
	// programs is built by the first that needs it.
	programs func() (programs.Dir, error)
	// dir is removed, and end called, when all have run.
	dir string
	end func()
}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	shared.dir, shared.end = dir, func() {}
	shared.programs = sync.OnceValues(func() (programs.Dir, error) { return programs.Clusters(".", os.Stderr) })
	defer func() { shared.end() }()
	return m.Run()
}

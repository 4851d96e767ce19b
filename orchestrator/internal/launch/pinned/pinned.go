// Package pinned knows the analyser that was built together with this program,
// and begins to check it before anything else is done.
//
// The check is the largest part of what a small census waits for, and for the
// first milliseconds of a program, in which its packages are initialised one
// after the other, all processors but one have nothing to do. So this package,
// which imports little and is initialised early, begins the check then. It starts
// nothing and decides nothing: package launch does.
package pinned

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/gitops-reach/reach/firewall/digest"
)

// Program is the name of the analyser's binary.
const Program = "reach-analyser"

// Digest is the digest of the analyser that was built together with this program,
// and Tree its tree, which the same file has and which is faster to check; both
// are empty when none was linked. Package firewall/digest says how they are.
var Digest, Tree string

// commands are those that start an analyser.
var commands = []string{"census", "explain"}

var ahead = begin(os.Args)

// Beside returns the path of the analyser next to the running program, where
// the build puts it.
func Beside() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the analyser: %w", err)
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Join(filepath.Dir(exe), Program), nil
}

// Open opens the binary, which must be a regular file: opening anything else may
// block, and reading it not end. The caller closes it.
func Open(binary string) (*os.File, error) {
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return os.Open(binary)
}

// TreeOf returns the tree of an open binary.
func TreeOf(ctx context.Context, f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return digest.Tree(ctx, f, info.Size())
}

// check is one that was begun.
type check struct {
	binary string
	taken  atomic.Bool
	done   chan struct{}
	// Set when done is closed.
	file *os.File
	tree string
}

// begin begins to check the analyser beside this program when a command line
// needs one and it is known which it must be; else it returns nil.
func begin(args []string) *check {
	if Tree == "" || len(args) < 2 || !slices.Contains(commands, args[1]) {
		return nil
	}
	binary, err := Beside()
	if err != nil {
		return nil
	}
	c := &check{binary: binary, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		// Whatever fails here fails again, and is told, where it is looked at.
		if f, err := Open(binary); err == nil {
			c.file = f
			c.tree, _ = TreeOf(context.Background(), f)
		}
	}()
	return c
}

// Ahead waits for the check of the binary that was begun before anything else and
// returns the file as it was opened for it, which the caller closes, and its tree.
// It returns nil when none was begun, for this binary, when it failed, when ctx
// ends first, and at every call but the first.
func Ahead(ctx context.Context, binary string) (*os.File, string) { return ahead.take(ctx, binary) }

func (c *check) take(ctx context.Context, binary string) (*os.File, string) {
	if c == nil || c.binary != binary || c.taken.Swap(true) {
		return nil, ""
	}
	select {
	case <-c.done:
		return c.file, c.tree
	case <-ctx.Done():
		return nil, ""
	}
}

//go:build !unix

package stdio

import (
	"errors"
	"os"
	"sync/atomic"
)

var taken atomic.Bool

// Take takes standard input and output away from the rest of the process and
// returns them as the one connection. Call it first in main, once; a second
// call fails.
//
// On this operating system the file descriptors stay where they are, so only
// code that prints through os.Stdout is led to standard error.
func Take() (*Conn, error) {
	if !taken.CompareAndSwap(false, true) {
		return nil, errors.New("standard input and output are taken already")
	}
	c := New(os.Stdin, os.Stdout)
	os.Stdout = os.Stderr
	return c, nil
}

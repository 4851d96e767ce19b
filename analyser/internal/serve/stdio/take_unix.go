//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

var taken atomic.Bool

// Take takes standard input and output away from the rest of the process and
// returns them as the one connection. From then on file descriptor 1 leads to
// standard error, and file descriptor 0 is at its end, also for code that
// knows nothing of this package. Call it first in main, once, and before
// system calls are restricted; a second call fails.
//
// The connection's own descriptors are closed on exec. A peer that stops
// reading makes Write fail instead of killing the process by SIGPIPE.
func Take() (*Conn, error) {
	if !taken.CompareAndSwap(false, true) {
		return nil, errors.New("standard input and output are taken already")
	}
	in, err := move(0, "standard input")
	if err != nil {
		return nil, err
	}
	out, err := move(1, "standard output")
	if err != nil {
		return nil, err
	}

	// A pipe without a writer: reading it is the end of file. /dev/null would
	// be one more file to open.
	empty, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making an empty standard input: %w", err)
	}
	defer empty.Close()
	w.Close()
	if err := unix.Dup2(int(empty.Fd()), 0); err != nil {
		return nil, fmt.Errorf("emptying standard input: %w", err)
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, fmt.Errorf("leading standard output to standard error: %w", err)
	}
	return New(in, out), nil
}

// move duplicates a standard descriptor to a number that no library knows.
func move(fd int, name string) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicating %s: %w", name, err)
	}
	// Only what can be polled may be made non-blocking: the flag belongs to
	// the open file, so a terminal or a regular file would carry it back to
	// the program that lent it.
	var stat unix.Stat_t
	if err := unix.Fstat(dup, &stat); err != nil {
		return nil, fmt.Errorf("looking at %s: %w", name, err)
	}
	if kind := stat.Mode & unix.S_IFMT; kind == unix.S_IFIFO || kind == unix.S_IFSOCK {
		if err := syscall.SetNonblock(dup, true); err != nil {
			return nil, fmt.Errorf("making %s pollable: %w", name, err)
		}
	}
	return os.NewFile(uintptr(dup), name), nil
}

package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// pieceSize is about how much of a file is looked at in one go, in bytes.
const pieceSize = 256 << 10

// inPieces reads a file of a folder and has look, called from several goroutines
// at once, look at each piece of whole lines; look returns how many lines the
// piece has and what it found there, or how far it came with an error. inPieces
// returns the number of lines and all that was found, or the error of the first
// piece with one; lines count from the beginning of the file.
func inPieces(dir, name string, look func([]byte) (int, []LeakError, error)) (int, []LeakError, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return 0, nil, fmt.Errorf("the report is not whole: %w", err)
	}
	defer f.Close()
	size := int64(pieceSize)
	if info, err := f.Stat(); err == nil {
		size = min(size, info.Size()+1)
	}
	type outcome struct {
		lines int
		leaks []LeakError
		err   error
	}
	var outcomes []*outcome
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	var rest []byte
	for end := false; !end; {
		// A line that is longer is read in ever larger steps.
		piece := make([]byte, len(rest)+max(int(size), len(rest)))
		n := copy(piece, rest)
		read, err := io.ReadFull(f, piece[n:])
		end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			_ = workers.Wait()
			return 0, nil, fmt.Errorf("reading %s: %w", f.Name(), err)
		}
		piece = piece[:n+read]
		if rest = nil; !end {
			last := bytes.LastIndexByte(piece, '\n') + 1
			piece, rest = piece[:last], piece[last:]
		}
		if len(piece) == 0 {
			continue
		}
		o := &outcome{}
		outcomes = append(outcomes, o)
		workers.Go(func() error {
			o.lines, o.leaks, o.err = look(piece)
			return nil
		})
	}
	_ = workers.Wait()
	lines := 0
	var leaks []LeakError
	for _, o := range outcomes {
		if bad := (*lineError)(nil); errors.As(o.err, &bad) {
			return 0, nil, fmt.Errorf("%s:%d: %w", f.Name(), lines+bad.line, bad.err)
		}
		for _, l := range o.leaks {
			leaks = append(leaks, LeakError{File: name, Line: lines + l.Line, Name: l.Name})
		}
		lines += o.lines
	}
	return lines, leaks, nil
}

// Package digest names a program by its bytes, in the two ways that are linked
// into the program which starts it.
//
// One is the SHA-256 digest of the file, which anybody can compute and which
// people are shown. The other, its tree, is the SHA-256 digest of the SHA-256
// digests of the pieces of the file, one after the other. Whoever finds two
// files with one tree has found two inputs with one SHA-256 digest, as with the
// first; but the tree is computed on all processors at once, and the digest is
// the largest part of what it takes to start a program of this size.
package digest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// pieceSize is the number of bytes of every piece but the last, which has what
// is left. A file without bytes has no piece.
const pieceSize = 128 << 10

// maxWorkers is where more of them wait for memory rather than compute.
const maxWorkers = 8

// Tree returns the tree of the first size bytes of r, in hexadecimal. It is an
// error when there are fewer, or when ctx ends before it is known.
func Tree(ctx context.Context, r io.ReaderAt, size int64) (string, error) {
	pieces := (size + pieceSize - 1) / pieceSize
	sums := make([]byte, pieces*sha256.Size)
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(pieces, int64(runtime.GOMAXPROCS(0)), maxWorkers) {
		g.Go(func() error {
			buffer := make([]byte, min(pieceSize, size))
			for {
				i := next.Add(1) - 1
				if i >= pieces {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				start := i * pieceSize
				piece := buffer[:min(pieceSize, size-start)]
				if n, err := r.ReadAt(piece, start); n < len(piece) {
					return fmt.Errorf("reading %d bytes at %d: %w", len(piece), start, err)
				}
				sum := sha256.Sum256(piece)
				copy(sums[i*sha256.Size:], sum[:])
			}
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	root := sha256.Sum256(sums)
	return hex.EncodeToString(root[:]), nil
}

// pinned are the variables that LinkerFlags sets.
const pinned = "github.com/gitops-reach/reach/orchestrator/internal/launch/pinned."

// LinkerFlags returns what the linker of reach has to be told for it to start
// the program in file and no other.
func LinkerFlags(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	tree, err := Tree(context.Background(), f, info.Size())
	if err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", file, err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", file, err)
	}
	return fmt.Sprintf("-X %sDigest=%x -X %sTree=%s", pinned, h.Sum(nil), pinned, tree), nil
}

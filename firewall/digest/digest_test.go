package digest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slowTree follows the definition, one piece after the other.
func slowTree(content []byte) string {
	h := sha256.New()
	for len(content) > 0 {
		n := min(len(content), pieceSize)
		sum := sha256.Sum256(content[:n])
		h.Write(sum[:])
		content = content[n:]
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func content(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>17)
	}
	return b
}

func TestTree(t *testing.T) {
	seen := map[string]int{}
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 2 * pieceSize, 17*pieceSize + 5} {
		b := content(size)
		got, err := Tree(t.Context(), bytes.NewReader(b), int64(size))
		if want := slowTree(b); got != want || err != nil {
			t.Errorf("%d bytes: %s, %v, want %s", size, got, err, want)
		}
		if before, ok := seen[got]; ok {
			t.Errorf("%d and %d bytes have one tree", before, size)
		}
		seen[got] = size
	}
	// sha256sum of sha256sum's answer, in binary: printf abc | sha256sum | xxd -r -p | sha256sum
	if got, err := Tree(t.Context(), strings.NewReader("abc"), 3); got != "4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358" || err != nil {
		t.Errorf("abc: %s, %v", got, err)
	}
}

// A change of any byte, of the order of pieces or of the length is seen.
func TestTreeSeesEveryChange(t *testing.T) {
	const size = 3*pieceSize + 100
	original := content(size)
	want, err := Tree(t.Context(), bytes.NewReader(original), size)
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string][]byte{
		"shorter": original[:size-1],
		"longer":  append(bytes.Clone(original), 0),
		"swapped": append(append(bytes.Clone(original[pieceSize:2*pieceSize]), original[:pieceSize]...), original[2*pieceSize:]...),
	}
	for _, at := range []int{0, pieceSize - 1, pieceSize, 2*pieceSize + 77, size - 1} {
		changed := bytes.Clone(original)
		changed[at] ^= 1
		changes[fmt.Sprint("bit at ", at)] = changed
	}
	for name, changed := range changes {
		if got, err := Tree(t.Context(), bytes.NewReader(changed), int64(len(changed))); got == want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestTreeFails(t *testing.T) {
	if got, err := Tree(t.Context(), strings.NewReader("abc"), 4); err == nil {
		t.Errorf("more bytes than there are: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Tree(ctx, strings.NewReader("abc"), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %s, %v", got, err)
	}
}

func TestLinkerFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	b := content(2*pieceSize + 1)
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	const of = "-X github.com/gitops-reach/reach/orchestrator/internal/launch/pinned."
	want := fmt.Sprintf("%sDigest=%x %sTree=%s", of, sha256.Sum256(b), of, slowTree(b))
	if got, err := LinkerFlags(file); got != want || err != nil {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if got, err := LinkerFlags(file + ".none"); err == nil {
		t.Errorf("of no file: %s", got)
	}
}

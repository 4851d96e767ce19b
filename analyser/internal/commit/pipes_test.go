//go:build unix

package commit

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A pipe in place of a file would block whoever opens it.
func TestPipes(t *testing.T) {
	b := newRepo(t)
	id := blobID("x")
	for _, name := range []string{"refs/heads/pipe", "packed-refs", "shallow", "objects/pack/pack-a.idx", "objects/pack/pack-a.pack", "objects/info/alternates", "objects/" + id.String()[:2] + "/" + id.String()[2:]} {
		b.write(name, nil)
		if err := os.Remove(b.path(name)); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(b.path(name), 0o644); err != nil {
			t.Skipf("no named pipes here: %v", err)
		}
	}
	r := b.open(Limits{})
	if _, err := r.object(id); !errors.Is(err, ErrAbsent) {
		t.Errorf("a pipe for an object: %v", err)
	}
	if _, err := r.Resolve("pipe"); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("a pipe for a ref: %v", err)
	}
}

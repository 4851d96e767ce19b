package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Trees that git fsck reports are read where git reads them, and refused by
// name where a path could not mean what they hold.
func TestTrees(t *testing.T) {
	tests := []struct {
		name    string
		entries func(blob, tree plumbing.Hash) string
		want    string // paths and modes, or
		message string // of the error
	}{
		{"plain", func(b, d plumbing.Hash) string {
			return rawEntry("100644", "a", b) + rawEntry("40000", "d", d) + rawEntry("100755", "x", b)
		}, "a:0 d/f:0 x:1", ""},
		{"empty", func(b, d plumbing.Hash) string { return "" }, "", ""},
		{"out of order", func(b, d plumbing.Hash) string {
			return rawEntry("100644", "z", b) + rawEntry("40000", "d", d) + rawEntry("100644", "a", b)
		}, "a:0 d/f:0 z:0", ""},
		{"odd modes", func(b, d plumbing.Hash) string {
			return rawEntry("0100644", "a", b) + rawEntry("040000", "d", d) + rawEntry("100600", "p", b) +
				rawEntry("100711", "q", b) + rawEntry("120777", "r", b) + rawEntry("0", "s", b) + rawEntry("160001", "t", b)
		}, "a:0 d/f:0 p:0 q:1 r:2 s:3 t:3", ""},
		{"file and directory sorted apart", func(b, d plumbing.Hash) string {
			return rawEntry("100644", "d", b) + rawEntry("100644", "d-x", b) + rawEntry("40000", "d", d)
		}, "", `entry "d" is there twice`},
		{"twice", func(b, d plumbing.Hash) string { return rawEntry("100644", "a", b) + rawEntry("100644", "a", b) }, "", `entry "a" is there twice`},
		{"dot", func(b, d plumbing.Hash) string { return rawEntry("100644", ".", b) }, "", `entry "."`},
		{"dot dot", func(b, d plumbing.Hash) string { return rawEntry("40000", "..", d) }, "", `entry ".."`},
		{"git", func(b, d plumbing.Hash) string { return rawEntry("40000", ".GiT", d) }, "", `entry ".GiT"`},
		{"slash", func(b, d plumbing.Hash) string { return rawEntry("100644", "a/b", b) }, "", `entry "a/b"`},
		{"no name", func(b, d plumbing.Hash) string { return rawEntry("100644", "", b) }, "", `entry ""`},
		{"no mode", func(b, d plumbing.Hash) string { return rawEntry("", "a", b) }, "", "truncated entry"},
		{"bad mode", func(b, d plumbing.Hash) string { return rawEntry("10064x", "a", b) }, "", "malformed mode"},
		{"endless mode", func(b, d plumbing.Hash) string { return rawEntry(strings.Repeat("7", 40), "a", b) }, "", "malformed mode"},
		{"cut off", func(b, d plumbing.Hash) string { return rawEntry("100644", "a", b)[:20] }, "", "truncated entry"},
		{"no end of name", func(b, d plumbing.Hash) string { return "100644 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }, "", "truncated entry"},
		{"a blob for a tree", func(b, d plumbing.Hash) string { return rawEntry("40000", "d", b) }, "", "is a blob, not a tree"},
		{"a tree that is not there", func(b, d plumbing.Hash) string { return rawEntry("40000", "d", plumbing.Hash{1}) }, "", "history or object absent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newRepo(t)
			file := b.loose("blob", "kind: A\n")
			dir := b.loose("tree", rawEntry("100644", "f", file))
			inner := b.loose("tree", tt.entries(file, dir))
			b.commit(b.loose("tree", rawEntry("40000", "in", inner)))
			s, err := listHead(b.open(Limits{}))
			if tt.message != "" {
				if err == nil || !strings.Contains(err.Error(), tt.message) || !strings.Contains(err.Error(), `directory "in`) {
					t.Fatalf("the error is %v, want it to name the directory and %q", err, tt.message)
				}
				if errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v: says that a file does not exist", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range s.Entries() {
				got = append(got, fmt.Sprintf("%s:%d", strings.TrimPrefix(e.Path, "in/"), e.Mode))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func listHead(r *Repository) (*snapshot.Snapshot, error) {
	c, err := r.Resolve("HEAD")
	if err != nil {
		return nil, err
	}
	return r.Snapshot(context.Background(), c, nil)
}

// A few small trees can stand for any number of files. The limits end that.
func TestTreeBombs(t *testing.T) {
	wide := func(b *repoBuilder, last func() plumbing.Hash, levels int) plumbing.Hash {
		id := last()
		mode := "100644"
		for range levels {
			var tree strings.Builder
			for i := range 10 {
				tree.WriteString(rawEntry(mode, fmt.Sprint("d", i), id))
			}
			id, mode = b.loose("tree", tree.String()), "40000"
		}
		return id
	}
	deep := func(b *repoBuilder, name string, levels int) plumbing.Hash {
		id, mode := b.loose("blob", "x"), "100644"
		for range levels {
			id, mode = b.loose("tree", rawEntry(mode, name, id)), "40000"
		}
		return id
	}
	tests := []struct {
		name    string
		limits  Limits
		tree    func(*repoBuilder) plumbing.Hash
		message string
	}{
		{"files", Limits{MaxFiles: 50_000}, func(b *repoBuilder) plumbing.Hash {
			return wide(b, func() plumbing.Hash { return b.loose("blob", "x") }, 12)
		}, "more than 50000 files"},
		{"directories without a file", Limits{MaxFiles: 5_000}, func(b *repoBuilder) plumbing.Hash {
			empty := b.loose("tree", "")
			var tree strings.Builder
			for i := range 100 {
				tree.WriteString(rawEntry("40000", fmt.Sprintf("d%02d", i), empty))
			}
			id := b.loose("tree", tree.String())
			for range 5 {
				id = b.loose("tree", rawEntry("40000", "a", id)+rawEntry("40000", "b", id)+rawEntry("40000", "c", id))
			}
			return id
		}, "more than 5000 files"},
		{"one directory", Limits{MaxFiles: 999}, func(b *repoBuilder) plumbing.Hash { return manyFiles(b, 1000) }, "more than 999 files"},
		{"depth", Limits{}, func(b *repoBuilder) plumbing.Hash { return deep(b, "d", 1500) }, "nested deeper than 1000"},
		{"length", Limits{}, func(b *repoBuilder) plumbing.Hash { return deep(b, strings.Repeat("d", 1000), 100) }, "longer than 16384 bytes"},
		{"total length", Limits{MaxFiles: 1000}, func(b *repoBuilder) plumbing.Hash {
			id := b.loose("blob", "x")
			var tree strings.Builder
			for i := range 900 {
				tree.WriteString(rawEntry("100644", fmt.Sprintf("%03d%s", i, strings.Repeat("f", 500)), id))
			}
			return b.loose("tree", tree.String())
		}, "longer than 256 bytes each in the mean"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newRepo(t)
			b.commit(tt.tree(b))
			start := time.Now()
			_, err := listHead(b.open(tt.limits))
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("the error is %.500v, want %q", err, tt.message)
			}
			if spent := time.Since(start); spent > 10*time.Second {
				t.Errorf("took %v", spent)
			}
		})
	}
}

func manyFiles(b *repoBuilder, n int) plumbing.Hash {
	id := b.loose("blob", "x")
	var tree strings.Builder
	for i := range n {
		tree.WriteString(rawEntry("100644", fmt.Sprintf("f%06d", i), id))
	}
	return b.loose("tree", tree.String())
}

func TestManyFiles(t *testing.T) {
	b := newRepo(t)
	b.commit(manyFiles(b, 100_000))
	r := b.open(Limits{})
	c, err := r.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	s, err := r.Snapshot(context.Background(), c, func(n int) {
		if n < last {
			t.Errorf("progress goes from %d back to %d", last, n)
		}
		last = n
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Entries()); n != 100_000 || last != n {
		t.Errorf("%d entries, progress ended at %d", n, last)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Snapshot(ctx, c, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

func FuzzTree(f *testing.F) {
	id := blobID("x")
	f.Add([]byte(rawEntry("100644", "a", id) + rawEntry("40000", "d", id)))
	f.Add([]byte(rawEntry("40000", "..", id)))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseTree(data, 1000)
		if err != nil {
			return
		}
		size := 0
		seen := map[string]bool{}
		for _, e := range entries {
			if e.name == "" || e.name == "." || e.name == ".." || strings.ContainsAny(e.name, "/\x00") || seen[e.name] {
				t.Errorf("entry %q", e.name)
			}
			seen[e.name] = true
			size += len(e.name) + 2 + idSize
		}
		if size > len(data) {
			t.Errorf("%d bytes of entries out of %d", size, len(data))
		}
	})
}

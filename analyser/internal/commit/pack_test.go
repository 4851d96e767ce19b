package commit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// More packs than files are kept open for, with bases of deltas in other packs,
// which git only writes while it sends.
func TestManyPacks(t *testing.T) {
	b := newRepo(t)
	want := map[plumbing.Hash]string{}
	base := "kind: A\n"
	add := func(name string, o packed, content string) {
		b.pack(name, o)
		want[o.id] = content
	}
	add("base", packed{id: blobID(base), kind: blob, size: -1, content: base}, base)
	for i := range keptPacks + 20 {
		content := fmt.Sprint("value: ", i, "\n", strings.Repeat("x", i))
		add(fmt.Sprint("whole-", i), packed{id: blobID(content), kind: blob, size: -1, content: content}, content)
		tail := fmt.Sprint("tail: ", i, "\n")
		add(fmt.Sprint("delta-", i), packed{id: blobID(base + tail), kind: byRef, size: -1, content: deltaOf(base, tail), baseID: blobID(base)}, base+tail)
	}
	r := b.open(Limits{})
	for range 2 {
		for id, content := range want {
			if o, err := r.object(id); err != nil || string(o.data) != content {
				t.Fatalf("%s: %.40q, %v", id, o.data, err)
			}
		}
	}
	kept := 0
	for _, p := range r.store.list() {
		if _, ok := p.data.(reopened); !ok {
			kept++
		}
	}
	if n := len(r.store.list()); n != 2*keptPacks+41 || kept != keptPacks {
		t.Errorf("%d of %d packs are kept open", kept, n)
	}
}

// The cache of delta bases stays within its bound and can be switched off.
func TestDeltaCache(t *testing.T) {
	b := newRepo(t)
	content := strings.Repeat("key: value\n", 500)
	objects := []packed{{id: blobID(content), kind: blob, size: -1, content: content}}
	for i := range 200 {
		tail := fmt.Sprint("v: ", i, "\n")
		objects = append(objects, packed{id: blobID(content + tail), kind: ofs, size: -1, content: deltaOf(content, tail), base: i})
		content += tail
	}
	b.pack("a", objects...)
	for _, limit := range []int64{-1, 100_000, 0} {
		r := b.open(Limits{DeltaCache: limit})
		for _, o := range objects {
			if _, err := r.object(o.id); err != nil {
				t.Fatal(err)
			}
		}
		c := r.store.cache
		var size int64
		for e := c.order.Front(); e != nil; e = e.Next() {
			size += int64(len(e.Value.(cached).data)) + overhead
		}
		if size != c.size || c.size > max(c.limit, 0) || len(c.at) != c.order.Len() {
			t.Errorf("limit %d: %d bytes counted, %d held, %d of %d entries", limit, c.size, size, len(c.at), c.order.Len())
		}
		if limit == 0 && len(c.at) != len(objects) {
			t.Errorf("%d of %d objects are kept", len(c.at), len(objects))
		}
	}
}

// A pack that comes within the resolution of the file system's clock is seen,
// and one that comes later as well.
func TestPackThatComes(t *testing.T) {
	b := newRepo(t)
	add := func(content string) plumbing.Hash {
		id := blobID(content)
		b.pack(id.String(), packed{id: id, kind: blob, size: -1, content: content})
		return id
	}
	add("first")
	now := time.Now()
	stamp := func() {
		if err := os.Chtimes(b.path("objects/pack"), now, now); err != nil {
			t.Fatal(err)
		}
	}
	stamp()
	r := b.open(Limits{})
	for _, content := range []string{"second", "third"} {
		id := add(content)
		stamp()
		if _, err := r.object(id); err != nil {
			t.Errorf("the %s pack: %v", content, err)
		}
	}
	if _, err := r.object(blobID("none")); !errors.Is(err, ErrAbsent) {
		t.Errorf("what no pack has: %v", err)
	}
}

package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

const (
	blob  = plumbing.BlobObject
	ofs   = plumbing.OFSDeltaObject
	byRef = plumbing.REFDeltaObject
)

// A pack may claim anything. Each object that cannot be read says why, and
// objects beside it are read.
func TestHostilePack(t *testing.T) {
	content := strings.Repeat("key: value\n", 100)
	id := func(n byte) plumbing.Hash { return plumbing.Hash{n} }
	good := packed{id: blobID(content), kind: blob, size: -1, content: content}
	longer := content + "more: 1\n"
	chain := func(n int) []packed {
		objects, base := []packed{good}, content
		for i := range n {
			tail := fmt.Sprint("v: ", i, "\n")
			objects = append(objects, packed{id: blobID(base + tail), kind: ofs, size: -1, content: deltaOf(base, tail), base: i})
			base += tail
		}
		return objects
	}
	bomb := deflate(strings.Repeat("\x00", 50<<20))
	zeros := string(append(append(append(varint(len(content)), varint(1<<40)...), 0x80|0x10), 1))
	tests := []struct {
		name    string
		objects []packed // the last one is read
		limits  Limits
		want    error
		message string
	}{
		{"blob", []packed{good}, Limits{}, nil, ""},
		{"delta by offset", []packed{good, {id: blobID(longer), kind: ofs, size: -1, content: deltaOf(content, "more: 1\n")}}, Limits{}, nil, ""},
		{"delta by id", []packed{good, {id: blobID(longer), kind: byRef, size: -1, content: deltaOf(content, "more: 1\n"), baseID: good.id}}, Limits{}, nil, ""},
		{"long chain", chain(300), Limits{}, nil, ""},
		{"chain too long", chain(300), Limits{MaxDeltaDepth: 299}, ErrCorrupt, "more than 299 deltas"},
		{"another content", []packed{{id: id(1), kind: blob, size: -1, content: "x"}}, Limits{}, ErrCorrupt, "the content has another id"},
		{"another type", []packed{{id: good.id, kind: plumbing.TreeObject, size: -1, content: content}}, Limits{}, ErrCorrupt, "another id"},
		{"size too small", []packed{{id: good.id, kind: blob, size: 10, content: content}}, Limits{}, ErrCorrupt, "longer than its header says"},
		{"size too large", []packed{{id: good.id, kind: blob, size: 5000, content: content}}, Limits{}, ErrCorrupt, "unexpected EOF"},
		{"no zlib", []packed{{id: id(1), kind: blob, size: 10, raw: []byte("no zlib at all")}}, Limits{}, ErrCorrupt, "zlib: invalid header"},
		{"broken zlib", []packed{{id: id(1), kind: blob, size: 100, raw: []byte("\x78\x9c\xff\xff\xff\xff\xff\xff")}}, Limits{}, ErrCorrupt, "flate: corrupt input"},
		{"broken checksum", []packed{{id: good.id, kind: blob, size: int64(len(content)), raw: append(deflate(content)[:len(deflate(content))-1], '!')}}, Limits{}, ErrCorrupt, "zlib: invalid checksum"},
		{"type 0", []packed{{id: id(1), kind: 0, size: 1, content: "x"}}, Limits{}, ErrCorrupt, "object type 0"},
		{"type 5", []packed{{id: id(1), kind: 5, size: 1, content: "x"}}, Limits{}, ErrCorrupt, "object type 5"},
		{"size out of range", []packed{{id: id(1), kind: blob, size: 1 << 62, content: "x"}}, Limits{}, ErrCorrupt, "size out of range"},
		{"claims a terabyte", []packed{{id: id(1), kind: blob, size: 1 << 40, content: content}}, Limits{}, ErrLimit, "1099511627776 bytes"},
		{"claims what cannot be", []packed{{id: id(1), kind: blob, size: 200 << 20, content: content}}, Limits{}, ErrCorrupt, "cannot come from"},
		{"inflates without end", []packed{{id: id(1), kind: blob, size: 1 << 20, raw: bomb}}, Limits{}, ErrCorrupt, "longer than its header says"},
		{"larger than a blob may be", []packed{{id: blobID(strings.Repeat("\x00", 50<<20)), kind: blob, size: 50 << 20, raw: bomb}}, Limits{MaxBlob: 1 << 20, MaxInflated: 10 << 20}, ErrLimit, ""},
		{"delta of itself", []packed{{id: id(1), kind: byRef, size: -1, content: deltaOf(content, "x"), baseID: id(1)}}, Limits{}, ErrCorrupt, "or a circle"},
		{"delta circle", []packed{
			{id: id(1), kind: byRef, size: -1, content: deltaOf(content, "x"), baseID: id(3)},
			{id: id(2), kind: byRef, size: -1, content: deltaOf(content, "x"), baseID: id(1)},
			{id: id(3), kind: byRef, size: -1, content: deltaOf(content, "x"), baseID: id(2)},
		}, Limits{}, ErrCorrupt, "or a circle"},
		{"base before the pack", []packed{{id: id(1), kind: ofs, size: -1, content: deltaOf(content, "x"), back: 11}}, Limits{}, ErrCorrupt, "out of range"},
		{"base far before the pack", []packed{{id: id(1), kind: ofs, size: -1, content: deltaOf(content, "x"), back: 1 << 50}}, Limits{}, ErrCorrupt, "out of range"},
		{"base in the middle of something", []packed{good, {id: id(1), kind: ofs, size: -1, content: deltaOf(content, "x"), back: 3}}, Limits{}, ErrCorrupt, ""},
		{"base nowhere", []packed{{id: id(1), kind: byRef, size: -1, content: deltaOf(content, "x"), baseID: id(9)}}, Limits{}, ErrAbsent, ""},
		{"delta for another base", []packed{good, {id: id(1), kind: ofs, size: -1, content: deltaOf(content+"y", "x")}}, Limits{}, ErrCorrupt, "another base"},
		{"delta without sizes", []packed{good, {id: id(1), kind: ofs, size: -1, content: "\xff\xff"}}, Limits{}, ErrCorrupt, "another base"},
		{"delta that claims a terabyte", []packed{good, {id: id(1), kind: ofs, size: -1, content: zeros}}, Limits{}, ErrLimit, "1099511627776 bytes"},
		{"delta that copies too much", []packed{good, {id: id(1), kind: ofs, size: -1, content: string(varint(len(content))) + "\x05\xb0\xff\xff"}}, Limits{}, ErrCorrupt, "invalid delta"},
		{"delta that goes on", []packed{good, {id: id(1), kind: ofs, size: -1, content: deltaOf(content, "x") + "\x01y"}}, Limits{}, ErrCorrupt, "invalid delta"},
		{"delta command 0", []packed{good, {id: id(1), kind: ofs, size: -1, content: string(varint(len(content))) + "\x05\x00"}}, Limits{}, ErrCorrupt, "delta command"},
		{"too much work", chain(300), Limits{MaxWork: 100_000}, ErrLimit, "100000 bytes of work"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newRepo(t)
			beside := packed{id: blobID("beside"), kind: blob, size: -1, content: "beside"}
			b.pack("a", append(tt.objects, beside)...)
			r := b.open(tt.limits)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			last := tt.objects[len(tt.objects)-1]
			_, err := r.object(last.id)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.message) {
				t.Errorf("the error is %v, want %v with %q", err, tt.want, tt.message)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v: says that a file does not exist", err)
			}
			if err != nil && strings.Contains(err.Error(), b.dir) {
				t.Errorf("%v: names a path of this machine", err)
			}
			if spent := time.Since(start); spent > 5*time.Second {
				t.Errorf("took %v", spent)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("allocated %d bytes", used)
			}
			if o, err := r.object(beside.id); err != nil || string(o.data) != "beside" {
				t.Errorf("the object beside it: %q, %v", o.data, err)
			}
		})
	}
}

// A damaged file of a pack makes its objects corrupt, not absent, unless there
// is another copy.
func TestDamagedPackFiles(t *testing.T) {
	content := "kind: A\n"
	id := blobID(content)
	pack, index := packFiles([]packed{{id: id, kind: blob, size: -1, content: content}})
	cut := func(b []byte, n int) []byte { return b[:len(b)-n] }
	set := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	offset := 8 + fanoutSize + idSize + 4 // of the only object
	tests := []struct {
		name        string
		pack, index []byte
		want        error
		message     string
	}{
		{"healthy", pack, index, nil, ""},
		{"pack cut off", cut(pack, 5), index, ErrCorrupt, "does not belong to its index, or is truncated"},
		{"pack cut to nothing", nil, index, ErrCorrupt, "truncated"},
		{"pack of another index", set(pack, len(pack)-1, 0xee), index, ErrCorrupt, "does not belong"},
		{"pack with another count", set(pack, 11, 7), index, ErrCorrupt, "does not belong"},
		{"pack of version 9", set(pack, 7, 9), index, ErrCorrupt, "version 9"},
		{"no pack", set(pack, 0, 'B'), index, ErrCorrupt, "no pack signature"},
		{"index cut off", pack, cut(index, 3), ErrCorrupt, "do not fit"},
		{"index cut to nothing", pack, nil, ErrCorrupt, "truncated"},
		{"index of version 7", pack, set(index, 7, 7), ErrUnsupported, "version 7"},
		{"index with unsorted fan-out", pack, set(index, 8, 0xff), ErrCorrupt, "not sorted"},
		{"index that counts too many", pack, set(index, 8+fanoutSize-4, 0, 1, 0, 0), ErrCorrupt, "do not fit"},
		{"index with offset at the end", pack, set(index, offset, 0, 0, 0, byte(len(pack)-idSize)), ErrCorrupt, "beyond the end"},
		{"index with offset in the header", pack, set(index, offset, 0, 0, 0, 4), ErrCorrupt, "beyond the end"},
		{"index with large offset out of range", pack, set(index, offset, 0x80, 0, 0, 9), ErrCorrupt, "out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newRepo(t)
			b.write("objects/pack/pack-a.pack", tt.pack)
			b.write("objects/pack/pack-a.idx", tt.index)
			_, err := b.open(Limits{}).object(id)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.message) {
				t.Errorf("the error is %v, want %v with %q", err, tt.want, tt.message)
			}
			b.loose("blob", content)
			if o, err := b.open(Limits{}).object(id); err != nil || string(o.data) != content {
				t.Errorf("with an intact loose copy: %q, %v", o.data, err)
			}
			if _, err := b.open(Limits{}).object(blobID("other")); tt.want == nil && !errors.Is(err, ErrAbsent) {
				t.Errorf("another object: %v, want %v", err, ErrAbsent)
			}
		})
	}
}

func TestDamagedLooseObject(t *testing.T) {
	content := "kind: A\n"
	id := blobID(content)
	raw := fmt.Sprintf("blob %d\x00%s", len(content), content)
	tests := []struct {
		name    string
		data    []byte
		want    error
		message string
	}{
		{"healthy", deflate(raw), nil, ""},
		{"empty file", nil, ErrCorrupt, "unexpected EOF"},
		{"cut off", deflate(raw)[:12], ErrCorrupt, "unexpected EOF"},
		{"garbage", []byte("kind: A\n"), ErrCorrupt, "zlib"},
		{"no header", deflate(strings.Repeat("x", 100)), ErrCorrupt, "no header"},
		{"type unknown", deflate("blub 8\x00" + content), ErrCorrupt, `object type "blub"`},
		{"type of a delta", deflate("ofs-delta 8\x00" + content), ErrCorrupt, "object type"},
		{"size not a number", deflate("blob -8\x00" + content), ErrCorrupt, "bad size"},
		{"size too small", deflate("blob 7\x00" + content), ErrCorrupt, "longer"},
		{"size too large", deflate("blob 9\x00" + content), ErrCorrupt, "unexpected EOF"},
		{"claims a terabyte", deflate("blob 1099511627776\x00" + content), ErrLimit, "1099511627776"},
		{"another content", deflate("blob 8\x00kind: B\n"), ErrCorrupt, "another id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newRepo(t)
			b.looseRaw(id, tt.data)
			_, err := b.open(Limits{}).object(id)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.message) {
				t.Errorf("the error is %v, want %v with %q", err, tt.want, tt.message)
			}
		})
	}
}

// One blob that cannot be read fails alone.
func TestOneBrokenBlob(t *testing.T) {
	b := newRepo(t)
	good, lost, broken := b.loose("blob", "kind: A\n"), blobID("lost"), blobID("broken")
	b.looseRaw(broken, []byte("garbage"))
	wrong := b.loose("tree", "")
	large := b.loose("blob", strings.Repeat("x", 100))
	tree := b.loose("tree", rawEntry("100644", "broken", broken)+rawEntry("100644", "good", good)+
		rawEntry("100644", "large", large)+rawEntry("100644", "lost", lost)+
		rawEntry("160000", "module", good)+rawEntry("100644", "wrong", wrong))
	b.commit(tree)
	r := b.open(Limits{MaxBlob: 99})
	c, err := r.Resolve("main")
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Unix(1700000000, 0); !c.Time.Equal(want) {
		t.Errorf("the commit is of %v, want %v", c.Time, want)
	}
	s, err := r.Snapshot(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]error{"good": nil, "broken": ErrCorrupt, "lost": ErrAbsent, "large": ErrLimit, "module": ErrUnsupported, "wrong": ErrCorrupt}
	for _, e := range s.Entries() {
		if _, err := s.ReadEntry(e); !errors.Is(err, want[e.Path]) {
			t.Errorf("%s: %v, want %v", e.Path, err, want[e.Path])
		}
		delete(want, e.Path)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	if _, err := s.ReadEntry(snapshot.Entry{Path: "x", Blob: "../../etc/passwd"}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an entry of no repository: %v", err)
	}
}

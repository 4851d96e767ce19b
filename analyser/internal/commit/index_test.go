package commit

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// countingReader counts what is read.
type countingReader struct {
	*bytes.Reader
	reads, bytes int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.bytes += len(p)
	return c.Reader.ReadAt(p, off)
}

// indexOf makes an index of ids at offsets that are 1000 + their number.
func indexOf(ids []plumbing.Hash) []byte {
	ids = slices.Clone(ids)
	plumbing.HashesSort(ids)
	var b bytes.Buffer
	b.WriteString("\xfftOc\x00\x00\x00\x02")
	n := 0
	for first := range 256 {
		for n < len(ids) && int(ids[n][0]) <= first {
			n++
		}
		binary.Write(&b, binary.BigEndian, uint32(n))
	}
	for _, id := range ids {
		b.Write(id[:])
	}
	b.Write(make([]byte, 4*len(ids)))
	for i := range ids {
		binary.Write(&b, binary.BigEndian, uint32(1000+i))
	}
	b.Write(make([]byte, 2*idSize))
	return b.Bytes()
}

func hashes(n int) []plumbing.Hash {
	ids := make([]plumbing.Hash, n)
	for i := range ids {
		ids[i] = sha1.Sum(fmt.Append(nil, i))
	}
	return ids
}

// Every id is found where it is, no other one is, and a look-up reads a few
// kilobytes however large the index is.
func TestIndexLookup(t *testing.T) {
	skewed := make([]plumbing.Hash, 20_000) // not spread like hashes: all below one byte
	for i := range skewed {
		binary.BigEndian.PutUint64(skewed[i][12:], uint64(i)*7)
	}
	tests := []struct {
		name  string
		ids   []plumbing.Hash
		reads int // for one look-up, at most
	}{
		{"one", hashes(1), 4},
		{"few", hashes(300), 4},
		{"many", hashes(100_000), 5},
		{"skewed", skewed, 16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sorted := slices.Clone(tt.ids)
			plumbing.HashesSort(sorted)
			data := indexOf(tt.ids)
			r := &countingReader{Reader: bytes.NewReader(data)}
			x, err := newPackIndex(r, int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			step := max(1, len(sorted)/5000)
			for i := 0; i < len(sorted); i += step {
				r.reads, r.bytes = 0, 0
				at, ok, err := x.lookup(sorted[i])
				if err != nil || !ok || at != int64(1000+i) {
					t.Fatalf("id %d is at %d, %t, %v", i, at, ok, err)
				}
				if r.reads > tt.reads || r.bytes > 16*nameWindow*idSize {
					t.Fatalf("%d reads of %d bytes in all for one id", r.reads, r.bytes)
				}
				other := sorted[i]
				other[19] ^= 1
				if _, found := slices.BinarySearchFunc(sorted, other, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) }); found {
					continue
				}
				if _, ok, err := x.lookup(other); ok || err != nil {
					t.Fatalf("an id that is not there: %t, %v", ok, err)
				}
			}
		})
	}
}

func TestIndexPrefix(t *testing.T) {
	ids := hashes(3000)
	data := indexOf(ids)
	x, err := newPackIndex(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[:200] {
		for _, n := range []int{2, 3, 4, 5, 8, 39, 40} {
			prefix := hex.EncodeToString(id[:])[:n]
			var got, want []string
			if err := x.withPrefix(prefix, func(id plumbing.Hash) bool { got = append(got, id.String()); return true }); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if strings.HasPrefix(id.String(), prefix) {
					want = append(want, id.String())
				}
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Fatalf("prefix %s: got %v, want %v", prefix, got, want)
			}
		}
	}
}

// FuzzPack gives any bytes as an index and a pack: reading ends and never
// returns content that has another id.
func FuzzPack(f *testing.F) {
	content := strings.Repeat("key: value\n", 20)
	packData, indexData := packFiles([]packed{
		{id: blobID(content), kind: blob, size: -1, content: content},
		{id: blobID(content + "x"), kind: ofs, size: -1, content: deltaOf(content, "x")},
		{id: blobID(content + "y"), kind: byRef, size: -1, content: deltaOf(content, "y"), baseID: blobID(content)},
	})
	f.Add(packData, indexData, 0)
	f.Add(packData, indexData, 300)
	f.Fuzz(func(t *testing.T, packData, indexData []byte, at int) {
		s := &store{limits: Limits{MaxInflated: 1 << 20, MaxWork: 4 << 20, MaxDeltaDepth: 50}, cache: newBaseCache(1 << 20)}
		p := packOf(packData, indexData)
		s.packs.Store(&[]*pack{p})
		for _, tail := range []string{"", "x", "y"} {
			id := blobID(content + tail)
			if o, ok, err := s.inPack(p, id); err == nil && ok && string(o.data) != content+tail {
				t.Errorf("wrong content for %s", id)
			}
		}
		_, _ = s.unpack(p, int64(at))
	})
}

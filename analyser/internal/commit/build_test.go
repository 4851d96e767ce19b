package commit

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// repoBuilder makes repositories that git would not make.
type repoBuilder struct {
	tb  testing.TB
	dir string
}

func newRepo(tb testing.TB) *repoBuilder {
	b := &repoBuilder{tb, tb.TempDir()}
	b.write("HEAD", []byte("ref: refs/heads/main\n"))
	b.write("config", []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"))
	for _, d := range []string{"objects/pack", "objects/info", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(b.dir, d), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

func (b *repoBuilder) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *repoBuilder) write(name string, data []byte) {
	b.tb.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.tb.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), data, 0o644); err != nil {
		b.tb.Fatal(err)
	}
}

func (b *repoBuilder) open(limits Limits) *Repository {
	b.tb.Helper()
	r, err := Open(b.dir, limits)
	if err != nil {
		b.tb.Fatal(err)
	}
	return r
}

// loose stores an object in a file of its own.
func (b *repoBuilder) loose(kind, content string) plumbing.Hash {
	raw := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	id := plumbing.Hash(sha1.Sum([]byte(raw)))
	b.looseRaw(id, deflate(raw))
	return id
}

func (b *repoBuilder) looseRaw(id plumbing.Hash, data []byte) {
	hex := id.String()
	b.write("objects/"+hex[:2]+"/"+hex[2:], data)
}

// commit makes main a commit of a tree.
func (b *repoBuilder) commit(tree plumbing.Hash) plumbing.Hash {
	id := b.loose("commit", "tree "+tree.String()+"\nauthor a <a> 1 +0000\ncommitter c <c> 1700000000 +0100\n\nmessage\n")
	b.write("refs/heads/main", []byte(id.String()+"\n"))
	return id
}

func rawEntry(mode, name string, id plumbing.Hash) string {
	return mode + " " + name + "\x00" + string(id[:])
}

func deflate(s string) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	w.Write([]byte(s))
	w.Close()
	return out.Bytes()
}

func blobID(content string) plumbing.Hash {
	return sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
}

// packed is an object of a pack that is written byte for byte.
type packed struct {
	id      plumbing.Hash
	kind    plumbing.ObjectType
	size    int64 // -1: the length of content
	content string
	base    int           // of an ofs delta: subscript of the base
	back    int64         // of an ofs delta: distance, instead of base
	baseID  plumbing.Hash // of a ref delta
	raw     []byte        // instead of deflated content
}

// deltaOf is a delta that ends with the literal tail after all of base, which
// is at most 64 KiB.
func deltaOf(base, tail string) string {
	d := append(varint(len(base)), varint(len(base)+len(tail))...)
	if len(base) > 0 {
		d = append(d, 0x80|0x10|0x20, byte(len(base)), byte(len(base)>>8))
	}
	for len(tail) > 0 {
		n := min(len(tail), 127)
		d = append(append(d, byte(n)), tail[:n]...)
		tail = tail[n:]
	}
	return string(d)
}

func varint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// packFiles are the bytes of a pack and its index.
func packFiles(objects []packed) (pack, index []byte) {
	var out bytes.Buffer
	out.WriteString("PACK\x00\x00\x00\x02")
	binary.Write(&out, binary.BigEndian, uint32(len(objects)))
	offsets := make([]int64, len(objects))
	sums := make([]uint32, len(objects))
	for i, o := range objects {
		offsets[i] = int64(out.Len())
		size := o.size
		if size < 0 {
			size = int64(len(o.content))
		}
		c := byte(o.kind)<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out.WriteByte(c | 0x80)
			c = byte(size & 0x7f)
		}
		out.WriteByte(c)
		switch o.kind {
		case plumbing.OFSDeltaObject:
			back := o.back
			if back == 0 {
				back = offsets[i] - offsets[o.base]
			}
			v := []byte{byte(back & 0x7f)}
			for back >>= 7; back > 0; back >>= 7 {
				back--
				v = append(v, byte(back&0x7f)|0x80)
			}
			slices.Reverse(v)
			out.Write(v)
		case plumbing.REFDeltaObject:
			out.Write(o.baseID[:])
		}
		if o.raw != nil {
			out.Write(o.raw)
		} else {
			out.Write(deflate(o.content))
		}
		sums[i] = crc32.ChecksumIEEE(out.Bytes()[offsets[i]:])
	}
	sum := sha1.Sum(out.Bytes())
	out.Write(sum[:])
	pack = out.Bytes()

	order := make([]int, len(objects))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(objects[a].id[:], objects[b].id[:]) })
	var idx bytes.Buffer
	idx.WriteString("\xfftOc\x00\x00\x00\x02")
	for first := range 256 {
		n := uint32(0)
		for _, o := range objects {
			if int(o.id[0]) <= first {
				n++
			}
		}
		binary.Write(&idx, binary.BigEndian, n)
	}
	for _, i := range order {
		idx.Write(objects[i].id[:])
	}
	for _, i := range order {
		binary.Write(&idx, binary.BigEndian, sums[i])
	}
	for _, i := range order {
		binary.Write(&idx, binary.BigEndian, uint32(offsets[i]))
	}
	idx.Write(sum[:])
	own := sha1.Sum(idx.Bytes())
	idx.Write(own[:])
	return pack, idx.Bytes()
}

func (b *repoBuilder) pack(name string, objects ...packed) {
	pack, index := packFiles(objects)
	b.write("objects/pack/pack-"+name+".pack", pack)
	b.write("objects/pack/pack-"+name+".idx", index)
}

// packOf is a pack of bytes in memory.
func packOf(packData, indexData []byte) *pack {
	p := &pack{stem: "pack-memory"}
	p.indexOnce.Do(func() {
		p.idx, p.indexErr = newPackIndex(bytes.NewReader(indexData), int64(len(indexData)))
	})
	p.openOnce.Do(func() {
		if p.openErr = p.indexErr; p.openErr == nil {
			p.openErr = p.use(bytes.NewReader(packData), int64(len(packData)))
		}
	})
	return p
}

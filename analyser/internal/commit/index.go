package commit

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	idSize     = 20
	fanoutSize = 256 * 4
	// nameWindow is how many ids are read at once when one is looked up. Ids
	// are hashes, so a guess by proportion is rarely off by more than the
	// square root of the number of candidates.
	nameWindow = 128
)

// packIndex looks up ids in a pack index of version 1 or 2 in place: it keeps
// the 256 counters of the fan-out table and reads a window of names for each
// look-up. Nothing grows with the history.
//
// The checksum over the index is not verified, because that takes reading all
// of it; a wrong offset shows when the object found there has another id.
type packIndex struct {
	r      io.ReaderAt
	size   int64
	fanout [256]uint32 // number of ids whose first byte is at most the subscript

	count    int64
	names    int64 // offset of the first id
	stride   int64 // distance of two ids
	offset32 int64 // version 2: offset of the table of offsets
	offset64 int64
	wide     int64    // entries in the table of large offsets
	packSum  [20]byte // checksum of the pack that is indexed
}

var indexMagic = []byte{0xff, 't', 'O', 'c'}

func newPackIndex(r io.ReaderAt, size int64) (*packIndex, error) {
	var head [8 + fanoutSize]byte
	if size < fanoutSize+2*idSize {
		return nil, errors.New("truncated")
	}
	if _, err := r.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	x := &packIndex{r: r, size: size}
	table := head[:fanoutSize]
	v2 := bytes.Equal(head[:4], indexMagic)
	if v2 {
		if v := binary.BigEndian.Uint32(head[4:]); v != 2 {
			return nil, fmt.Errorf("version %d: %w", v, ErrUnsupported)
		}
		table = head[8:]
	}
	last := uint32(0)
	for i := range x.fanout {
		n := binary.BigEndian.Uint32(table[4*i:])
		if n < last {
			return nil, errors.New("fan-out table is not sorted")
		}
		x.fanout[i], last = n, n
	}
	x.count = int64(last)
	trailer := int64(2 * idSize)
	if v2 {
		x.names, x.stride = 8+fanoutSize, idSize
		x.offset32 = x.names + x.count*(idSize+4)
		x.offset64 = x.offset32 + x.count*4
		rest := size - trailer - x.offset64
		if rest < 0 || rest%8 != 0 || rest/8 > x.count {
			return nil, fmt.Errorf("%d bytes do not fit %d objects", size, x.count)
		}
		x.wide = rest / 8
	} else {
		x.names, x.stride = fanoutSize+4, idSize+4
		if fanoutSize+x.count*x.stride+trailer != size {
			return nil, fmt.Errorf("%d bytes do not fit %d objects", size, x.count)
		}
	}
	if _, err := r.ReadAt(x.packSum[:], size-trailer); err != nil {
		return nil, err
	}
	return x, nil
}

// bucket is the range of positions of ids that begin with a byte.
func (x *packIndex) bucket(first byte) (lo, hi int64) {
	if first > 0 {
		lo = int64(x.fanout[first-1])
	}
	return lo, int64(x.fanout[first])
}

// lookup returns where the object is in the pack.
func (x *packIndex) lookup(id plumbing.Hash) (offset int64, ok bool, err error) {
	lo, hi := x.bucket(id[0])
	if lo == hi {
		return 0, false, nil
	}
	pos, exact, err := x.search(id, lo, hi)
	if err != nil || !exact {
		return 0, false, err
	}
	offset, err = x.offsetAt(pos)
	return offset, err == nil, err
}

var windows = sync.Pool{New: func() any { return new([nameWindow * (idSize + 4)]byte) }}

// search returns the first position in [lo, hi) whose id is not less than id,
// or hi, and whether it is id. In an index that is not sorted it ends as fast
// and may not find what is there.
func (x *packIndex) search(id plumbing.Hash, lo, hi int64) (pos int64, exact bool, err error) {
	window := windows.Get().(*[nameWindow * (idSize + 4)]byte)
	defer windows.Put(window)
	for guess := 0; hi-lo > nameWindow; guess++ {
		// By proportion first; by halves when that does not converge.
		mid := lo + (hi-lo)/2
		if guess < 3 {
			share := int64(binary.BigEndian.Uint32(id[1:]))
			blo, bhi := x.bucket(id[0])
			mid = blo + (bhi-blo)*share>>32
		}
		start := max(lo, min(mid-nameWindow/2, hi-nameWindow))
		n := int64(nameWindow)
		b := window[:(n-1)*x.stride+idSize]
		if _, err := x.r.ReadAt(b, x.names+start*x.stride); err != nil {
			return 0, false, err
		}
		first, last := b[:idSize], b[(n-1)*x.stride:]
		switch {
		case bytes.Compare(id[:], first) < 0:
			hi = start
		case bytes.Compare(id[:], last) > 0:
			lo = start + n
		default:
			lo, hi = start, start+n
		}
	}
	if lo == hi {
		return hi, false, nil
	}
	n := hi - lo
	b := window[:(n-1)*x.stride+idSize]
	if _, err := x.r.ReadAt(b, x.names+lo*x.stride); err != nil {
		return 0, false, err
	}
	for i := range n {
		if c := bytes.Compare(b[i*x.stride:i*x.stride+idSize], id[:]); c >= 0 {
			return lo + i, c == 0, nil
		}
	}
	return hi, false, nil
}

func (x *packIndex) offsetAt(pos int64) (int64, error) {
	var b [8]byte
	if x.offset32 == 0 {
		_, err := x.r.ReadAt(b[:4], x.names+pos*x.stride-4)
		return int64(binary.BigEndian.Uint32(b[:])), err
	}
	if _, err := x.r.ReadAt(b[:4], x.offset32+4*pos); err != nil {
		return 0, err
	}
	v := binary.BigEndian.Uint32(b[:])
	if v>>31 == 0 {
		return int64(v), nil
	}
	i := int64(v &^ (1 << 31))
	if i >= x.wide {
		return 0, errors.New("large offset out of range")
	}
	if _, err := x.r.ReadAt(b[:], x.offset64+8*i); err != nil {
		return 0, err
	}
	wide := binary.BigEndian.Uint64(b[:])
	if wide>>63 != 0 {
		return 0, errors.New("large offset out of range")
	}
	return int64(wide), nil
}

// withPrefix calls found for every id that begins with the hexadecimal digits
// of prefix, at least two, until found returns false.
func (x *packIndex) withPrefix(prefix string, found func(plumbing.Hash) bool) error {
	least := plumbing.NewHash(prefix + zeroHex[len(prefix):])
	lo, hi := x.bucket(least[0])
	if lo == hi {
		return nil
	}
	pos, _, err := x.search(least, lo, hi)
	for ; err == nil && pos < hi; pos++ {
		var id plumbing.Hash
		if _, err = x.r.ReadAt(id[:], x.names+pos*x.stride); err != nil {
			break
		}
		if hex.EncodeToString(id[:])[:len(prefix)] != prefix || !found(id) {
			break
		}
	}
	return err
}

const zeroHex = "0000000000000000000000000000000000000000"

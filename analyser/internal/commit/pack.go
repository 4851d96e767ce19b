package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// pack is one pack with its index. Both are opened when they are first needed.
type pack struct {
	number int
	stem   string // path without ".idx" and ".pack"

	indexOnce sync.Once
	idx       *packIndex
	indexErr  error

	openOnce sync.Once
	data     io.ReaderAt
	end      int64 // of the objects: what follows is the checksum
	openErr  error
}

// name is for messages, which do not say where on this machine a clone is.
func (p *pack) name() string { return filepath.Base(p.stem) }

// smallIndex is the size up to which an index is read into memory and its file
// closed, so that many small packs need few descriptors.
const smallIndex = 256 << 10

// keptPacks is how many packs keep their files open. Those of further packs are
// opened for each read.
const keptPacks = 200

// openData opens a file of the pack.
func (p *pack) openData(ext string) (r io.ReaderAt, size int64, err error) {
	f, err := openFile(p.stem + ext)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	size = st.Size()
	if ext == ".idx" && size <= smallIndex {
		data, err := io.ReadAll(io.LimitReader(f, smallIndex))
		f.Close()
		return bytes.NewReader(data), size, err
	}
	if p.number < keptPacks {
		return f, size, nil
	}
	return reopened(p.stem + ext), size, f.Close()
}

// reopened is a file that is opened for each read.
type reopened string

func (name reopened) ReadAt(b []byte, offset int64) (int, error) {
	f, err := openFile(string(name))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(b, offset)
}

// index opens the pack's index.
func (p *pack) index() (*packIndex, error) {
	p.indexOnce.Do(func() {
		r, size, err := p.openData(".idx")
		if err != nil {
			p.indexErr = err
			return
		}
		if p.idx, err = newPackIndex(r, size); err != nil {
			p.indexErr = fmt.Errorf("%s.idx: %w: %w", p.name(), ErrCorrupt, err)
		}
	})
	return p.idx, p.indexErr
}

// open opens the pack and checks that it is the one that the index describes.
func (p *pack) open() (io.ReaderAt, error) {
	p.openOnce.Do(func() { p.openErr = p.openPack() })
	return p.data, p.openErr
}

func (p *pack) openPack() error {
	if _, err := p.index(); err != nil {
		return err
	}
	r, size, err := p.openData(".pack")
	if err != nil {
		return err
	}
	return p.use(r, size)
}

// use takes the bytes of the pack from r.
func (p *pack) use(r io.ReaderAt, size int64) error {
	bad := func(why string) error { return fmt.Errorf("%s: %w: %s", p.name(), ErrCorrupt, why) }
	var head [12]byte
	var sum [idSize]byte
	if size < int64(len(head)+idSize) {
		return bad("truncated")
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return err
	}
	if _, err := r.ReadAt(sum[:], size-idSize); err != nil && err != io.EOF {
		return err
	}
	switch version := binary.BigEndian.Uint32(head[4:]); {
	case string(head[:4]) != "PACK":
		return bad("no pack signature")
	case version != 2 && version != 3:
		return bad(fmt.Sprintf("version %d", version))
	case sum != p.idx.packSum, int64(binary.BigEndian.Uint32(head[8:])) != p.idx.count:
		return bad("it does not belong to its index, or is truncated")
	}
	p.data, p.end = r, size-idSize
	return nil
}

// entry is the header of an object in a pack.
type entry struct {
	kind    plumbing.ObjectType
	size    int64         // of what is inflated: content or delta
	base    int64         // offset of the base, of an ofs delta
	baseID  plumbing.Hash // of a ref delta
	content int64         // offset of the compressed bytes
}

// readEntry reads the header at offset and leaves the inflater behind it.
func readEntry(f *inflater, offset int64) (e entry, err error) {
	n := int64(0)
	next := func() (byte, error) {
		b, err := f.buf.ReadByte()
		n++
		return b, unexpected(err)
	}
	b, err := next()
	if err != nil {
		return e, err
	}
	e.kind = plumbing.ObjectType(b >> 4 & 7)
	e.size = int64(b & 15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = next(); err != nil {
			return e, err
		}
		if shift > 53 {
			return e, errors.New("size out of range")
		}
		e.size |= int64(b&0x7f) << shift
	}
	switch e.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		if b, err = next(); err != nil {
			return e, err
		}
		back := int64(b & 0x7f)
		for b&0x80 != 0 {
			if b, err = next(); err != nil {
				return e, err
			}
			if back >= 1<<55 {
				return e, errors.New("offset of delta base out of range")
			}
			back = (back+1)<<7 | int64(b&0x7f)
		}
		if e.base = offset - back; back <= 0 || e.base < 12 {
			return e, errors.New("offset of delta base out of range")
		}
	case plumbing.REFDeltaObject:
		if _, err := io.ReadFull(f.buf, e.baseID[:]); err != nil {
			return e, unexpected(err)
		}
		n += idSize
	default:
		return e, fmt.Errorf("object type %d", e.kind)
	}
	e.content = offset + n
	return e, nil
}

// step is a delta on the way from an object to its undeltified base.
type step struct {
	pack *pack
	at   int64
	entry
}

// unpack returns the object at an offset. It walks to the base first and
// applies the deltas on the way back, without recursion: a chain may be long,
// and in a corrupt pack a circle.
func (s *store) unpack(p *pack, offset int64) (object, error) {
	var chain []step
	var base object
	budget := s.limits.MaxWork
	for {
		if o, ok := s.cache.get(place{p.number, offset}); ok {
			base = o
			break
		}
		e, o, err := s.readAt(p, offset, &budget)
		if err != nil {
			return object{}, fmt.Errorf("%s at %d: %w", p.name(), offset, err)
		}
		if o.data != nil {
			s.cache.put(place{p.number, offset}, o)
			base = o
			break
		}
		if len(chain) == s.limits.MaxDeltaDepth {
			return object{}, fmt.Errorf("%s at %d: %w: more than %d deltas, or a circle", p.name(), offset, ErrCorrupt, len(chain))
		}
		chain = append(chain, step{p, offset, e})
		if e.kind == plumbing.OFSDeltaObject {
			offset = e.base
			continue
		}
		q, at, o, err := s.refBase(p, e.baseID)
		if err != nil {
			return object{}, fmt.Errorf("%s at %d: %w", p.name(), offset, err)
		}
		if q == nil {
			base = o
			break
		}
		p, offset = q, at
	}
	for i := len(chain) - 1; i >= 0; i-- {
		st := chain[i]
		data, err := s.applyDelta(st, base.data, &budget)
		if err != nil {
			return object{}, fmt.Errorf("%s at %d: %w", st.pack.name(), st.at, err)
		}
		base = object{base.kind, data}
		s.cache.put(place{st.pack.number, st.at}, base)
	}
	return base, nil
}

// readAt reads the header at an offset and, unless it is a delta, the content,
// which is then not nil.
func (s *store) readAt(p *pack, offset int64, budget *int64) (entry, object, error) {
	r, err := p.open()
	if err != nil {
		return entry{}, object{}, err
	}
	if offset < 12 || offset >= p.end {
		return entry{}, object{}, fmt.Errorf("%w: beyond the end", ErrCorrupt)
	}
	f := openInflater(r, offset, p.end)
	defer f.close()
	e, err := readEntry(f, offset)
	if err != nil {
		return e, object{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if e.kind == plumbing.OFSDeltaObject || e.kind == plumbing.REFDeltaObject {
		return e, object{}, nil
	}
	data, err := s.inflate(f, e.size, budget)
	return e, object{e.kind, data}, err
}

// inflate reads a zlib stream of a known size. The result is not nil.
func (s *store) inflate(f *inflater, size int64, budget *int64) ([]byte, error) {
	if err := s.spend(size, budget); err != nil {
		return nil, err
	}
	err := f.start()
	var data []byte
	if err == nil {
		data, err = f.read(size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return data, nil
}

func (s *store) spend(size int64, budget *int64) error {
	if size > s.limits.MaxInflated {
		return fmt.Errorf("%w: an object of %d bytes, more than %d", ErrLimit, size, s.limits.MaxInflated)
	}
	if *budget -= size; *budget < 0 {
		return fmt.Errorf("%w: more than %d bytes of work for one object", ErrLimit, s.limits.MaxWork)
	}
	return nil
}

func (s *store) applyDelta(st step, base []byte, budget *int64) ([]byte, error) {
	r, err := st.pack.open()
	if err != nil {
		return nil, err
	}
	f := openInflater(r, st.content, st.pack.end)
	defer f.close()
	delta, err := s.inflate(f, st.size, budget)
	if err != nil {
		return nil, err
	}
	from, rest, ok := deltaSize(delta)
	to, _, ok2 := deltaSize(rest)
	if !ok || !ok2 || from != int64(len(base)) {
		return nil, fmt.Errorf("%w: the delta is for another base", ErrCorrupt)
	}
	if err := s.spend(to, budget); err != nil {
		return nil, err
	}
	data, err := packfile.PatchDelta(base, delta)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return data, nil
}

// deltaSize reads one of the two sizes at the beginning of a delta.
func deltaSize(delta []byte) (size int64, rest []byte, ok bool) {
	for i, b := range delta {
		if i > 7 {
			return 0, nil, false
		}
		size |= int64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return size, delta[i+1:], true
		}
	}
	return 0, nil, false
}

// refBase finds the base of a ref delta: in the same pack, where git writes it,
// or anywhere else. A nil pack means that the object is given.
func (s *store) refBase(p *pack, id plumbing.Hash) (*pack, int64, object, error) {
	if idx, err := p.index(); err == nil {
		if at, ok, err := idx.lookup(id); err == nil && ok {
			return p, at, object{}, nil
		}
	}
	for _, q := range s.list() {
		idx, err := q.index()
		if err != nil {
			continue
		}
		if at, ok, err := idx.lookup(id); err == nil && ok {
			return q, at, object{}, nil
		}
	}
	o, err := s.loose(id)
	return nil, 0, o, err
}

package document

import (
	"iter"
	"strings"
	"sync"
	"unique"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Reader parses files of a snapshot and keeps what it parsed, so that every
// file is parsed once. It is safe for concurrent use.
type Reader struct {
	positions *position.Set
	limits    Limits
	// byLibrary parses everything with the YAML library.
	byLibrary bool

	// room is for what is not packed, here and in what is built of it.
	room *packed.Room

	mu    sync.Mutex
	files map[fileKey]*cached
}

// liveNodes stay as they are, some 80 MB: repositories of a few thousand files.
const liveNodes = 500_000

// fileKey is what makes two entries one file: the path that positions name,
// and the bytes.
type fileKey struct{ origin, blob string }

// cached is what is known of one file. Its lock is held while a part is found
// out, so that others wait instead of doing the same.
type cached struct {
	mu         sync.Mutex
	opened     bool
	base, last position.Pos

	parsed bool
	file   *File
	err    error

	scanned bool
	headers []Header
}

// NewReader returns a Reader that adds the files it parses to positions.
func NewReader(positions *position.Set, limits Limits) *Reader {
	return &Reader{
		positions: positions,
		limits:    limits.orDefaults(),
		files:     map[fileKey]*cached{},
		room:      packed.NewRoom(liveNodes),
	}
}

// Keep keeps a tree that was made of what was read: as it is while there is room,
// else packed.
func (r *Reader) Keep(t *packed.Tree) {
	if !r.byLibrary {
		r.room.Keep(t)
	}
}

// ByLibrary makes the reader parse everything with the YAML library and pack
// nothing. What it reads is the same; that is what this is for. It must be called
// before the reader is used.
func (r *Reader) ByLibrary() { r.byLibrary = true }

// Positions returns the set that the reader's nodes refer to.
func (r *Reader) Positions() *position.Set { return r.positions }

// Read parses the entry of a snapshot, or returns what it parsed before for
// the same Origin and Blob. It never returns nil; see File.Err. When the
// content itself cannot be had, the error says so, and the File has a Path
// only.
func (r *Reader) Read(s *snapshot.Snapshot, e snapshot.Entry) (*File, error) {
	c := r.cached(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	r.parse(c, s, e, nil)
	return c.file, c.err
}

// Headers returns the headers of the documents of an entry, in order, and the
// File.Err that Read would report. Where the file is plain it costs a scan
// instead of a parse; the answer is the same.
func (r *Reader) Headers(s *snapshot.Snapshot, e snapshot.Entry) ([]Header, *Error, error) {
	c := r.cached(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.scanned:
		return c.headers, nil, nil
	case !c.parsed:
		content, err := s.ReadEntry(e)
		if err != nil {
			return nil, nil, err
		}
		r.open(c, e, content)
		if c.headers, c.scanned = r.scanPlain(content, c.base, c.last); c.scanned {
			return c.headers, nil, nil
		}
		r.parse(c, s, e, content)
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	return c.file.headers(), c.file.Err, nil
}

// parse fills in the file; content is nil when it was not read yet.
func (r *Reader) parse(c *cached, s *snapshot.Snapshot, e snapshot.Entry, content []byte) {
	if c.parsed {
		return
	}
	c.parsed = true
	if content == nil {
		if content, c.err = s.ReadEntry(e); c.err != nil {
			c.file = &File{Path: e.Origin}
			return
		}
	}
	r.open(c, e, content)
	c.file = r.file(e.Origin, content, c.base, c.last)
	if !r.byLibrary {
		for _, d := range c.file.Documents {
			d.keep(r.room)
		}
	}
}

// keep keeps a document; one that is packed lets go of the text that it was parsed
// from.
func (d *Document) keep(room *packed.Room) {
	for _, t := range d.expanded {
		room.Keep(t)
	}
	if room.Keep(d.Tree) {
		d.Ref = object.Ref{
			Group: intern(d.Ref.Group), Version: intern(d.Ref.Version), Kind: intern(d.Ref.Kind),
			Namespace: intern(d.Ref.Namespace), Name: strings.Clone(d.Ref.Name),
		}
	}
}

// intern is one copy of a text that many documents have.
func intern(s string) string { return unique.Make(s).Value() }

// Retain forgets the files that are not in a snapshot; their positions stay. The room
// for what is not packed begins anew with the files that stay and with built, which are
// all trees made of them that somebody still has.
func (r *Reader) Retain(s *snapshot.Snapshot, built iter.Seq[*packed.Tree]) {
	kept := make(map[fileKey]*cached, len(r.files))
	room := packed.NewRoom(liveNodes)
	for _, e := range s.Entries() {
		k := fileKey{e.Origin, e.Blob}
		c := r.files[k]
		if c == nil {
			continue
		}
		kept[k] = c
		if c.file != nil {
			for _, d := range c.file.Documents {
				d.keep(room)
			}
		}
	}
	for t := range built {
		room.Keep(t)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, r.room = kept, room
}

// Text parses text that stands in another file: an inline patch, say. pos is
// the position of its first line; base 0 leaves all lines 0. The result is not
// kept. Lines past the end of that file count as its last one.
func (r *Reader) Text(text string, pos position.Pos) *File {
	base, last := pos-1, r.positions.Last(pos)
	if pos <= 0 {
		base, last = 0, 0
	}
	f := r.file(r.positions.Position(pos).Path, []byte(text), base, last)
	f.Base = max(pos, 0)
	return f
}

// Scalar parses the text of a string node of a parsed document: an inline
// patch, or a manifest in a field. Lines are exact for literal block scalars;
// for every other style, whose lines are not lines of the file, all of them
// are the line of the node.
func (r *Reader) Scalar(n *yaml.Node) *File {
	pos := position.Pos(n.Line)
	if n.Style&yaml.LiteralStyle != 0 {
		return r.Text(n.Value, pos+1)
	}
	f := r.file(r.positions.Position(pos).Path, []byte(n.Value), pos, pos)
	f.Base = max(pos, 0)
	return f
}

func (r *Reader) cached(e snapshot.Entry) *cached {
	k := fileKey{e.Origin, e.Blob}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.files[k]
	if c == nil {
		c = &cached{}
		r.files[k] = c
	}
	return c
}

// open reserves the positions of a file.
func (r *Reader) open(c *cached, e snapshot.Entry, content []byte) {
	if c.opened {
		return
	}
	lines := snapshot.Lines(content)
	c.base = r.positions.Add(e.Origin, lines)
	c.last = c.base + position.Pos(lines)
	c.opened = true
}

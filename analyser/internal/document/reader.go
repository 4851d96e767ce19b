package document

import (
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Reader parses files of a snapshot and keeps what it parsed, so that every
// file is parsed once. It is safe for concurrent use.
type Reader struct {
	positions *position.Set
	limits    Limits
}

// NewReader returns a Reader that adds the files it parses to positions.
func NewReader(positions *position.Set, limits Limits) *Reader {
	return &Reader{positions: positions, limits: limits}
}

// Positions returns the set that the reader's nodes refer to.
func (r *Reader) Positions() *position.Set { return r.positions }

// Read parses the entry of a snapshot, or returns what it parsed before for
// the same Origin and Blob. It never returns nil; see File.Err. When the
// content itself cannot be had, the error says so.
func (r *Reader) Read(s *snapshot.Snapshot, e snapshot.Entry) (*File, error) { return nil, nil }

// Text parses text that stands in another file: an inline patch, say. pos is
// the position of its first line; base 0 leaves all lines 0. The result is not
// kept.
func (r *Reader) Text(text string, pos position.Pos) *File { return nil }

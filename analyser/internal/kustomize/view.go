package kustomize

import (
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// view is the snapshot that a Builder builds from. What is asked of it is noted,
// where somebody wants to know whether another snapshot would answer the same.
type view struct {
	files *snapshot.Snapshot
	asked *record // nil where nobody does
}

// Lookup is that of the snapshot. The content of what it finds goes by its Blob.
func (v view) Lookup(p string) (snapshot.Entry, bool) {
	v.asked.note(question{askedFile, p})
	return v.files.Lookup(p)
}

func (v view) IsDir(p string) bool {
	v.asked.note(question{askedDir, p})
	return v.files.IsDir(p)
}

func (v view) ReadDir(dir string) []snapshot.DirEntry {
	v.asked.note(question{askedList, dir})
	return v.files.ReadDir(dir)
}

// ReadEntry returns the content of an entry that was found.
func (v view) ReadEntry(e snapshot.Entry) ([]byte, error) { return v.files.ReadEntry(e) }

// record is what something was made from: what was asked of the snapshot, and the
// records of the parts. One goroutine fills it; it does not change after that.
type record struct {
	questions []question
	parts     []*record
	seen      map[question]bool // while it is filled
}

type question struct {
	kind byte
	path string
}

const (
	askedFile byte = iota
	askedDir
	askedList
)

// newRecord returns nil unless the Builder remembers.
func (b *Builder) newRecord() *record {
	if !b.options.Remember {
		return nil
	}
	return &record{seen: map[question]bool{}}
}

// under returns a Builder that shares everything with b and fills a record.
func (b *Builder) under(r *record) *Builder {
	if r == nil {
		return b
	}
	return &Builder{shared: b.shared, view: view{b.view.files, r}}
}

func (r *record) note(q question) {
	if r == nil || r.seen[q] {
		return
	}
	r.seen[q] = true
	r.questions = append(r.questions, q)
}

// add records that a part was used; what has no record needs none.
func (r *record) add(part *record) {
	if r != nil && part != nil {
		r.parts = append(r.parts, part)
	}
}

// done ends the filling.
func (r *record) done() {
	if r != nil {
		r.seen = nil
	}
}

// holds reports whether a snapshot that differs by d answers everything the same.
// known keeps what was found out about records.
func (r *record) holds(d *snapshot.Difference, known map[*record]bool) bool {
	if held, ok := known[r]; ok {
		return held
	}
	held := true
	for _, q := range r.questions {
		switch q.kind {
		case askedFile:
			held = held && !d.Lookup(q.path)
		case askedDir:
			held = held && !d.IsDir(q.path)
		default:
			held = held && !d.ReadDir(q.path)
		}
	}
	for _, p := range r.parts {
		held = held && p.holds(d, known)
	}
	known[r] = held
	return held
}

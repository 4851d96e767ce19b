package kustomize

import (
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// A census of a neighbouring commit builds almost the same again. What a Builder of
// one snapshot made is taken over by the Builder of another one, when everything that
// was asked of the snapshot to make it would be answered the same there.

// Over returns a Builder of another snapshot that takes over from b what is the same
// there. b must have been made with Options.Remember and must not build any more; the
// new one has its Reader and its options, but for Working.
func (b *Builder) Over(snap *snapshot.Snapshot, working func()) *Builder {
	options := b.options
	options.Working = working
	over := NewBuilderWith(snap, b.docs, options)
	over.before = &before{builder: b, difference: snapshot.Compare(b.view.files, snap), known: map[*record]bool{}}
	return over
}

// Settle ends building: it lets go of the Builder that was taken over from, and of
// Options.Working.
func (b *Builder) Settle() { b.before, b.options.Working = nil, func() {} }

// before is a Builder to take from. Its methods return nil for what is not there or
// would be another thing now; a nil before has nothing.
type before struct {
	builder    *Builder
	difference *snapshot.Difference

	mu    sync.Mutex
	known map[*record]bool
}

func (f *before) holds(r *record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r != nil && r.holds(f.difference, f.known)
}

func (f *before) build(key string) *built {
	if f == nil {
		return nil
	}
	v, ok := f.builder.builds.Load(key)
	if !ok {
		return nil
	}
	if o := v.(*built); f.holds(o.record) {
		return o
	}
	return nil
}

func (f *before) layer(key layerKey) *layer {
	if f == nil {
		return nil
	}
	f.builder.mu.Lock()
	l := f.builder.layers.get(key)
	f.builder.mu.Unlock()
	if l == nil || !f.holds(l.record) {
		return nil
	}
	return l
}

func (f *before) reads(key readsKey) *reads {
	if f == nil {
		return nil
	}
	f.builder.mu.Lock()
	r := f.builder.readsOf[key]
	f.builder.mu.Unlock()
	if r == nil || !f.holds(r.record) {
		return nil
	}
	return r
}

// kfile needs no record: the key says what the file is.
func (f *before) kfile(key kfileKey) *kfile {
	if f == nil {
		return nil
	}
	f.builder.mu.Lock()
	defer f.builder.mu.Unlock()
	return f.builder.kfiles[key]
}

package kustomize

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/document"
)

// built is a build that was asked for once.
type built struct {
	once   sync.Once
	build  *Build
	record *record
}

// Build builds a target, once however often it is asked for: a Kustomization
// is built again for every set of variables, and on many clusters, while what
// kustomize makes of it stays the same. It never fails: see Build.Failure. The
// result is shared and must not be changed.
func (b *Builder) Build(t Target) *Build {
	if !b.options.Trace {
		t.Declared = nil
	}
	if b.options.Unshared {
		return b.build(t)
	}
	key := t.key()
	v, _ := b.builds.LoadOrStore(key, &built{})
	o := v.(*built)
	o.once.Do(func() {
		if old := b.before.build(key); old != nil {
			o.build, o.record = old.build, old.record
			return
		}
		o.record = b.newRecord()
		o.build = b.under(o.record).build(t)
		o.record.done()
		if !b.options.Trace { // a History knows the nodes
			o.build.keep(b.docs)
		}
	})
	return o.build
}

// keep keeps the objects, packed where there is no room for them.
func (o *Build) keep(docs *document.Reader) {
	for _, objects := range [][]*Object{o.Objects, o.Unwritten} {
		for _, object := range objects {
			docs.Keep(object.Tree)
		}
	}
}

// key is equal for targets with equal builds, origins included.
func (t Target) key() string {
	if t.Flux == nil {
		return t.Dir
	}
	var s strings.Builder
	flat := *t.Flux
	flat.Patches = nil
	fmt.Fprintf(&s, "%s\x00%#v\x00%p", t.Dir, flat, t.Declared)
	for _, p := range t.Flux.Patches {
		fmt.Fprintf(&s, "\x00%q %d", p.Text, p.Pos)
		if p.Target != nil {
			fmt.Fprintf(&s, " %#v", *p.Target)
		}
	}
	return s.String()
}

package census

import (
	"maps"
	"slices"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Memory is what a census leaves for the next one of the same repository, so that a
// neighbouring commit costs what differs: files that were parsed, what was built from
// files that are the same, and what the objects of those builds mean. It changes no
// result. The zero value remembers nothing yet. It serves one census at a time.
type Memory struct {
	last *recalled
}

// recalled is what one census has of the one before it, and leaves to the next. A nil
// recalled has nothing and takes nothing.
type recalled struct {
	from   *Memory
	before *recalled // nil for the first census, and after one
	limits limits

	snap      *snapshot.Snapshot
	docs      *document.Reader
	views     map[string]*controller.View
	builders  map[string]*kustomize.Builder
	raws      map[*document.Document]*kustomize.Object
	read      map[*kustomize.Object]controller.Declared
	suspected map[*controller.Result][]*kustomize.Object

	mu      sync.Mutex
	results map[finished]*controller.Result
}

// limits are those of a request that what is remembered depends on.
type limits struct {
	document          document.Limits
	layers, ofObjects int
}

// finished names what a controller makes of a build.
type finished struct {
	build  *kustomize.Build
	inputs string
}

// recall begins a census: what the memory has goes to it and comes back with keep. A
// census without shortcuts remembers nothing.
func (m *Memory) recall(req *Request) *recalled {
	if m == nil || req.NoShortcuts {
		return nil
	}
	r := &recalled{
		from: m, before: m.last, results: map[finished]*controller.Result{},
		limits: limits{req.Limits.Document, req.Limits.Build.MaxDepth, req.Limits.Build.MaxObjects},
	}
	if r.before != nil && r.before.limits != r.limits {
		r.before = nil
	}
	m.last = nil
	return r
}

// keep ends a census. Nothing is kept of one that did not come to its end, or that
// could not read everything: the next one may be able to.
func (r *recalled) keep(w *worklist, err error) {
	if r == nil || err != nil || w.snap.Failed() {
		return
	}
	r.before = nil
	r.snap, r.docs, r.views, r.builders = w.snap, w.docs, w.views, w.builders
	r.raws, r.read, r.suspected = w.raws, w.read, w.suspected
	r.docs.Retain(w.snap, r.trees)
	for _, b := range r.builders {
		b.Settle()
	}
	r.from.last = r
}

// trees are those of what was built and finished.
func (r *recalled) trees(yield func(*packed.Tree) bool) {
	for key, result := range r.results {
		for _, objects := range [][]*kustomize.Object{key.build.Objects, result.Objects} {
			for _, o := range objects {
				if !yield(o.Tree) {
					return
				}
			}
		}
	}
}

// past is what the census before left, which is only read.
func (r *recalled) past() *recalled {
	if r == nil || r.before == nil {
		return &nothing
	}
	return r.before
}

var nothing recalled

// reader is nil where there is none to go on with.
func (r *recalled) reader() *document.Reader { return r.past().docs }

// snapshot is nil where nothing is remembered.
func (r *recalled) snapshot() *snapshot.Snapshot { return r.past().snap }

// builder is a Builder of a view, which remembers where a Memory does and takes over
// from the one of before whose view is most alike.
func (r *recalled) builder(view *controller.View, docs *document.Reader, options kustomize.Options) *kustomize.Builder {
	options.Remember = r != nil
	var best *kustomize.Builder
	likeness := -1
	past := r.past()
	for _, key := range slices.Sorted(maps.Keys(past.builders)) {
		if n := alike(past.views[key].Snapshot, view.Snapshot); n > likeness {
			best, likeness = past.builders[key], n
		}
	}
	if best == nil {
		return kustomize.NewBuilderWith(view.Snapshot, docs, options)
	}
	return best.Over(view.Snapshot, options.Working)
}

// alike compares a sample of the entries of two snapshots. A Builder may take over from
// any other; it takes most from the one that is most alike.
func alike(a, b *snapshot.Snapshot) (same int) {
	const sample = 64
	entries := a.Entries()
	for i := range sample {
		if len(entries) == 0 {
			break
		}
		e := entries[i*len(entries)/sample]
		if other, ok := b.Lookup(e.Path); ok && other == e {
			same++
		}
	}
	return same
}

// result is what a controller makes of a build, made once.
func (r *recalled) result(k *kustomize.Build, inputs string, finish func() *controller.Result) *controller.Result {
	if r == nil {
		return finish()
	}
	key := finished{k, inputs}
	out := r.past().results[key]
	if out == nil {
		out = finish()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[key] = out
	return out
}

func (r *recalled) raw(d *document.Document) *kustomize.Object { return r.past().raws[d] }

func (r *recalled) declared(o *kustomize.Object) (controller.Declared, bool) {
	d, ok := r.past().read[o]
	return d, ok
}

func (r *recalled) suspects(res *controller.Result) ([]*kustomize.Object, bool) {
	out, ok := r.past().suspected[res]
	return out, ok
}

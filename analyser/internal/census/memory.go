package census

import (
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Memory is what a census leaves for the next one of the same repository, so that a
// neighbouring commit costs what differs: files that were parsed, what was built from
// files that are the same, and what the objects of those builds mean. It changes no
// result. The zero value remembers nothing yet. It serves one census at a time.
type Memory struct {
	last *recalled
}

// recalled is what one census has of the one before it, and leaves to the next. All
// methods of a nil recalled do nothing.
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
	r.docs.Retain(w.snap)
	for _, b := range r.builders {
		b.Settle()
	}
	r.from.last = r
}

func (r *recalled) reader() *document.Reader {
	if r == nil || r.before == nil {
		return nil
	}
	return r.before.docs
}

func (r *recalled) snapshot() *snapshot.Snapshot {
	if r == nil || r.before == nil {
		return nil
	}
	return r.before.snap
}

// builder is a Builder of a view that remembers; nil when there is nothing to take
// over from.
func (r *recalled) builder(view *controller.View, docs *document.Reader, options kustomize.Options) *kustomize.Builder {
	if r == nil {
		return kustomize.NewBuilderWith(view.Snapshot, docs, options)
	}
	options.Remember = true
	if r.before == nil {
		return kustomize.NewBuilderWith(view.Snapshot, docs, options)
	}
	best, likeness := "", 0
	for key, old := range r.before.views {
		if r.before.builders[key] == nil {
			continue
		}
		if n := alike(old.Snapshot, view.Snapshot); best == "" || n > likeness || n == likeness && key < best {
			best, likeness = key, n
		}
	}
	if best == "" {
		return kustomize.NewBuilderWith(view.Snapshot, docs, options)
	}
	return r.before.builders[best].Over(view.Snapshot, options.Working)
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
	var out *controller.Result
	if r.before != nil {
		out = r.before.results[key]
	}
	if out == nil {
		out = finish()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[key] = out
	return out
}

func (r *recalled) raw(d *document.Document) *kustomize.Object {
	if r == nil || r.before == nil {
		return nil
	}
	return r.before.raws[d]
}

func (r *recalled) declared(o *kustomize.Object) (controller.Declared, bool) {
	if r == nil || r.before == nil {
		return controller.Declared{}, false
	}
	d, ok := r.before.read[o]
	return d, ok
}

func (r *recalled) suspects(res *controller.Result) ([]*kustomize.Object, bool) {
	if r == nil || r.before == nil {
		return nil, false
	}
	out, ok := r.before.suspected[res]
	return out, ok
}

package kustomize

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/resource"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Builder builds targets of one view and shares the layers between them. It is
// safe for concurrent use.
type Builder struct {
	*shared
	view view
}

// shared is what all builds of a Builder share.
type shared struct {
	docs    *document.Reader
	options Options

	mu     sync.Mutex
	kfiles map[kfileKey]*kfile
	// verdicts say of files whether kustomize rejects them.
	verdicts map[fileKey]*Failure
	layers   layerCache
	readsOf  map[readsKey]*reads
	builds   sync.Map // of built by Target.key
	before   *before  // nil without a Builder of another snapshot to take from
}

// Options change how a Builder works, never what it builds, unless a limit is
// reached.
type Options struct {
	// MaxDepth is how deep layers nest: 100, when it is not positive.
	MaxDepth int
	// MaxObjects are the objects that a build handles, counted once for each layer
	// that they pass through, the layers counted as well: 100,000, when it is not
	// positive.
	MaxObjects int
	// Trace records the History of every object. It costs several times the
	// time and memory of a build.
	Trace bool
	// Unshared builds every layer and target anew, however often it is used: it
	// shows that sharing changes nothing.
	Unshared bool
	// NoShortcuts leaves every merge and every reference to kustomize, and makes an
	// engine substitute every object by way of its text.
	NoShortcuts bool
	// Remember notes what everything was built from, so that a Builder of another
	// snapshot can take what is the same there, see Builder.Over.
	Remember bool
	// Working is called again and again while a build runs, from any goroutine; it may
	// be nil.
	Working func()
}

// NewBuilder returns a builder over a view. Documents are read through docs,
// which several builders may share.
func NewBuilder(snap *snapshot.Snapshot, docs *document.Reader) *Builder {
	return NewBuilderWith(snap, docs, Options{})
}

// NewBuilderWith is NewBuilder with options.
func NewBuilderWith(snap *snapshot.Snapshot, docs *document.Reader, options Options) *Builder {
	if options.MaxDepth <= 0 {
		options.MaxDepth = 100
	}
	if options.MaxObjects <= 0 {
		options.MaxObjects = 100_000
	}
	if options.Working == nil {
		options.Working = func() {}
	}
	return &Builder{view: view{files: snap}, shared: &shared{
		docs: docs, options: options,
		kfiles:   map[kfileKey]*kfile{},
		verdicts: map[fileKey]*Failure{},
		layers:   layerCache{limit: maxLayerEntries},
		readsOf:  map[readsKey]*reads{},
	}}
}

// Options are those that the builder was made with.
func (b *Builder) Options() Options { return b.options }

func (b *Builder) cachedLayer(key layerKey) *layer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.options.Unshared {
		return nil
	}
	l := b.layers.get(key)
	if l == nil {
		if l = b.before.layer(key); l != nil {
			b.layers.put(key, l)
		}
	}
	return l
}

func (b *Builder) cacheLayer(key layerKey, l *layer) *layer {
	if b.options.Unshared {
		return l
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.layers.get(key); other != nil {
		return other
	}
	b.layers.put(key, l)
	return l
}

// build builds a target.
func (b *Builder) build(t Target) *Build {
	out := &Build{}
	if !b.view.IsDir(t.Dir) {
		out.Failure = fail(codeNotFound, 0, "there is no directory "+shown(t.Dir)+" in the source")
		return out
	}
	top := b.topFile(t)
	ownSchema := b.collect(out, top, t.Flux)
	out.External = mergeExternal(out.External, nil)
	if top.failure != nil {
		out.Generated = nil // the generator wrote nothing
		out.fail(top.failure)
		return out
	}
	r := &run{b: b, overlay: t.Flux, isolated: ownSchema, budget: b.options.MaxObjects}
	if ownSchema {
		withOwnSchema(t.Flux != nil, func() { r.top(out, top) })
	} else {
		withSchema(func() { r.top(out, top) })
	}
	return out
}

// topFile is the kustomization file that the build starts from.
func (b *Builder) topFile(t Target) *kfile {
	if t.Flux != nil {
		f := b.fluxKfile(t.Dir, t.Flux)
		if b.options.Trace {
			f.placeOverlay(t.Flux, lookup(t.Declared.Node(), "spec"))
		}
		return f
	}
	return b.kfile(t.Dir)
}

// fail records a failure; one of our own limits says nothing about the real
// tool.
func (o *Build) fail(f *Failure) {
	o.Objects = nil
	if f.Code == codeLimit || f.Code == codeRemoteInput {
		o.Unresolved, o.Failure = f, nil
		return
	}
	o.Failure = f
}

// top runs the build. kustomize's filters panic on some malformed objects, and
// Flux turns that into a failed build: so does this.
func (r *run) top(out *Build, f *kfile) {
	t := r.newTarget(f, nil, nil, f.k.BuildMetadata)
	acc := r.newAccumulation()
	defer func() { out.conceal(acc.list, t.secrets) }()
	defer func() {
		if v := recover(); v != nil {
			if failure, ok := v.(*Failure); ok {
				out.fail(failure)
				return
			}
			out.fail(fail(codeUnsupported, f.base, "kustomize panics on an object or a patch of this build"))
		}
	}()
	if len(t.metadata) > 0 {
		t.origin = &resource.Origin{}
		r.metadataAt = f.setBy("buildMetadata", f.field("buildMetadata"))
	}
	if failure := r.setSchema(f, true); failure != nil {
		out.fail(failure)
		return
	}
	built, err := t.accumulate(acc)
	out.External = mergeExternal(out.External, t.outside.external)
	if err != nil {
		out.fail(wrap(err, codeUnsupported, f.base, "kustomize cannot build this layer"))
		return
	}
	acc = built
	objects, err := t.finish(acc)
	if err != nil {
		out.fail(wrap(err, codeUnsupported, f.base, "kustomize cannot finish the build"))
		return
	}
	out.Objects, out.Unresolved = objects, t.outside.unresolved
	if i := slices.IndexFunc(objects, func(o *Object) bool { return o.Unwritable != nil }); i >= 0 {
		out.fail(objects[i].Unwritable)
		out.Unwritten = objects
	}
}

// mergeExternal returns all external inputs, each once, sorted.
func mergeExternal(lists ...[]External) []External {
	var out []External
	seen := map[External]bool{}
	for _, e := range slices.Concat(lists...) {
		if key := (External{Kind: e.Kind, URL: e.URL}); !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b External) int {
		return cmp.Or(strings.Compare(a.URL, b.URL), strings.Compare(a.Kind, b.Kind))
	})
	return out
}

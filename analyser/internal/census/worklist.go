package census

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

// worklist follows Syncs from the roots: what a Sync builds holds further
// Syncs, sources, and the ConfigMaps that other Syncs substitute from.
//
// It runs in rounds. A round may only rely on the facts of the round before
// it, and the worklist is done when a round learns nothing new. Builds are
// memoised, so that a round costs little more than the walk.
type worklist struct {
	ctx       context.Context
	req       *Request
	snap      *snapshot.Snapshot
	docs      *document.Reader
	memory    *recalled
	positions *position.Set
	engines   []controller.Engine

	roots []*root
	// spokeRoots are Syncs that another cluster put where Flux runs.
	spokeRoots []placement.Root
	rooted     map[cluster.Name]bool
	merges     []merge
	// registry is that of the round, named that of the next one.
	registry, named *cluster.Registry
	views           map[string]*controller.View
	sources         *source.Views
	// home is memoised for a round.
	home []source.Home
	raws map[*document.Document]*kustomize.Object
	// landed are the documents of objects that some Sync applies.
	landed map[position.Pos]bool
	// missingDeps are references in dependsOn to what is not there; whole
	// remembers of which clusters everything is known.
	missingDeps []finding.MissingDependency
	whole       map[cluster.Name]bool
	// unreadable are the files whose content could not be had.
	unreadable map[string]error
	// secrets are the documents about Secrets, in the order of the files.
	secrets  []finding.WrittenSecret
	builders map[string]*kustomize.Builder
	// memo has what was built, used what this round asked for.
	memo, used map[string]*controller.Result
	read       map[*kustomize.Object]controller.Declared
	suspected  map[*controller.Result][]*kustomize.Object
	notes      map[string]bool
	progress   func(phase string, done, total int64, unit string)
	// telling guards progress while several builds tell of it.
	telling sync.Mutex
	decided int

	// Of the current round.
	prev, next *facts
	applied    []*placement.Applied
	visited    map[visit]bool
	queue      []*placement.Applied
	seen       map[sourceOf]seen
}

type visit struct {
	cluster cluster.Name
	key     object.Key
	object  *kustomize.Object
}

// root is a root with the Sync that it starts from.
type root struct {
	placement.Root
	sync *controller.Sync
	// object declares the Sync, nil for declared roots.
	object *kustomize.Object
	// source is what the declaration says about its source (FluxInstance).
	source *controller.Source
	// sub is the directory of the repository that is the root of the source's
	// artifact.
	sub string
}

// merge says that the bootstrap of a root lands on a spoke.
type merge struct{ spoke, root cluster.Name }

const (
	maxRounds    = 16
	defaultDepth = 64
	defaultSyncs = 200_000
)

// run follows the roots until a round learns nothing new.
func (w *worklist) run() error {
	w.prev, w.named = newFacts(), &cluster.Registry{Mappings: w.req.Spokes}
	for n := 1; ; n++ {
		w.round()
		if err := w.ctx.Err(); err != nil {
			return err
		}
		w.trim()
		same := w.next.equal(w.prev) && n > 1
		merged := w.mergeRoots()
		var renamed bool
		w.named, renamed = w.registry.Next()
		w.prev, w.seen = w.next, map[sourceOf]seen{}
		if same && !merged && !renamed {
			break
		}
		if n == maxRounds {
			w.note("What the Kustomizations declare about each other did not settle after %d rounds; the last round is reported.", maxRounds)
			break
		}
	}
	w.letGo()
	w.dependencies()
	w.settle()
	return nil
}

func (w *worklist) round() {
	w.next, w.applied, w.visited, w.home, w.seen = newFacts(), nil, map[visit]bool{}, nil, map[sourceOf]seen{}
	w.registry = w.named
	for _, m := range w.merges {
		w.registry.Merge(m.spoke, m.root)
	}
	for _, r := range w.roots {
		a := &placement.Applied{Cluster: r.Cluster, Target: r.Cluster, Sync: r.sync, Object: r.object, Root: &r.Root}
		// The cluster has the root's Sync as its own build renders it, patches
		// included; the declaration only bootstraps it.
		if cf := w.prev.clusters[r.Cluster]; cf != nil {
			if o := cf.syncs[r.sync.Object.Key()]; o != nil {
				for _, s := range w.declared(o).Syncs {
					if s.Object.Key() == r.sync.Object.Key() {
						a.Sync, a.Object = &s, o
						w.artifactRoot(r, &s)
					}
				}
			}
		}
		w.enqueue(a)
	}
	for i, built := 0, 0; i < len(w.queue) && w.ctx.Err() == nil; i++ {
		if i == built {
			w.wave(i)
			built = len(w.queue)
		}
		w.evaluate(w.queue[i])
		w.progress("building", int64(i+1), int64(len(w.queue)), "kustomizations")
	}
	w.queue = nil
}

// artifactRoot finds where in the repository a root's artifact starts: when the
// root was declared as repos/fleet/clusters/a and its own Sync has the path
// ./clusters/a, the source delivers repos/fleet alone.
func (w *worklist) artifactRoot(r *root, s *controller.Sync) {
	dir := w.engine(s.Engine).Directory(s.Path)
	if sub, ok := strings.CutSuffix(r.Path, "/"+dir); ok && dir != "" && r.sub == "" && dir != r.Path {
		r.sub = sub
		w.home, w.seen = nil, map[sourceOf]seen{}
		w.note("The root of %s is declared as %s and its Kustomization has the path %s: its source is taken to deliver %s.", r.Cluster, r.Path, s.Path, sub)
	}
}

// enqueue adds a Sync unless the same definition on the same cluster is there
// already.
func (w *worklist) enqueue(a *placement.Applied) {
	v := visit{a.Cluster, a.Sync.Object.Key(), a.Object}
	if w.visited[v] {
		return
	}
	limit := cmp.Or(w.req.Limits.Syncs, defaultSyncs)
	if len(w.queue) >= limit {
		w.note("More than %d Kustomizations: the rest was not followed.", limit)
		return
	}
	w.visited[v] = true
	// A root's own Sync, rendered by the root again, is the root.
	for _, other := range w.queue {
		if other.Root != nil && other.Cluster == a.Cluster && other.Sync.Object.Key() == a.Sync.Object.Key() {
			return
		}
		if other.Root == nil {
			break // roots come first
		}
	}
	w.queue = append(w.queue, a)
}

func depth(a *placement.Applied) int {
	n := 0
	for ; a.Parent != nil; a = a.Parent {
		n++
	}
	return n
}

func (w *worklist) engine(name string) controller.Engine {
	for _, e := range w.engines {
		if e.Name == name {
			return e
		}
	}
	panic("a Sync of an engine that is not in the list: " + name)
}

func (w *worklist) note(format string, args ...any) {
	w.notes[fmt.Sprintf(format, args...)] = true
}

// settle puts the Syncs in order and keeps one of those that are one object
// with one outcome. A Sync that another cluster put where Flux runs is a root
// there.
func (w *worklist) settle() {
	for _, a := range w.applied {
		if a.Root == nil && a.Parent != nil && a.Parent.Cluster != a.Cluster && a.Blocked == nil && a.HasDirectory {
			a.Root = &placement.Root{
				Cluster: a.Cluster, Path: a.Directory, Namespace: a.Sync.Object.Namespace, Name: a.Sync.Object.Name,
				DeclaredBy: "spoke", Declared: a.Sync.Pos,
			}
			w.spokeRoots = append(w.spokeRoots, *a.Root)
		}
	}
	type same struct {
		cluster, target cluster.Name
		key             object.Key
		result          *controller.Result
	}
	seen := map[same]*placement.Applied{}
	w.applied = slices.DeleteFunc(w.applied, func(a *placement.Applied) bool {
		s := same{a.Cluster, a.Target, a.Sync.Object.Key(), a.Result}
		if first, ok := seen[s]; ok && (first.Blocked == nil || a.Blocked != nil) {
			return true
		}
		seen[s] = a
		return false
	})
	slices.SortStableFunc(w.applied, func(a, b *placement.Applied) int {
		return cmp.Or(strings.Compare(string(a.Cluster), string(b.Cluster)), a.Sync.Object.Compare(b.Sync.Object))
	})
}

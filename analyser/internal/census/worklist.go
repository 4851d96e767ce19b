package census

import (
	"cmp"
	"context"
	"fmt"
	"path"
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
	secrets   []finding.WrittenSecret
	builders  map[string]*kustomize.Builder
	memo      map[string]*controller.Result
	read      map[*kustomize.Object]controller.Declared
	suspected map[*controller.Result][]*kustomize.Object
	notes     map[string]bool
	progress  func(phase string, done, total int64, unit string)
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

// evaluate decides what becomes of one Sync and queues what it applies.
func (w *worklist) evaluate(a *placement.Applied) {
	w.applied = append(w.applied, a)
	a.Target = a.Cluster
	if ref := a.Sync.KubeConfig; ref != nil {
		a.Target = w.spoke(a.Cluster, *ref)
	}
	if a.Parent != nil && a.Blocked == nil {
		a.Blocked = a.Parent.Blocked
	}
	a.Path = w.engine(a.Sync.Engine).Directory(a.Sync.Path)
	w.decide(a)
	switch usable := a.State == placement.Resolved || a.State == placement.Suspended; {
	case a.Blocked == nil && !usable:
		a.Blocked = &a.Outcome
	case a.Blocked != nil && usable:
		a.Outcome = placement.Outcome{
			State: placement.StateUnresolved, Reason: "parent_" + a.Blocked.Reason,
			Detail: "the object comes from " + a.Parent.Controller() + ": " + a.Blocked.Detail, Pos: a.Sync.Pos,
		}
	}
	if a.Result == nil {
		return
	}
	if a.Result.Failure != nil {
		a.Objects = w.asWritten(a)
	} else {
		a.Objects = a.Result.Objects
		a.Emptied = w.emptied(a)
	}
	if a.Blocked == &a.Outcome && a.HasDirectory {
		a.Below = w.below(a)
	}
	w.absorb(a)
}

// decide sets the outcome of a Sync and builds it where there is something to
// build.
func (w *worklist) decide(a *placement.Applied) {
	a.Outcome = placement.Outcome{State: placement.Resolved}
	if limit := cmp.Or(w.req.Limits.Depth, defaultDepth); depth(a) >= limit {
		a.Outcome = placement.Outcome{
			State: placement.StateUnresolved, Reason: "too_deep",
			Detail: fmt.Sprintf("Kustomizations that apply Kustomizations nest deeper than %d", limit), Pos: a.Sync.Pos,
		}
		return
	}
	if p := a.Sync.Problem; p != nil {
		a.Outcome = placement.Outcome{State: placement.StateUnresolved, Reason: p.Code, Detail: p.Message, Pos: p.Pos}
	}
	if detail, denied := w.denied(a.Cluster, "kustomize-controller", a.Sync.Object.Namespace, a.Sync.Source); denied && a.State == placement.Resolved {
		a.Outcome = placement.Outcome{State: placement.Failed, Reason: "access_denied", Detail: detail, Pos: a.Sync.Pos}
	}
	if ref := a.Sync.KubeConfig; ref != nil && a.State == placement.Resolved {
		if ok, _, known := w.kubeConfigKey(a.Cluster, *ref); known && !ok {
			a.Outcome = noKey(*ref)
		}
	}
	view, out := w.view(a.Cluster, a.Sync.Source, 0)
	if out.State != placement.Resolved {
		if a.State == placement.Resolved {
			a.Outcome = out
		}
		if view == nil {
			return
		}
	}
	engine, dir := w.engine(a.Sync.Engine), a.Path
	a.ViewKey = view.Key
	if a.Sync.Problem != nil && variable.MatchString(a.Sync.Path) {
		w.somewhere(a, view)
		return
	}
	if p := source.Unknown(view, dir); p != nil {
		if a.State == placement.Resolved {
			a.Outcome = unknownPart(p)
		}
		return
	}
	if !view.IsDir(dir) {
		w.missing(a, view, dir, out)
		return
	}
	a.Directory, a.HasDirectory = w.origin(view, dir)
	if a.Sync.Suspend && a.State == placement.Resolved {
		a.Outcome = placement.Outcome{
			State: placement.Suspended, Reason: "suspended", Pos: a.Sync.Pos,
			Detail: "spec.suspend is true: the cluster keeps what was applied last",
		}
	}
	a.Result = w.build(a, view, engine)
	if a.State != placement.Resolved && a.State != placement.Suspended {
		return
	}
	if a.Result.Failure == nil {
		w.apply(a)
	}
	unknown := source.UnknownBelow(view, dir)
	if a.Result.Failure != nil && len(view.Unknown) > 0 {
		unknown = view.Unknown[0].Problem
	}
	switch b := a.Result; {
	case unknown != nil && (b.Failure != nil || len(b.Generated) > 0):
		a.Outcome = unknownPart(unknown)
	case len(a.Rejected) > 0:
	case b.Failure != nil:
		a.Outcome = placement.Outcome{State: placement.Failed, Reason: "build_failed", Detail: b.Failure.Message, Pos: b.Failure.Pos}
	case b.Unresolved != nil && len(b.Objects) == 0:
		// Nothing of the build is known: that is not a build of nothing.
		a.Outcome = placement.Outcome{State: placement.StateUnresolved, Reason: b.Unresolved.Code, Detail: b.Unresolved.Message, Pos: b.Unresolved.Pos}
	case a.Root == nil && a.Parent != nil && a.Parent.Target == a.Cluster && a.Cluster != a.Parent.Cluster && !w.runs(a.Cluster, "kustomize-controller", w.prev):
		a.Outcome = placement.Outcome{
			State: placement.SpokeApplied, Reason: "controller_unknown", Pos: a.Sync.Pos,
			Detail: "the object is applied to " + string(a.Cluster) + ", where nothing shows that kustomize-controller runs",
		}
	}
	if b := a.Result; a.State == placement.Resolved && b.Failure == nil && b.Unresolved != nil {
		// What is listed is the best that is known.
		a.Reason, a.Detail, a.Pos = b.Unresolved.Code, partly+b.Unresolved.Message, b.Unresolved.Pos
	}
}

// partly begins the detail of a resolved Sync, and of its placements, when something
// about its objects cannot be told.
const partly = "unresolved in part: "

// noKey says that a kubeconfig Secret has none of the keys that are read.
func noKey(ref controller.KubeConfigRef) placement.Outcome {
	key := ref.Key
	if key == "" {
		key = "value or value.yaml"
	}
	return placement.Outcome{
		State: placement.Failed, Reason: "kubeconfig_key_missing", Pos: ref.Pos,
		Detail: "Secret " + ref.Namespace + "/" + ref.Name + " has no key " + key,
	}
}

func (w *worklist) missing(a *placement.Applied, view *controller.View, dir string, out placement.Outcome) {
	if out.State != placement.Resolved {
		return // the ref that is read may have the path
	}
	detail := "there is no directory " + quote(dir) + " in the artifact of " + a.Sync.Source.String()
	switch e, ok := view.Lookup(dir); {
	case ok && e.IsFile():
		detail = quote(dir) + " is a file, not a directory"
	case w.snap.IsDir(dir) || hasEntry(w.snap, dir):
		detail += ", though the repository has something there: " + whyLeftOut(view, dir)
	}
	a.Outcome = placement.Outcome{State: placement.PathMissing, Reason: "path_missing", Detail: detail, Pos: cmp.Or(a.Sync.PathPos, a.Sync.Pos)}
}

func hasEntry(s *snapshot.Snapshot, p string) bool { _, ok := s.Lookup(p); return ok }

// origin is the directory of the repository that a directory of a view is
// made of, when its files agree about one and nothing of that is elsewhere in
// the view.
func (w *worklist) origin(view *controller.View, dir string) (string, bool) {
	var found string
	for i, e := range view.Below(dir) {
		below := strings.TrimPrefix(e.Path[len(dir):], "/")
		o, ok := strings.CutSuffix(e.Origin, below)
		o = strings.TrimSuffix(o, "/")
		if !ok || i > 0 && o != found {
			return "", false
		}
		found = o
		if i == 64 {
			break
		}
	}
	if found == dir {
		return found, true
	}
	for _, e := range w.snap.Below(found) {
		in, ok := view.Lookup(joined(dir, strings.TrimPrefix(strings.TrimPrefix(e.Path, found), "/")))
		if _, excluded := view.Excluded[e.Path]; !excluded && (!ok || in.Origin != e.Path) {
			return "", false
		}
	}
	return found, true
}

// inputs is what the build of a Sync depends on beside the artifact.
func (w *worklist) inputs(a *placement.Applied) (s *controller.Sync, vars map[string]string, complete, strict bool) {
	vars, complete = w.variables(a)
	s = a.Sync
	if hidden := w.secretVariables(a); len(hidden) > 0 {
		c := *s
		c.Variables.Hidden = hidden
		s = &c
	}
	if w.noRemoteBases(a.Cluster) {
		c := *s
		c.Overlay.NoRemoteBases = true
		s = &c
	}
	return s, vars, complete, w.strict(a.Cluster)
}

// patches writes out what Overlay holds by pointer.
func patches(s *controller.Sync) string {
	var b strings.Builder
	for _, p := range s.Overlay.Patches {
		fmt.Fprintf(&b, "%d %+v\x00", p.Pos, p.Target)
	}
	return b.String()
}

func sorted(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// asWritten are the documents that a failed build would have read, as they are
// written: what they declare may exist from an earlier revision, so it is
// followed, but everything that comes of it is blocked.
func (w *worklist) asWritten(a *placement.Applied) []*kustomize.Object {
	var out []*kustomize.Object
	for _, u := range a.Result.Uses {
		if u.Role != kustomize.RoleObject {
			continue
		}
		e, ok := w.snap.Lookup(u.Path)
		if !ok || !e.IsFile() {
			continue
		}
		f, err := w.docs.Read(w.snap, e)
		if err != nil {
			continue
		}
		for _, d := range f.Documents {
			if d.Ref.Kind != "" && d.Ref.Name != "" {
				out = append(out, w.raw(d))
			}
		}
	}
	return out
}

// below are the manifests below the path of a blocked Sync that its build does
// not name.
func (w *worklist) below(a *placement.Applied) []kustomize.Use {
	named := map[string]bool{}
	for _, u := range a.Result.Uses {
		named[u.Path] = true
	}
	var out []kustomize.Use
	for _, e := range w.snap.Below(a.Directory) {
		if !e.IsFile() || !isManifest(e.Path) || named[e.Path] {
			continue
		}
		out = append(out, kustomize.Use{Path: e.Path, Role: w.ownRole(e)})
	}
	return out
}

// ownRole is the role of a manifest by its content alone.
func (w *worklist) ownRole(e snapshot.Entry) kustomize.Role {
	if kustomize.IsKustomizationFile(path.Base(e.Path)) {
		return kustomize.RoleKustomization
	}
	if f := w.file(e); f != nil && len(objects(f)) > 0 {
		return kustomize.RoleObject
	}
	return kustomize.RoleOther
}

// emptied are the files that hold objects none of which is in the build.
func (w *worklist) emptied(a *placement.Applied) map[string]bool {
	left := map[string]bool{}
	for _, o := range a.Result.Objects {
		left[w.positions.Position(o.Origin).Path] = true
	}
	out := map[string]bool{}
	for _, u := range a.Result.Uses {
		if u.Role != kustomize.RoleObject || left[u.Path] {
			continue
		}
		if e, ok := w.snap.Lookup(u.Path); ok && e.IsFile() {
			if f := w.file(e); f != nil && len(objects(f)) > 0 {
				out[u.Path] = true
			}
		}
	}
	return out
}

// objects are the resources of a file that are Kubernetes objects.
func objects(f *document.File) []document.Resource {
	var out []document.Resource
	for _, r := range f.Resources() {
		if r.Ref.Kind != "" && r.Ref.Name != "" && r.Ref.Version != "" && r.Ref.Group != "kustomize.config.k8s.io" {
			out = append(out, r)
		}
	}
	return out
}

// absorb records what the objects of a Sync mean to others and queues further
// Syncs.
func (w *worklist) absorb(a *placement.Applied) {
	objects := a.Objects
	for i := 0; i < len(objects); i++ {
		o := objects[i]
		if k := o.Ref.Key(); k.Group == fluxKustomizeGroup || k.Group == fluxHelmGroup {
			w.next.on(a.Target).named[k] = true
		}
		if a.Blocked == nil || a.State == placement.External || a.Blocked == &a.Outcome && a.Arrived[o] {
			w.next.on(a.Target).record(o)
		}
		d := w.declared(o)
		for _, made := range d.Objects {
			if a.Makers == nil {
				a.Makers = map[*kustomize.Object]object.Key{}
			}
			a.Makers[made] = o.Ref.Key()
		}
		objects = append(objects[:len(objects):len(objects)], d.Objects...)
		w.recordSources(a, o, d)
		for _, s := range d.Syncs {
			w.child(a, o, &s)
		}
		for _, r := range d.Roots {
			w.recordSources(a, o, controller.Declared{Sources: []controller.Source{r.Source}})
			w.child(a, o, &r.Sync)
		}
		for _, r := range d.Releases {
			a.Releases = append(a.Releases, w.release(a, o, &r))
		}
		switch p := d.Problem; {
		case p == nil || a.Blocked != nil:
		case p.Code == "template_failed":
			w.note("%s %s/%s fails, and nothing is made of it: %s", o.Ref.Kind, o.Ref.Namespace, o.Ref.Name, p.Message)
		default:
			w.note("%s %s/%s declares more than can be told: %s", o.Ref.Kind, o.Ref.Namespace, o.Ref.Name, p.Message)
		}
	}
	a.Objects = objects
}

func (w *worklist) child(a *placement.Applied, o *kustomize.Object, s *controller.Sync) {
	cf := w.next.on(a.Target)
	if _, ok := cf.syncs[s.Object.Key()]; !ok && a.Blocked == nil {
		cf.syncs[s.Object.Key()] = o
	}
	w.enqueue(&placement.Applied{Cluster: a.Target, Sync: s, Object: o, Parent: a})
}

func (w *worklist) recordSources(a *placement.Applied, o *kustomize.Object, d controller.Declared) {
	cf := w.next.on(a.Target)
	add := func(ref controller.SourceRef, ds declaredSource) {
		if old, ok := cf.sources[ref]; !ok || old.by != nil && ds.by == nil {
			cf.sources[ref] = ds
		}
	}
	var by *blockedFact
	if a.Blocked != nil {
		by = &blockedFact{a.Blocked.Reason}
	}
	for _, s := range d.Sources {
		ref := controller.SourceRef{Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name}
		add(ref, declaredSource{object: o, source: &s, by: by})
		if s.Generator != nil {
			for _, art := range s.Generator.Artifacts {
				ref := controller.SourceRef{Kind: "ExternalArtifact", Namespace: cmp.Or(art.Namespace, s.Object.Namespace), Name: art.Name}
				add(ref, declaredSource{object: o, source: &s, artifact: &art, by: by})
			}
		}
	}
}

// declared is what an object declares, read once.
func (w *worklist) declared(o *kustomize.Object) controller.Declared {
	if d, ok := w.read[o]; ok {
		return d
	}
	var d controller.Declared
	for _, e := range w.engines {
		if e.Handles(o.Ref.GroupKind()) {
			d = e.Read(o)
			break
		}
	}
	w.read[o] = d
	return d
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

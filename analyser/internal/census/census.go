package census

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/coverage"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/ownership"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

// Take takes the census of a snapshot. The only errors are a request that
// contradicts the snapshot (RootNotFoundError) and a context that ends;
// everything else that is wrong is part of the result.
//
// The result depends on the content of the snapshot and the request alone, not
// on the order in which anything was read.
func Take(ctx context.Context, snap *snapshot.Snapshot, req Request) (*Census, error) {
	w := newWorklist(ctx, snap, &req)
	c, err := w.take()
	w.memory.keep(w, err)
	return c, err
}

func (w *worklist) take() (*Census, error) {
	packs, err := coverage.DefaultPacks()
	if err != nil {
		return nil, err
	}
	if err := w.discover(); err != nil {
		return nil, err
	}
	if err := w.run(); err != nil {
		return nil, err
	}
	// Each of the steps takes long in a large fleet, and who waits wants to know
	// that it goes on.
	const steps = 5
	step := func(n int64) { w.progress("placing", n, steps, "steps") }
	step(0)
	c := &Census{Positions: w.positions, Applied: w.applied, FilesInCommit: len(w.snap.Entries()), Views: w.views}
	reached := placement.Compute(w.applied, w.positions)
	step(1)
	c.Objects = placement.Objects(w.applied)
	c.Ownership = w.owners(c.Objects)
	w.landed = map[position.Pos]bool{}
	for _, o := range c.Objects {
		w.landed[o.Object.Origin] = true
	}
	step(2)
	considered, unparsed := w.considered(reached)
	c.BytesRead = w.bytes(considered)
	rows := coverage.RowRoots(w.applied)
	c.Files = coverage.Files(considered, reached, rows, packs)
	c.Placements = placement.WithUncovered(reached, uncovered(c.Files))
	c.Rows = coverage.Rows(c.Files, rows, packs)
	c.Packs = coverage.CountPacks(c.Files, packs)
	c.NotConsidered = w.notConsidered(considered)
	step(3)
	c.Findings, c.Rules = finding.Run(&finding.Model{
		Positions: w.positions, Applied: w.applied, Objects: c.Objects, Files: c.Files, Unparsed: unparsed, Secrets: w.secrets,
		Working: func() { step(3) },
		Runs:    func(on cluster.Name, name string) bool { return w.runs(on, name, w.prev) },
		Strict: func(on cluster.Name) (bool, bool) {
			_, gates, known := w.kustomizeController(on)
			_, gated := gates[strictGate]
			return w.strict(on), known || gated
		},
		Scope: w.scope, MissingDependencies: w.missingDeps, Dangling: w.dangling(),
		Undecided: func(a *placement.Applied) []string {
			var out []string
			for _, v := range w.missingVariables(a) {
				out = append(out, v.Kind+" "+v.Name)
			}
			return out
		},
		Ownership: c.Ownership, Observed: w.req.Observed,
	}, w.rules())
	step(4)
	for _, r := range c.Rules {
		for _, n := range r.Notes {
			w.note("%s", n)
		}
	}
	c.OriginURL = w.originURL()
	c.Clusters = w.clusters(c.Ownership)
	for _, r := range w.roots {
		c.Roots = append(c.Roots, r.Root)
	}
	c.Roots = append(c.Roots, w.spokeRoots...)
	slices.SortFunc(c.Roots, func(a, b placement.Root) int {
		return cmp.Or(strings.Compare(string(a.Cluster), string(b.Cluster)), strings.Compare(a.Path, b.Path),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	w.summarise()
	if len(w.roots) == 0 {
		c.Proposals = w.propose()
	}
	c.Notes = slices.Sorted(maps.Keys(w.notes))
	return c, w.ctx.Err()
}

func newWorklist(ctx context.Context, snap *snapshot.Snapshot, req *Request) *worklist {
	memory := req.Memory.recall(req)
	docs := memory.reader()
	if docs == nil {
		docs = document.NewReader(&position.Set{}, req.Limits.Document)
	}
	w := &worklist{
		ctx: ctx, req: req, snap: snap, positions: docs.Positions(), engines: req.Engines,
		docs: docs, memory: memory,
		views:    map[string]*controller.View{},
		sources:  source.NewViews(snap),
		raws:     map[*document.Document]*kustomize.Object{},
		builders: map[string]*kustomize.Builder{}, memo: map[string]*controller.Result{}, used: map[string]*controller.Result{},
		read: map[*kustomize.Object]controller.Declared{}, notes: map[string]bool{},
		unreadable: map[string]error{}, whole: map[cluster.Name]bool{},
		suspected: map[*controller.Result][]*kustomize.Object{},
		progress:  func(string, int64, int64, string) {},
	}
	if req.NoShortcuts {
		w.docs.ByLibrary()
	}
	if req.Progress != nil {
		w.progress = func(phase string, done, total int64, unit string) {
			req.Progress(Progress{phase, done, total, unit})
		}
	}
	return w
}

// considered are the manifests of the commit, symbolic links that stand for some,
// and every other file that something reads, with what they hold.
func (w *worklist) considered(reached []*placement.Placement) ([]coverage.Considered, []finding.Unparsed) {
	roles := map[string]kustomize.Role{}
	for _, p := range reached {
		if _, ok := roles[p.Path]; !ok {
			roles[p.Path] = p.Role
		}
	}
	charts := map[string]bool{}
	for _, e := range w.snap.Entries() {
		if path.Base(e.Path) == "Chart.yaml" {
			charts[strings.TrimSuffix(path.Dir(e.Path), ".")] = true
		}
	}
	var out []coverage.Considered
	var unparsed []finding.Unparsed
	l := &links{w.snap, map[string]bool{}}
	for _, e := range w.snap.Entries() {
		_, read := roles[e.Path]
		if e.Mode == snapshot.Symlink {
			if c, ok := l.considered(e); ok {
				out = append(out, c)
			}
			continue
		}
		if !e.IsFile() || !isManifest(e.Path) && !read {
			continue
		}
		c := coverage.Considered{Path: e.Path, Role: kustomize.RoleOther}
		switch template := inTemplates(e.Path, charts); {
		case kustomize.IsKustomizationFile(path.Base(e.Path)):
			c.Role = kustomize.RoleKustomization
		case !isManifest(e.Path), template:
			// Generator inputs and Helm templates are no manifests.
		default:
			if bad := w.hold(&c, e); bad != nil {
				unparsed = append(unparsed, *bad)
			}
		}
		if !read {
			c.Excluded = w.excluded(e.Path)
		}
		out = append(out, c)
	}
	return out, unparsed
}

// bytes is the size of the considered files, each content once.
func (w *worklist) bytes(considered []coverage.Considered) int64 {
	var n int64
	counted := make(map[string]bool, len(considered))
	for _, c := range considered {
		e, _ := w.snap.Lookup(c.Path)
		if !e.IsFile() || counted[e.Blob] {
			continue
		}
		counted[e.Blob] = true
		if size, err := w.snap.Size(e, w.memory.snapshot()); err == nil {
			n += size
		}
	}
	return n
}

// inTemplates reports a file below the templates of a chart.
func inTemplates(p string, charts map[string]bool) bool {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if path.Base(d) == "templates" && charts[strings.TrimSuffix(path.Dir(d), ".")] {
			return true
		}
	}
	return false
}

// hold says what a manifest holds.
func (w *worklist) hold(c *coverage.Considered, e snapshot.Entry) *finding.Unparsed {
	f := w.file(e)
	if f == nil {
		err := w.unreadable[e.Path]
		c.Problem = err.Error()
		return &finding.Unparsed{At: position.Position{Path: e.Path}, Code: "unreadable", Message: err.Error()}
	}
	for _, r := range objects(f) {
		if finding.AboutSecret(r.Ref) {
			s := finding.WrittenSecret{At: r.Pos, Ref: r.Ref, Tree: packed.Of(r.Node, nil)}
			w.docs.Keep(s.Tree)
			if n := field(r.Document.Node(), "sops"); n != nil {
				s.SOPS = packed.Of(n, nil)
				w.docs.Keep(s.SOPS)
			}
			w.secrets = append(w.secrets, s)
		}
		c.Objects = append(c.Objects, coverage.Written{Kind: r.Ref.GroupKind(), Placed: w.landed[r.Pos]})
	}
	if len(c.Objects) > 0 {
		c.Role = kustomize.RoleObject
	}
	if f.Err == nil {
		return nil
	}
	c.Problem = f.Err.Message
	return &finding.Unparsed{At: w.positions.Position(f.Err.Pos), Code: f.Err.Code, Message: f.Err.Message}
}

// excluded is why a file is in none of the artifacts that Kustomizations read,
// when it would be in the repository's.
func (w *worklist) excluded(p string) string {
	if len(w.views) == 0 {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(w.views)) {
		if whyLeftOut(w.views[key], p) == "" {
			return ""
		}
	}
	return whyLeftOut(w.views[slices.Sorted(maps.Keys(w.views))[0]], p)
}

func uncovered(files []coverage.File) []placement.Placement {
	var out []placement.Placement
	for _, f := range files {
		if f.Analysis == coverage.Uncovered {
			out = append(out, placement.Placement{
				Path: f.Path, Role: f.Role,
				Outcome: placement.Outcome{State: placement.StateUnresolved, Reason: f.Reason, Detail: f.Detail},
			})
		}
	}
	return out
}

func (w *worklist) notConsidered(considered []coverage.Considered) map[string]int {
	in := make(map[string]bool, len(considered))
	for _, c := range considered {
		in[c.Path] = true
	}
	out := map[string]int{}
	for _, e := range w.snap.Entries() {
		if in[e.Path] {
			continue
		}
		switch e.Mode {
		case snapshot.Symlink:
			out["symbolic link"]++
		case snapshot.Submodule:
			out["submodule"]++
		default:
			out[cmp.Or(path.Ext(e.Path), "no extension")]++
		}
	}
	return out
}

// clusters are all clusters that the census met, sorted by name.
func (w *worklist) clusters(owners *ownership.Result) []Cluster {
	by := map[cluster.Name]*Cluster{}
	add := func(n cluster.Name) *Cluster {
		c := by[n]
		if c == nil {
			c = &Cluster{Name: n}
			by[n] = c
		}
		return c
	}
	for n := range w.rooted {
		add(n)
	}
	for _, a := range w.applied {
		add(a.Cluster)
		add(a.Target)
		for _, r := range a.Releases {
			add(r.Target)
		}
	}
	met := map[cluster.Name]bool{}
	for n := range by {
		met[n] = true
	}
	w.unmet(met)
	for _, n := range w.req.Observed.Names() {
		add(n)
	}
	for _, s := range w.registry.Spokes() {
		c := add(s.Name)
		ref := s.Ref.Kind + " " + s.Ref.Namespace + "/" + s.Ref.Name
		if s.Ref.Key != "" {
			ref += "#" + s.Ref.Key
		}
		if r := (Reference{s.Controller, ref}); !slices.Contains(c.References, r) {
			c.References = append(c.References, r)
		}
	}
	for _, c := range by {
		slices.SortFunc(c.References, func(a, b Reference) int {
			return cmp.Or(strings.Compare(string(a.Controller), string(b.Controller)), strings.Compare(a.KubeConfig, b.KubeConfig))
		})
		if len(c.References) > 0 {
			c.Controller, c.KubeConfig = c.References[0].Controller, c.References[0].KubeConfig
		}
	}
	var out []Cluster
	for _, n := range slices.Sorted(maps.Keys(by)) {
		c := by[n]
		names, evidence := w.knownControllers(n, w.prev)
		version, _, _ := w.kustomizeController(n)
		for i, name := range names {
			if name == "kustomize-controller" && version != "" {
				names[i] += " " + version
			}
		}
		c.Controllers, c.Evidence = names, evidence
		c.RunsFlux = w.runs(n, "kustomize-controller", w.prev)
		c.StrictSubstitution = w.strict(n)
		if c.Evidence == "" && w.rooted[n] {
			c.Evidence = "it reconciles itself from this repository"
		}
		w.tellLive(c, owners)
		out = append(out, *c)
	}
	return out
}

// summarise turns what was assumed or not known on the way into notes.
func (w *worklist) summarise() {
	w.unmatched()
	if len(w.roots) == 0 {
		w.note("No root was found: no Flux Kustomization lies below its own spec.path beside its source object (gotk-sync.yaml), and no FluxInstance has spec.sync. Declare one with --root CLUSTER=PATH or under roots in the configuration.")
	}
	missing := map[string]int{}
	for _, a := range w.applied {
		if a.Blocked != nil {
			continue
		}
		for _, v := range w.missingVariables(a) {
			missing[v.Kind+" "+a.Sync.Object.Namespace+"/"+v.Name+" on "+string(a.Cluster)]++
		}
	}
	for k, n := range missing {
		w.note("%s is not in this repository where %s read it for substitution: variables from it are unknown.", k, count(n, "Kustomization"))
	}
	remote := map[string]int{}
	for _, a := range w.applied {
		if a.Result != nil {
			for _, e := range a.Result.External {
				remote[e.Kind+" "+e.URL]++
			}
		}
	}
	for k, n := range remote {
		w.note("%s comes from outside this repository into %s: the objects in it are unknown.", k, count(n, "Kustomization"))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package census

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/explanation"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/ownership"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Answer is what Explain found.
type Answer struct {
	// Explanation is nil when the query means no object, or several.
	Explanation *explanation.Explanation
	// Candidates are the objects that an ambiguous query may mean, or the near
	// misses of one that means none.
	Candidates []explanation.Candidate
	// Ambiguous tells the two apart.
	Ambiguous bool
	// Clusters that the census met, sorted by name.
	Clusters []Cluster
}

// Explain follows a snapshot as Take does and explains one object of it: the
// builds that yield it are built again, traced. Errors are those of Take.
func Explain(ctx context.Context, snap *snapshot.Snapshot, req Request, q explanation.Query) (*Answer, error) {
	w := newWorklist(ctx, snap, &req)
	if err := w.discover(); err != nil {
		return nil, err
	}
	if err := w.run(); err != nil {
		return nil, err
	}
	w.progress("explaining", 0, 0, "")
	out := &Answer{Clusters: w.clusters(&ownership.Result{})}
	all := map[object.Ref][]cluster.Name{}
	secrets := &explanation.Secrets{}
	for _, a := range w.applied {
		for _, o := range a.Objects {
			all[o.Ref] = append(all[o.Ref], a.Target)
			secrets.Add(o)
		}
	}
	out.Candidates = explanation.Candidates(q, all)
	switch {
	case len(out.Candidates) == 0:
		out.Candidates = explanation.Near(q, all)
		return out, ctx.Err()
	case len(out.Candidates) > 1:
		out.Ambiguous = true
		return out, ctx.Err()
	}
	t := &tracer{worklist: w, builders: map[string]*kustomize.Builder{}, results: map[tracedKey]*controller.Result{}}
	var subjects []explanation.Subject
	for _, a := range w.applied {
		for _, o := range a.Objects {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if q.Matches(o.Ref, a.Target) && o.Ref.Key() == out.Candidates[0].Ref.Key() {
				subjects = append(subjects, t.subject(a, o))
			}
		}
	}
	slices.SortStableFunc(subjects, func(x, y explanation.Subject) int {
		return cmp.Or(strings.Compare(string(x.Applied.Target), string(y.Applied.Target)),
			strings.Compare(string(x.Applied.Cluster), string(y.Applied.Cluster)),
			x.Applied.Sync.Object.Compare(y.Applied.Sync.Object))
	})
	out.Candidates, out.Explanation = nil, explanation.Of(q, subjects, w.positions, secrets)
	return out, ctx.Err()
}

// tracer builds again what a census built, and traces it.
type tracer struct {
	*worklist
	builders map[string]*kustomize.Builder
	results  map[tracedKey]*controller.Result
}

// tracedKey is equal for Syncs with one result that is declared in one place.
type tracedKey struct {
	result *controller.Result
	// declared is where.
	declared *packed.Tree
}

// subject is an object of a Sync, traced where it can be.
func (t *tracer) subject(a *placement.Applied, o *kustomize.Object) explanation.Subject {
	s := explanation.Subject{Applied: a, Object: o, Class: a.Class(), Variables: t.variableSources(a)}
	for _, r := range a.Releases {
		if r.Object == o {
			s.Class = r.Class
		}
	}
	if a.Blocked != nil && !(a.Blocked == &a.Outcome && a.Arrived[o]) {
		s.Blocked = a.Blocked
	}
	traced := t.result(a)
	s.Form = explanation.Built
	if a.Result.Failure != nil {
		// The object is shown as kustomize built it, if it came so far.
		s.Form, s.Failure = explanation.AsWritten, a.Result.Failure
		for _, x := range traced.Built {
			if x.Origin == o.Origin && x.Ref.Kind == o.Ref.Kind {
				s.Object, s.Form = x, explanation.Kustomized
			}
		}
		return s
	}
	if i := slices.Index(a.Result.Objects, o); i < 0 {
		s.Object = cmp.Or(t.made(traced.Objects, o, maxMakers), o)
	} else if i < len(traced.Objects) && len(traced.Objects) == len(a.Result.Objects) && traced.Objects[i].Ref == o.Ref {
		s.Object = traced.Objects[i]
	}
	return s
}

// maxMakers bounds objects that are made by objects that are made.
const maxMakers = 8

// made is an object that traced objects make, traced itself; nil when none does.
func (t *tracer) made(by []*kustomize.Object, o *kustomize.Object, depth int) *kustomize.Object {
	if depth == 0 {
		return nil
	}
	for _, x := range by {
		made := t.declared(x).Objects
		for _, m := range made {
			if m.Ref == o.Ref && m.Origin == o.Origin {
				return m
			}
		}
		if m := t.made(made, o, depth-1); m != nil {
			return m
		}
	}
	return nil
}

// result is the traced result of a Sync.
func (t *tracer) result(a *placement.Applied) *controller.Result {
	key := tracedKey{a.Result, a.Sync.Declared}
	if r := t.results[key]; r != nil {
		return r
	}
	b := t.builders[a.ViewKey]
	if b == nil {
		options := t.req.Limits.Build
		options.Trace = true
		b = kustomize.NewBuilderWith(t.views[a.ViewKey].Snapshot, t.docs, options)
		t.builders[a.ViewKey] = b
	}
	r := t.rebuild(a, b)
	t.results[key] = r
	return r
}

// rebuild builds a Sync with another builder of its artifact.
func (w *worklist) rebuild(a *placement.Applied, b *kustomize.Builder) *controller.Result {
	s, vars, complete, strict := w.inputs(a)
	return w.engine(s.Engine).Build(b, s, vars, complete, strict)
}

// variableSources are the places where the variables of a Sync are written, as
// far as they are in the repository. What the object declares itself wins, then
// later sources.
func (w *worklist) variableSources(a *placement.Applied) map[string]explanation.Source {
	out := map[string]explanation.Source{}
	add := func(m *yaml.Node, from string, secret bool) {
		if m == nil || m.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			pos := m.Content[i+1].Line
			out[m.Content[i].Value] = explanation.Source{From: from, Pos: position.Pos(cmp.Or(pos, m.Content[i].Line)), Secret: secret}
		}
	}
	ns := a.Sync.Object.Namespace
	for _, from := range a.Sync.Variables.From {
		if cf := w.prev.clusters[a.Cluster]; cf != nil {
			if o := cf.configs[object.Key{Kind: from.Kind, Namespace: ns, Name: from.Name}]; o != nil {
				for _, section := range []string{"data", "stringData"} {
					add(field(o.Node(), section), from.Kind+" "+ns+"/"+from.Name, from.Kind == "Secret")
				}
			}
		}
	}
	add(field(a.Sync.Declared.Node(), "spec", "postBuild", "substitute"), a.Sync.Object.Kind+" "+ns+"/"+a.Sync.Object.Name, false)
	return out
}

package census

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

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
	if a.Sync.Problem != nil && variable().MatchString(a.Sync.Path) {
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
		fmt.Fprintf(&b, "%q %d %+v\x00", p.Text, p.Pos, p.Target)
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

package census

import (
	"cmp"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/graph"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// dependencies finds what waits for an object that does not exist. A
// Kustomization's dependsOn means Kustomizations and a HelmRelease's means
// HelmReleases, on the cluster where the object itself lives (upstream:
// checkDependencies of both controllers).
//
// What waits is blocked when it is certain that nothing of that name is there:
// the name is one of the other kind, or everything on the cluster is known.
func (w *worklist) dependencies() {
	w.missingNames()
	w.circles()
	for w.waiting() {
	}
}

// circles blocks the Kustomizations that wait for each other, or for
// themselves: none of them ever becomes ready first.
func (w *worklist) circles() {
	var g graph.Graph[string]
	by, waits := map[string][]*placement.Applied{}, map[*placement.Applied]controller.Dependency{}
	node := func(on cluster.Name, namespace, name string) string {
		return string(on) + " " + namespace + "/" + name
	}
	for _, a := range w.applied {
		if a.State != placement.Resolved || a.Blocked != nil {
			continue
		}
		n := node(a.Cluster, a.Sync.Object.Namespace, a.Sync.Object.Name)
		by[n] = append(by[n], a)
		for _, d := range a.Sync.DependsOn {
			if !d.OwnCheck {
				g.AddEdge(n, node(a.Cluster, d.Namespace, d.Name))
				waits[a] = d
			}
		}
	}
	for _, circle := range g.Cycles() {
		for _, n := range circle {
			for _, a := range by[n] {
				w.block(a, placement.Outcome{
					State: placement.StateUnresolved, Reason: dependencyNotReady, Pos: waits[a].Pos,
					Detail: "the Kustomizations wait for each other by dependsOn: " + strings.Join(circle, ", "),
				})
			}
		}
	}
}

// waiting blocks the Kustomizations and HelmReleases that wait for one which
// cannot become ready: it fails, its path is missing, or it waits itself. It reports whether
// it blocked one. A dependency that is suspended keeps the condition that it
// had, and one from elsewhere may be ready.
func (w *worklist) waiting() bool {
	type place struct {
		on  cluster.Name
		key object.Key
	}
	stuck, stuckReleases, sound := map[place]*placement.Applied{}, map[place]*placement.Release{}, map[place]bool{}
	for _, a := range w.applied {
		p := place{a.Cluster, a.Sync.Object.Key()}
		switch {
		case a.State == placement.Failed, a.State == placement.PathMissing, a.Reason == dependencyNotFound, a.Reason == dependencyNotReady:
			stuck[p] = a
		default:
			sound[p] = true
		}
		for _, r := range a.Releases {
			p := place{r.Cluster, r.Object.Ref.Key()}
			switch {
			case r.State == placement.Failed, r.State == placement.PathMissing, r.Reason == dependencyNotFound, r.Reason == dependencyNotReady:
				stuckReleases[p] = r
			default:
				sound[p] = true
			}
		}
	}
	found := false
	for _, a := range w.applied {
		for _, r := range a.Releases {
			for _, d := range r.Release.DependsOn {
				p := place{r.Cluster, object.Key{Group: fluxHelmGroup, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}}
				on := stuckReleases[p]
				if r.State == placement.Resolved && on != nil && !sound[p] && !d.OwnCheck && on != r {
					stopRelease(r, placement.Outcome{
						State: placement.StateUnresolved, Reason: dependencyNotReady, Pos: d.Pos,
						Detail: "it waits for " + on.Controller() + ", which is not ready: " + on.Detail,
					})
					found = true
				}
			}
		}
	}
	for _, a := range w.applied {
		if a.Parent != nil && a.Blocked == nil && a.Parent.Blocked != nil {
			w.blockedByParent(a)
			found = true
		}
		if a.State != placement.Resolved || a.Blocked != nil {
			continue
		}
		for _, d := range a.Sync.DependsOn {
			p := place{a.Cluster, object.Key{Group: fluxKustomizeGroup, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}}
			on := stuck[p]
			if on == nil || sound[p] || d.OwnCheck || on == a {
				continue
			}
			w.block(a, placement.Outcome{
				State: placement.StateUnresolved, Reason: dependencyNotReady, Pos: d.Pos,
				Detail: "it waits for " + on.Controller() + ", which is not ready: " + on.Detail,
			})
			found = true
			break
		}
	}
	for _, a := range w.applied {
		w.blockReleases(a)
	}
	return found
}

// block stops a Sync that would be applied.
func (w *worklist) block(a *placement.Applied, why placement.Outcome) {
	a.Outcome = why
	a.Blocked = &a.Outcome
	if a.HasDirectory && a.Result != nil {
		a.Below = w.below(a)
	}
}

// stopRelease stops a HelmRelease that would be installed.
func stopRelease(r *placement.Release, why placement.Outcome) {
	r.Class, r.Outcome, r.ChartBlocked = placement.Unresolved, why, &r.Outcome
}

// blockReleases passes on that a Sync is blocked to what it applies.
func (w *worklist) blockReleases(a *placement.Applied) {
	for _, r := range a.Releases {
		if a.Blocked != nil && r.Class != placement.Unresolved {
			r.Class, r.Outcome = placement.Unresolved, *a.Blocked
		}
	}
}

// missingNames finds the dependencies that do not exist.
func (w *worklist) missingNames() {
	for _, a := range w.applied {
		if a.Parent != nil && a.Blocked == nil && a.Parent.Blocked != nil {
			w.blockedByParent(a)
		}
		for _, m := range w.missingDependencies(a.Cluster, a.Sync.DependsOn) {
			m.Owner, m.Applied = a.Sync.Object, a
			waits := a.State == placement.Resolved && a.Blocked == nil
			if m.Certain && waits {
				w.block(a, placement.Outcome{State: placement.StateUnresolved, Reason: dependencyNotFound, Detail: m.Detail, Pos: m.Pos})
			}
			w.missingDeps = append(w.missingDeps, m)
		}
		w.blockReleases(a)
		for _, r := range a.Releases {
			for _, m := range w.missingDependencies(r.Cluster, r.Release.DependsOn) {
				m.Owner, m.Applied = r.Object.Ref, a
				if m.Certain && r.State == placement.Resolved {
					stopRelease(r, placement.Outcome{State: placement.StateUnresolved, Reason: dependencyNotFound, Detail: m.Detail, Pos: m.Pos})
				}
				w.missingDeps = append(w.missingDeps, m)
			}
		}
	}
}

const (
	dependencyNotFound = "dependency_not_found"
	dependencyNotReady = "dependency_not_ready"
)

// blockedByParent passes on what happened to the Sync that applies this one.
func (w *worklist) blockedByParent(a *placement.Applied) {
	a.Blocked = a.Parent.Blocked
	if a.State == placement.Resolved || a.State == placement.Suspended {
		a.Outcome = placement.Outcome{
			State: placement.StateUnresolved, Reason: "parent_" + a.Blocked.Reason, Pos: a.Sync.Pos,
			Detail: "the object comes from " + a.Parent.Controller() + ": " + a.Blocked.Detail,
		}
	}
}

func (w *worklist) missingDependencies(on cluster.Name, deps []controller.Dependency) []finding.MissingDependency {
	var out []finding.MissingDependency
	for _, d := range deps {
		groups := map[string]string{"Kustomization": fluxKustomizeGroup, "HelmRelease": fluxHelmGroup}
		named := func(kind string) bool {
			cf := w.prev.clusters[on]
			return cf != nil && cf.named[object.Key{Group: groups[kind], Kind: kind, Namespace: d.Namespace, Name: d.Name}]
		}
		if named(d.Kind) || w.isRoot(on, d) {
			continue
		}
		m := finding.MissingDependency{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Pos: d.Pos}
		other := "HelmRelease"
		if d.Kind == other {
			other = "Kustomization"
		}
		m.Detail = "dependsOn names " + d.Kind + " " + d.Namespace + "/" + d.Name + ", "
		switch {
		case named(other):
			m.OtherKind, m.Certain = other, true
			m.Detail += "and what has that name is a " + other
		default:
			m.Certain = w.known(on)
			m.Detail += "which is not on " + string(on)
			if !m.Certain {
				m.Detail += " as far as this repository shows"
			}
		}
		out = append(out, m)
	}
	return out
}

// isRoot reports a root's Kustomization, which may stand in no file.
func (w *worklist) isRoot(on cluster.Name, d controller.Dependency) bool {
	for _, r := range w.roots {
		if o := r.sync.Object; d.Kind == o.Kind && r.Cluster == on && o.Namespace == d.Namespace && o.Name == d.Name {
			return true
		}
	}
	return false
}

// known reports that all objects which controllers put on a cluster are known:
// every Sync that applies there is resolved and whole, and no chart adds to
// them. What people put there by hand is never known.
func (w *worklist) known(on cluster.Name) bool {
	if k, ok := w.whole[on]; ok {
		return k
	}
	k := true
	for _, a := range w.applied {
		if a.Target == on && (a.Result == nil || a.Result.Partial() || a.State != placement.Resolved && a.State != placement.Suspended && a.Reason != dependencyNotFound && a.Reason != dependencyNotReady) {
			k = false
		}
		for _, o := range a.Objects {
			if a.Target == on && (o.UnknownIdentity || w.declared(o).Problem != nil) {
				k = false
			}
		}
		for _, r := range a.Releases {
			if cmp.Or(r.Target, a.Target) == on {
				k = false
			}
		}
	}
	w.whole[on] = k
	return k
}

package placement

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// landing is what tells one placement of a file from another.
type landing struct {
	path              string
	class             Class
	cluster           cluster.Name
	controllerCluster cluster.Name
	controllerKind    string
	controller        string
}

// Compute places every file that the Syncs and Releases read. The result is
// sorted by Placement.Compare.
//
// Objects decide: a file lands where the objects that it contributes to land,
// and a file that contributes to no object lands where its Sync applies.
func Compute(applied []*Applied, positions *position.Set) []*Placement {
	c := &computation{positions: positions, found: map[landing]*Placement{}}
	for _, a := range applied {
		c.sync(a)
	}
	out := make([]*Placement, 0, len(c.found))
	for _, p := range c.found {
		out = append(out, p)
	}
	slices.SortFunc(out, (*Placement).Compare)
	return out
}

// WithUncovered adds the files that nothing reaches, given with their path,
// role and outcome, and sorts again.
func WithUncovered(reached []*Placement, uncovered []Placement) []*Placement {
	out := slices.Clone(reached)
	for _, p := range uncovered {
		p.Class = Uncovered
		out = append(out, &p)
	}
	slices.SortFunc(out, (*Placement).Compare)
	return out
}

type computation struct {
	positions *position.Set
	found     map[landing]*Placement
}

func (c *computation) sync(a *Applied) {
	if a.Result == nil {
		return
	}
	roles := map[string]kustomize.Role{}
	for _, u := range a.Uses() {
		if r, ok := roles[u.Path]; !ok || rank(u.Role) < rank(r) {
			roles[u.Path] = u.Role
		}
	}
	released := map[*kustomize.Object]*Release{}
	for _, r := range a.Releases {
		released[r.Object] = r
	}
	placed := map[string]bool{}
	for _, o := range a.Objects {
		p := Placement{
			Class: a.Class(), Cluster: a.Target, ControllerCluster: a.Cluster,
			Controller: a.Controller(), ControllerKind: a.Sync.Object.Kind,
			Outcome: a.landed(), applied: a, object: o,
		}
		if r := released[o]; r != nil && (r.Class == RemoteHubRender || r.Class == Unresolved && r.Release.KubeConfig != nil) {
			p.Class, p.Cluster, p.release = r.Class, r.Target, r
			if r.State != Resolved && p.State == Resolved {
				p.Outcome = r.Outcome
			}
		}
		if p.State == Resolved && a.Conditions[o] != "" {
			p.Detail = a.Conditions[o]
		}
		if a.blocks(o) {
			p.Class, p.Outcome = Unresolved, *a.Blocked
		}
		c.contribution(p, o.Origin, roles, placed)
		for _, s := range o.Steps {
			c.contribution(p, s.Pos, roles, placed)
		}
	}
	for _, u := range a.Uses() {
		if placed[u.Path] || u.Role == kustomize.RoleObject && a.Blocked == nil && a.Emptied[u.Path] {
			continue
		}
		p := Placement{
			Path: u.Path, Role: roles[u.Path], Class: a.Class(), Cluster: a.Target, ControllerCluster: a.Cluster,
			Controller: a.Controller(), ControllerKind: a.Sync.Object.Kind,
			Outcome: a.landed(), applied: a, at: u.Pos,
		}
		if a.Blocked != nil {
			p.Class, p.Outcome = Unresolved, *a.Blocked
		}
		c.add(p)
	}
	for _, r := range a.Releases {
		c.chart(r)
	}
}

// landed is the outcome on placements of a Sync that is not blocked: it is
// resolved, if only in part, or suspended.
func (a *Applied) landed() Outcome {
	switch {
	case a.State == Suspended:
		return a.Outcome
	case a.State == Resolved:
		return Outcome{State: Resolved, Detail: a.Detail}
	}
	return Outcome{State: Resolved}
}

func (c *computation) contribution(p Placement, at position.Pos, roles map[string]kustomize.Role, placed map[string]bool) {
	where := c.positions.Position(at)
	if where.IsZero() {
		return
	}
	role, ok := roles[where.Path]
	if !ok {
		// An inline patch of the Sync stands in the file that declares the
		// Sync; that file is placed by the Sync's own parent.
		return
	}
	p.Path, p.Role, p.at = where.Path, role, at
	placed[where.Path] = true
	c.add(p)
}

func (c *computation) chart(r *Release) {
	for _, f := range r.Files {
		p := Placement{
			Path: f.Path, Role: f.Role, Class: r.Class, Cluster: r.Target, ControllerCluster: r.Cluster,
			Controller: r.Controller(), ControllerKind: r.Release.Object.Kind,
			Outcome: r.Outcome, applied: r.Applied, release: r, object: r.Object, at: f.Pos,
		}
		if p.State == Resolved {
			p.Detail = f.Detail
		}
		switch {
		case r.Applied.Blocked != nil:
			p.Class, p.Outcome = Unresolved, *r.Applied.Blocked
		case r.ChartBlocked != nil:
			p.Class, p.Outcome = Unresolved, *r.ChartBlocked
		}
		c.add(p)
	}
}

// add keeps one placement per landing: a resolved one before others, one without
// a condition before one with, then the one from the earliest line, so that the
// order of the builds does not matter.
func (c *computation) add(p Placement) {
	key := landing{p.Path, p.Class, p.Cluster, p.ControllerCluster, p.ControllerKind, p.Controller}
	old, ok := c.found[key]
	if !ok {
		c.found[key] = &p
		return
	}
	if c.before(&p, old) < 0 {
		*old = p
	}
}

// before orders the placements of one landing, which are all of one file.
func (c *computation) before(a, b *Placement) int {
	line := func(p *Placement) int {
		if n := c.positions.Position(p.at).Line; n > 0 {
			return n
		}
		return math.MaxInt // the file as a whole
	}
	last := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	return cmp.Or(
		last(a.State != Resolved)-last(b.State != Resolved),
		last(a.Detail != "")-last(b.Detail != ""),
		cmp.Compare(line(a), line(b)),
		strings.Compare(string(a.State), string(b.State)), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Detail, b.Detail),
	)
}

// rank orders roles by how much they say about a file that has several.
func rank(r kustomize.Role) int {
	order := []kustomize.Role{
		kustomize.RoleObject, kustomize.RoleKustomization, kustomize.RoleComponent, kustomize.RolePatch,
		kustomize.RoleGeneratorInput, kustomize.RoleValues, kustomize.RoleTransformer, kustomize.RoleOther,
	}
	if i := slices.Index(order, r); i >= 0 {
		return i
	}
	return len(order)
}

// FileRole is the one role of a file over all its placements: the one that
// says most.
func FileRole(ps []*Placement) kustomize.Role {
	best := kustomize.RoleOther
	for _, p := range ps {
		if rank(p.Role) < rank(best) {
			best = p.Role
		}
	}
	return best
}

// Objects lists the objects that Syncs apply, without those of blocked ones,
// sorted by cluster, identity and controller.
func Objects(applied []*Applied) []Object {
	var out []Object
	for _, a := range applied {
		if a.Result == nil {
			continue
		}
		released := map[*kustomize.Object]*Release{}
		for _, r := range a.Releases {
			released[r.Object] = r
		}
		for _, o := range a.Objects {
			if a.blocks(o) {
				continue
			}
			x := Object{Ref: o.Ref, Cluster: a.Target, ControllerCluster: a.Cluster, Applied: a, Object: o, Class: a.Class()}
			if r := released[o]; r != nil {
				x.Class = r.Class
			}
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Object) int { return a.compare(b) })
	return out
}

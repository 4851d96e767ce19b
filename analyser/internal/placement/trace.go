package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Hop is one step of a trace.
type Hop struct {
	// Kind is "file", "layer", "patch", "generator", "input", "transformer",
	// "kustomization", "helmrelease", "source", "kubeconfig", "root" or
	// "cluster".
	Kind    string
	At      position.Position
	Name    string
	Cluster cluster.Name
}

// Trace is the way of the placement, from the file over layers, patches,
// controllers and kubeConfig references to the cluster.
func (p *Placement) Trace(positions *position.Set) []Hop {
	from, way, to := p.Way(positions)
	if way == nil {
		return from
	}
	return slices.Concat(from, way.Trace(positions), to)
}

// Way is the trace in three parts, of which the middle is the Trace of a Sync that
// many placements share; nil where there is none.
func (p *Placement) Way(positions *position.Set) (from []Hop, way *Applied, to []Hop) {
	at := positions.Position(p.at)
	if at.Path != p.Path {
		at = position.Position{Path: p.Path}
	}
	from = []Hop{{Kind: "file", At: at}}
	if p.Class == Uncovered {
		return from, nil, nil
	}
	if p.object != nil {
		from = append(from, objectHops(p.object, positions, p.Path)...)
	}
	if p.release != nil {
		from = append(from, Hop{
			Kind: "helmrelease", At: positions.Position(p.release.Object.Origin),
			Name: p.release.Controller(), Cluster: p.release.Cluster,
		})
	}
	ref := p.applied.Sync.KubeConfig
	if p.release != nil {
		ref = p.release.Release.KubeConfig
	}
	if ref != nil {
		name := ref.Kind + " " + ref.Namespace + "/" + ref.Name
		if ref.Key != "" {
			name += "#" + ref.Key
		}
		to = append(to, Hop{Kind: "kubeconfig", At: positions.Position(ref.Pos), Name: name, Cluster: p.ControllerCluster})
	}
	return from, p.applied, append(to, Hop{Kind: "cluster", Name: string(p.Cluster), Cluster: p.Cluster})
}

// Trace is the way of the Sync object itself: from where it is written to the
// root that makes it exist.
func (a *Applied) Trace(positions *position.Set) []Hop { return a.hops(positions) }

// Trace is the way of the HelmRelease object: from where it is written to the
// root, then the reference to its target.
func (r *Release) Trace(positions *position.Set) []Hop {
	hops := []Hop{{
		Kind: "helmrelease", At: positions.Position(r.Object.Origin),
		Name: r.Controller(), Cluster: r.Cluster,
	}}
	hops = append(hops, objectHops(r.Object, positions, "")...)
	hops = append(hops, r.Applied.hops(positions)...)
	if ref := r.Release.KubeConfig; ref != nil {
		hops = append(hops, Hop{
			Kind: "kubeconfig", At: positions.Position(ref.Pos),
			Name: ref.Kind + " " + ref.Namespace + "/" + ref.Name, Cluster: r.Cluster,
		})
	}
	return append(hops, Hop{Kind: "cluster", Name: string(r.Target), Cluster: r.Target})
}

func (a *Applied) hops(positions *position.Set) []Hop {
	var hops []Hop
	for n := 0; a != nil && n < 1000; a, n = a.Parent, n+1 {
		at := positions.Position(a.Sync.Pos)
		hops = append(hops, Hop{Kind: "kustomization", At: at, Name: a.Controller(), Cluster: a.Cluster})
		if a.Object != nil && a.Parent != nil {
			hops = append(hops, objectHops(a.Object, positions, at.Path)...)
		}
		if a.Root != nil {
			hops = append(hops, Hop{Kind: "root", At: positions.Position(a.Root.Declared), Name: a.Root.DeclaredBy, Cluster: a.Root.Cluster})
		}
	}
	return hops
}

// objectHops are the contributions to an object after those of the file that
// the trace starts from: a layer hands the object on to the layers above it.
func objectHops(o *kustomize.Object, positions *position.Set, from string) []Hop {
	var hops []Hop
	for _, s := range o.Steps {
		switch at := positions.Position(s.Pos); {
		case at.IsZero():
		case at.Path == from:
			hops = hops[:0]
		default:
			hops = append(hops, Hop{Kind: string(s.Kind), At: at})
		}
	}
	return hops
}

func (o Object) compare(p Object) int {
	return cmp.Or(
		strings.Compare(string(o.Cluster), string(p.Cluster)),
		o.Ref.Compare(p.Ref),
		strings.Compare(string(o.ControllerCluster), string(p.ControllerCluster)),
		strings.Compare(o.Applied.Controller(), p.Applied.Controller()),
	)
}

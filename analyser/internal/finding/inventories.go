package finding

import (
	"fmt"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// twoInventories finds objects that the inventories of two controller objects
// list.
var twoInventories = &Rule{
	Name:     "reach.ownership.two_inventories",
	Doc:      "Two controller objects list one object in their inventories: each applies it, the last one wins, and either may delete it.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, t := range m.Ownership.Twice {
			f := liveFinding(m, t.Cluster, t.Object)
			f.Count = len(t.By)
			if t.Active < 2 {
				f.Severity = Warning
			}
			f.Message = fmt.Sprintf("%s on %s is in the inventories of %s.", t.Object, t.Cluster, list(t.By))
			f.Remedy = "Leave it in one of them; before it leaves the other, set kustomize.toolkit.fluxcd.io/prune: disabled on it there."
			out = append(out, f)
		}
		return out
	},
}

// labelsDisagree finds objects whose labels claim Flux while no such inventory
// lists them.
var labelsDisagree = &Rule{
	Name:     "reach.ownership.labels_disagree",
	Doc:      "The labels of an object name a Flux object whose inventory does not list it: the labels were copied, or another controller object took it over.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, d := range m.Ownership.Disagreeing {
			f := liveFinding(m, d.Cluster, d.Objects[0])
			f.Count = len(d.Objects)
			truth := "made by " + d.Truth
			if d.Listed {
				truth = d.Truth + " does"
			}
			f.Message = fmt.Sprintf("The labels of %s on %s say %s, whose inventory does not list %s: %s.",
				someObjects(d.Objects), d.Cluster, d.Labelled, itOrThem(d.Objects), truth)
			f.Remedy = "Go by the inventory. Flux does not prune what it does not list; do not select objects by these labels alone."
			if d.Owned {
				// An operator that copies labels to what it makes harms nobody.
				f.Severity = Info
			}
			out = append(out, f)
		}
		return out
	},
}

// outlivedInventory finds objects that Flux applied and no inventory lists any
// more.
var outlivedInventory = &Rule{
	Name:     "reach.ownership.outlived_inventory",
	Doc:      "Flux applied an object, and no inventory lists it any more: it was taken out of git without being pruned, and nothing will take it away.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, o := range m.Ownership.Outlived {
			f := liveFinding(m, o.Cluster, o.Objects[0])
			f.Count = len(o.Objects)
			why := "whose inventory does not list " + itOrThem(o.Objects) + " any more"
			switch {
			case o.Gone:
				why = "which does not exist any more"
			case o.NoPrune:
				why += "; it does not prune"
			}
			f.Message = fmt.Sprintf("%s on %s outlived %s, %s.", someObjects(o.Objects), o.Cluster, o.Holder, why)
			f.Remedy = "Delete what is not needed, or declare it again where it belongs."
			out = append(out, f)
		}
		return out
	},
}

// liveFinding is about an object on a cluster, and about the line that declares
// it where one does.
func liveFinding(m *Model, on cluster.Name, k object.Key) Finding {
	f := Finding{Cluster: on, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
	if i := m.declaredAt(on, k); i >= 0 {
		o := m.Objects[i]
		f.At, f.Trace = m.Positions.Position(o.Object.Origin), o.Applied.Trace(m.Positions)
	}
	return f
}

// declaredAt is the index of the first object of the census that is k on a
// cluster, or -1.
func (m *Model) declaredAt(on cluster.Name, k object.Key) int {
	if m.declared == nil {
		m.declared = map[clusterKey]int{}
		for i, o := range m.Objects {
			k := clusterKey{o.Cluster, o.Ref.Key()}
			if m.Scope(o.Cluster, k.key.GroupKind()) == object.ClusterScoped {
				k.key.Namespace = ""
			}
			if _, ok := m.declared[k]; !ok {
				m.declared[k] = i
			}
		}
	}
	if i, ok := m.declared[clusterKey{on, k}]; ok {
		return i
	}
	return -1
}

type clusterKey struct {
	cluster cluster.Name
	key     object.Key
}

// someObjects names up to three objects.
func someObjects(ks []object.Key) string {
	text := ks[0].String()
	for i, k := range ks[1:] {
		if i == 2 {
			return text + fmt.Sprintf(" and %d more", len(ks)-3)
		}
		text += ", " + k.String()
	}
	return text
}

func itOrThem(ks []object.Key) string {
	if len(ks) == 1 {
		return "it"
	}
	return "them"
}

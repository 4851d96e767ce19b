package finding

import (
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// doubleOwner finds objects that two Syncs apply to one cluster.
var doubleOwner = &Rule{
	Name:     "reach.flux.double_owner",
	Doc:      "Two Kustomizations apply the same object to one cluster: they share a field manager, so no conflict is raised; the last one wins, and either may prune it.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		type where struct {
			cluster cluster.Name
			key     object.Key
		}
		owners := map[where][]placement.Object{}
		var order []where
		for _, o := range m.Objects {
			if o.Object.UnknownName || o.Object.UnknownIdentity || o.Applied.State == placement.Suspended && o.Applied.Blocked != nil {
				continue
			}
			key := o.Ref.Key()
			if m.Scope(o.Cluster, key.GroupKind()) == object.ClusterScoped {
				// kustomize gives custom resources a namespace whatever their
				// definition says, and the API server drops it.
				key.Namespace = ""
			}
			w := where{o.Cluster, key}
			if len(owners[w]) == 0 {
				order = append(order, w)
			}
			owners[w] = append(owners[w], o)
		}
		var out []Finding
		for _, w := range order {
			var names []string
			for _, o := range owners[w] {
				n := string(o.ControllerCluster) + ": " + o.Applied.Controller()
				if o.Applied.State == placement.Suspended {
					n += " (suspended)"
				}
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
			if len(names) < 2 {
				continue
			}
			slices.Sort(names)
			active := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.HasSuffix(n, " (suspended)") })
			first := owners[w][0]
			f := aboutSync(m, first.Applied)
			f.At = m.Positions.Position(first.Object.Origin)
			f.Cluster, f.Kind, f.Namespace, f.Name = w.cluster, w.key.Kind, w.key.Namespace, w.key.Name
			f.Count = len(names)
			if len(active) < 2 {
				// Suspending the old owner is how one hands an object over.
				f.Severity = Warning
			}
			f.Message = w.key.String() + " on " + string(w.cluster) + " is applied by " + strings.Join(names, " and by ") + "."
			if kept := keptFromPruning(owners[w]); kept > 0 && kept < len(owners[w]) {
				f.Message += " Only some of them forbid pruning; what the object says at that moment decides, and that is what the last of them applied."
			}
			f.Remedy = "Leave it in one Kustomization; before removing it from the other, set kustomize.toolkit.fluxcd.io/prune: disabled on it there."
			out = append(out, f)
		}
		return out
	},
}

// keptFromPruning counts the renderings that forbid to prune the object.
func keptFromPruning(os []placement.Object) int {
	n := 0
	for _, o := range os {
		if o.Applied.Kept[o.Object] {
			n++
		}
	}
	return n
}

func list(s []string) string { return strings.Join(s, ", ") }

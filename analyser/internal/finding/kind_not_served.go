package finding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// kindNotServed finds kinds that the repository puts on a cluster which does not
// serve them.
var kindNotServed = &Rule{
	Name:     "reach.cluster.kind_not_served",
	Doc:      "The repository declares a kind that the cluster does not serve, or not in this version: the API server refuses the object, and the apply of its Kustomization stops there.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		type where struct {
			cluster cluster.Name
			kind    object.GroupKind
			version string
		}
		missing := map[where][]placement.Object{}
		var order []where
		for _, o := range m.Objects {
			s, known := m.Observed.On(o.Cluster).Serves(o.Ref.GroupKind())
			if !known || s != nil && slices.Contains(s.Versions, o.Ref.Version) || o.Object.UnknownIdentity {
				continue
			}
			w := where{o.Cluster, o.Ref.GroupKind(), o.Ref.Version}
			if s == nil {
				w.version = ""
			}
			if len(missing[w]) == 0 {
				order = append(order, w)
			}
			missing[w] = append(missing[w], o)
		}
		// Definitions that the repository itself puts there.
		defined := map[cluster.Name]map[string]bool{}
		for _, o := range m.Objects {
			if o.Ref.Group == "apiextensions.k8s.io" && o.Ref.Kind == "CustomResourceDefinition" {
				if defined[o.Cluster] == nil {
					defined[o.Cluster] = map[string]bool{}
				}
				if _, group, ok := strings.Cut(o.Ref.Name, "."); ok {
					defined[o.Cluster][group] = true
				}
			}
		}
		var out []Finding
		for _, w := range order {
			first := missing[w][0]
			f := aboutSync(m, first.Applied)
			f.At = m.Positions.Position(first.Object.Origin)
			f.Cluster, f.Kind, f.Namespace, f.Name = w.cluster, w.kind.Kind, first.Ref.Namespace, first.Ref.Name
			f.Count = len(missing[w])
			what := fmt.Sprintf("%s does not serve %s", w.cluster, w.kind)
			if w.version != "" {
				s, _ := m.Observed.On(w.cluster).Serves(w.kind)
				what = fmt.Sprintf("%s serves %s as %s, not as %s", w.cluster, w.kind, list(s.Versions), w.version)
			}
			f.Message = fmt.Sprintf("%s; this commit puts %s there.", what, objects(f.Count))
			f.Remedy = "Install what defines the kind, and let the Kustomization depend on it, or do not apply these objects to this cluster."
			if defined[w.cluster][w.kind.Group] && w.version == "" {
				f.Severity = Warning
				f.Message += " The repository puts a definition of this API group there as well, which has not arrived."
			}
			if w.version != "" {
				f.Remedy = "Write the objects in a version that the cluster serves."
			}
			out = append(out, f)
		}
		return out
	},
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

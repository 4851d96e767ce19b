package finding

import (
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Dangling is a reference to an object whose name the build changed.
type Dangling struct {
	// Owner refers to Kind Namespace/Name in Field.
	Owner                 object.Ref
	Applied               *placement.Applied
	Field                 string
	Kind, Namespace, Name string
	// Actual is the name that the object has on the cluster.
	Actual string
	Pos    position.Pos
}

// danglingReference finds references that a name prefix, a suffix or a hash
// left behind.
var danglingReference = &Rule{
	Name:     "reach.flux.dangling_reference",
	Doc:      "A Flux object refers to another by the name that it has in the file, and the build renamed that: kustomize does not follow references of Flux kinds unless its configuration says so.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, d := range m.Dangling {
			f := aboutSync(m, d.Applied)
			f.At = m.Positions.Position(d.Pos)
			f.Kind, f.Namespace, f.Name = d.Owner.Kind, d.Owner.Namespace, d.Owner.Name
			f.Message = d.Owner.Kind + " " + d.Owner.Namespace + "/" + d.Owner.Name + " on " + string(d.Applied.Cluster) + ": " + d.Field +
				" names " + d.Kind + " " + d.Namespace + "/" + d.Name + ", which the build renames to " + d.Actual + "."
			f.Remedy = "Add a nameReference configuration for the field to the kustomization file, set disableNameSuffixHash, or write the name that the object has on the cluster."
			out = append(out, f)
		}
		return out
	},
}

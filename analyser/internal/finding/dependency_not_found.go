package finding

import (
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// MissingDependency is an entry of dependsOn that names nothing.
type MissingDependency struct {
	// Owner waits for it; Applied is Owner itself, or the Sync that applies it.
	Owner   object.Ref
	Applied *placement.Applied
	// Kind, Namespace and Name of what is waited for.
	Kind, Namespace, Name string
	// OtherKind is the kind of the object that has the name; empty for none.
	OtherKind string
	// Certain reports that nothing of that kind and name can be there.
	Certain bool
	Detail  string
	Pos     position.Pos
}

// dependencyNotFound finds dependsOn entries that name nothing.
var dependencyNotFound = &Rule{
	Name:     "reach.flux.dependency_not_found",
	Doc:      "dependsOn names an object that is not there, or one of the other kind: Kustomizations wait for Kustomizations only and HelmReleases for HelmReleases, and what waits is never reconciled.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, d := range m.MissingDependencies {
			f := aboutSync(m, d.Applied)
			f.At = m.Positions.Position(d.Pos)
			f.Kind, f.Namespace, f.Name = d.Owner.Kind, d.Owner.Namespace, d.Owner.Name
			f.Message = d.Owner.Kind + " " + d.Owner.Namespace + "/" + d.Owner.Name + " on " + string(d.Applied.Cluster) + ": " + d.Detail
			if d.Certain {
				f.Message += "; it waits for it and is not reconciled."
			} else {
				f.Severity = Warning
				f.Message += "; unless something else puts it there, nothing is reconciled."
			}
			f.Remedy = "Name a " + d.Kind + " that exists on that cluster (the namespace defaults to that of the object itself), or remove the entry."
			out = append(out, f)
		}
		return out
	},
}

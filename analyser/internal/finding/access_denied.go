package finding

import "github.com/gitops-reach/reach/analyser/internal/placement"

// accessDenied finds references across namespaces on clusters whose
// controllers refuse them.
var accessDenied = &Rule{
	Name:     "reach.flux.access_denied",
	Doc:      "A Kustomization or HelmRelease reads a source in another namespace, and the controller runs with --no-cross-namespace-refs: it refuses, and applies nothing.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.Reason == "access_denied" && a.State == placement.Failed {
				f := aboutSync(m, a)
				if at := m.Positions.Position(a.Pos); !at.IsZero() {
					f.At = at
				}
				f.Message = "Kustomization " + a.Controller() + " on " + string(a.Cluster) + ": " + a.Detail + "."
				f.Remedy = crossNamespaceRemedy
				out = append(out, f)
			}
			for _, r := range a.Releases {
				if r.Reason != "access_denied" || r.State != placement.Failed {
					continue
				}
				f := aboutSync(m, a)
				f.At = m.Positions.Position(r.Pos)
				f.Cluster, f.Kind, f.Trace = r.Cluster, r.Object.Ref.Kind, r.Trace(m.Positions)
				f.Namespace, f.Name = r.Object.Ref.Namespace, r.Object.Ref.Name
				f.Message = "HelmRelease " + r.Controller() + " on " + string(r.Cluster) + ": " + r.Detail + "."
				f.Remedy = crossNamespaceRemedy
				out = append(out, f)
			}
		}
		return out
	},
}

const crossNamespaceRemedy = "Put a source into the namespace of the object, or let the controller follow references across namespaces."

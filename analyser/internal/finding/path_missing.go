package finding

import "github.com/gitops-reach/reach/analyser/internal/placement"

// pathMissing finds Kustomizations whose spec.path is no directory of their
// source's artifact.
var pathMissing = &Rule{
	Name:     "reach.flux.path_missing",
	Doc:      "A Kustomization's spec.path does not exist in its source, so it applies nothing and what it applied before stays as it is.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.State != placement.PathMissing {
				continue
			}
			f := aboutSync(m, a)
			if at := m.Positions.Position(a.Pos); !at.IsZero() {
				f.At = at
			}
			f.Message = "Kustomization " + a.Controller() + " on " + string(a.Cluster) + ": " + a.Detail + "; it is not ready and applies nothing."
			f.Remedy = "Correct spec.path, or add the directory to the source (paths are case-sensitive and relative to the artifact's root)."
			out = append(out, f)
		}
		return out
	},
}

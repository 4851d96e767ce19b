package finding

import "github.com/gitops-reach/reach/analyser/internal/placement"

// pathMissing finds Kustomizations whose spec.path is no directory of their
// source's artifact, and HelmReleases whose chart or values file is not in it.
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
		for _, a := range m.Applied {
			for _, r := range a.Releases {
				if r.State != placement.PathMissing {
					continue
				}
				f := aboutSync(m, a)
				f.At = m.Positions.Position(r.Pos)
				f.Cluster, f.Kind, f.Trace = r.Cluster, r.Object.Ref.Kind, r.Trace(m.Positions)
				f.Namespace, f.Name = r.Object.Ref.Namespace, r.Object.Ref.Name
				f.Message = "HelmRelease " + r.Controller() + " on " + string(r.Cluster) + ": " + r.Detail + "; its chart is not made and nothing is installed from this commit."
				f.Remedy = "Correct the path: the chart and its valuesFiles are both relative to the root of the source's artifact."
				out = append(out, f)
			}
		}
		return out
	},
}

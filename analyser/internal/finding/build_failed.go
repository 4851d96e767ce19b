package finding

import "github.com/gitops-reach/reach/analyser/internal/placement"

// buildFailed finds Kustomizations whose build fails in kustomize-controller.
var buildFailed = &Rule{
	Name:     "reach.flux.build_failed",
	Doc:      "A Kustomization's build fails, so none of the files that it reads reach their cluster.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.State != placement.Failed || a.Reason != "build_failed" {
				continue
			}
			f := aboutSync(m, a)
			if at := m.Positions.Position(a.Pos); !at.IsZero() {
				f.At = at
			}
			f.Count = len(a.Result.Uses)
			f.Message = "Kustomization " + a.Controller() + " on " + string(a.Cluster) + " does not build: " + a.Detail + "."
			f.Remedy = "Mend the file named here; until then the cluster keeps what was applied last."
			out = append(out, f)
		}
		return out
	},
}

package finding

import "github.com/gitops-reach/reach/analyser/internal/placement"

// emptyBuildPrunes finds Kustomizations that prune and build nothing.
var emptyBuildPrunes = &Rule{
	Name:     "reach.flux.empty_build_prunes",
	Doc:      "A Kustomization with prune builds no object: that is no error, and everything it applied before is deleted.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.State != placement.Resolved || a.Blocked != nil || !a.Sync.Prune || a.Result == nil ||
				len(a.Result.Objects) > 0 || a.Result.Partial() {
				continue
			}
			f := aboutSync(m, a)
			if at := m.Positions.Position(a.Sync.PathPos); !at.IsZero() {
				f.At = at
			}
			f.Message = "Kustomization " + a.Controller() + " on " + string(a.Cluster) + " builds no object and prunes: whatever it applied to " + string(a.Target) + " before is deleted, and it is ready."
			f.Remedy = "Remove the Kustomization if that is meant; else add what is missing from its path, or set spec.prune: false."
			out = append(out, f)
		}
		return out
	},
}

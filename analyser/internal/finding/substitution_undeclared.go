package finding

import (
	"fmt"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// substitutionUndeclared finds ${VAR} that no substitute or substituteFrom
// declares.
var substitutionUndeclared = &Rule{
	Name:     "reach.flux.substitution_undeclared",
	Doc:      "A Kustomization with postBuild uses a variable that nobody declares: kustomize-controller 1.9 and later fails the build, earlier ones put nothing in its place.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.Result == nil || a.Blocked != nil && a.Blocked != &a.Outcome {
				continue
			}
			if len(m.Undecided(a)) > 0 {
				continue // it may be declared there; the Sync says so
			}
			type use struct {
				first position.Position
				count int
			}
			uses := map[string]*use{}
			var names []string
			for _, u := range a.Result.Undeclared {
				x := uses[u.Name]
				if x == nil {
					x = &use{first: m.Positions.Position(u.Pos)}
					uses[u.Name] = x
					names = append(names, u.Name)
				}
				x.count++
			}
			for _, n := range names {
				f := aboutSync(m, a)
				if at := uses[n].first; !at.IsZero() {
					f.At = at
				}
				f.Var, f.Count = n, uses[n].count
				strict, known := m.Strict(a.Cluster)
				what := "the build fails"
				if !strict {
					f.Severity, what = Warning, "nothing is put in its place"
				}
				if !known {
					what = "kustomize-controller 1.9 and later fails the build, earlier ones put nothing in its place (the version on " + string(a.Cluster) + " is not known)"
				}
				f.Message = fmt.Sprintf("${%s} is used %d times in what Kustomization %s builds and nobody declares it: %s.", n, f.Count, a.Controller(), what)
				f.Remedy = "Declare it in spec.postBuild.substitute or in a ConfigMap named in substituteFrom, give it a default (${" + n + ":=...}), or write $${" + n + "} if the text is meant literally."
				out = append(out, f)
			}
		}
		return out
	},
}

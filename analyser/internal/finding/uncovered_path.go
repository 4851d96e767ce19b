package finding

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/coverage"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// uncoveredPath finds directories with objects that no controller reaches.
var uncoveredPath = &Rule{
	Name:     "reach.flux.uncovered_path",
	Doc:      "A path holds Kubernetes objects and no Kustomization covers it: what stands there is on no cluster through this repository.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		// A directory is reported once, at the topmost level below which no
		// file with objects is covered.
		covered := map[string]bool{}
		var open []coverage.File
		for _, f := range m.Files {
			if len(f.Objects) == 0 {
				continue
			}
			if f.Analysis == coverage.Uncovered {
				open = append(open, f)
				continue
			}
			for d := path.Dir(f.Path); ; d = path.Dir(d) {
				covered[d] = true
				if d == "." {
					break
				}
			}
		}
		files := map[string][]coverage.File{}
		for _, f := range open {
			top := f.Path
			for d := path.Dir(f.Path); !covered[d]; d = path.Dir(d) {
				top = d
				if d == "." {
					break
				}
			}
			files[top] = append(files[top], f)
		}
		var out []Finding
		for _, top := range slices.Sorted(maps.Keys(files)) {
			fs := files[top]
			f := Finding{At: position.Position{Path: top}, Count: len(fs)}
			if top == fs[0].Path {
				f.Message = "No Kustomization covers this file; its neighbours are covered."
				f.Remedy = "List it in the kustomization file beside it, or delete it."
			} else if top == "." {
				f.At.Path = ""
				f.Message = fmt.Sprintf("No Kustomization covers anything in this repository: %s, among them %s.", files1(len(fs)), names(fs))
				f.Remedy = "Declare the roots that reconcile it with --root CLUSTER=PATH, if there are any."
			} else {
				f.Message = fmt.Sprintf("No Kustomization covers %s: %s, among them %s.", top, files1(len(fs)), names(fs))
				f.Remedy = "Let a Kustomization point to it, declare the root that does, or delete it."
			}
			if why := fs[0]; why.Reason == "excluded_from_source" {
				f.Message += " It is left out of the source: " + why.Detail + "."
			}
			out = append(out, f)
		}
		return out
	},
}

func files1(n int) string {
	if n == 1 {
		return "1 file with objects"
	}
	return fmt.Sprintf("%d files with objects", n)
}

// names lists the first three and counts the rest.
func names(fs []coverage.File) string {
	var out []string
	for i, f := range fs {
		if i == 3 {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(fs)-i)
		}
		out = append(out, f.Path)
	}
	return strings.Join(out, ", ")
}

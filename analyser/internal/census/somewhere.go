package census

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// variable is what stands in a path for text that is not known.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*\}`) })

// somewhere gives a Sync whose path depends on what is not known the manifests
// below every directory that the path may mean: each may be reached. A path
// that may mean the whole repository tells nothing about any file.
func (w *worklist) somewhere(a *placement.Applied, view *controller.View) {
	parts := variable().Split(a.Path, -1)
	if strings.Trim(parts[0], "/.") == "" {
		return
	}
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	may, err := regexp.Compile("^" + strings.Join(parts, ".+") + "$")
	if err != nil {
		return // quoted text always compiles
	}
	matching := map[string]bool{}
	within := func(dir string) bool {
		for d := dir; d != "."; d = path.Dir(d) {
			m, ok := matching[d]
			if !ok {
				m = may.MatchString(d)
				matching[d] = m
			}
			if m {
				return true
			}
		}
		return false
	}
	a.Result = &controller.Result{Build: &kustomize.Build{}}
	for _, e := range view.Entries() {
		if !e.IsFile() || !isManifest(e.Path) || !within(path.Dir(e.Path)) {
			continue
		}
		original, ok := w.snap.Lookup(e.Origin)
		if !ok {
			continue
		}
		a.Below = append(a.Below, kustomize.Use{Path: e.Origin, Role: w.ownRole(original)})
	}
	slices.SortFunc(a.Below, func(x, y kustomize.Use) int { return strings.Compare(x.Path, y.Path) })
}

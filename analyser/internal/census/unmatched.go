package census

import (
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/ownership"
)

// unmatched notes what the user states about things that the census did not meet: most
// often a name with a mistake in it, which would otherwise change nothing in silence.
func (w *worklist) unmatched() {
	met := map[cluster.Name]bool{}
	for _, c := range w.clusters(&ownership.Result{}) {
		met[c.Name] = true
	}
	for _, s := range w.req.Clusters {
		if !met[s.Cluster] {
			w.note("The cluster %s was described, but nothing of this commit leads to a cluster of that name: what was said about it changes nothing.", s.Cluster)
		}
		if v := s.KustomizeControllerVersion; v != "" {
			if _, _, ok := majorMinor(strings.TrimPrefix(v, "v")); !ok {
				w.note("The version %q of kustomize-controller on %s is none, such as 1.9.6: it counts as a current one.", v, s.Cluster)
			}
		}
	}
	for _, m := range w.registry.Unused() {
		w.note("No kubeConfig on %s refers to %s %s/%s: the name %s for what it leads to is not used.", m.Controller, m.Kind, m.Namespace, m.Reference, m.Cluster)
	}
}

package html

import (
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// reconciled says, for the header, whether the clusters that reconcile this
// repository do so at the commit that was read. Without access to clusters
// nobody asked.
func reconciled(c *report.Census) string {
	var known []string
	for _, cluster := range c.Clusters {
		if words := cluster.Revision.Words(); words != "" {
			known = append(known, report.Printable(cluster.Name)+" "+words)
		}
	}
	switch {
	case len(known) > 0:
		return strings.Join(known, "; ")
	case c.Asked():
		return "not known: clusters were read, and none said what it reconciles from this repository"
	}
	return "not asked: no cluster was read, so the commit is what git says and no more"
}

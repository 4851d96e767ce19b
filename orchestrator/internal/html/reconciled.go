package html

import "github.com/gitops-reach/reach/orchestrator/internal/report"

// reconciled says, for the header, whether the clusters that reconcile this
// repository do so at the commit that was read. Without access to clusters
// nobody asked.
func reconciled(*report.Census) string {
	return "not asked: no cluster was read, so the commit is what git says and no more"
}

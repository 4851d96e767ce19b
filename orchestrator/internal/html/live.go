package html

import (
	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// How many live objects are in the page as text.
const shownForeign = 100

// liveView is what was seen on live clusters.
type liveView struct {
	// Clusters that were read.
	Clusters []liveCluster
	// Makers of objects beside what git declares.
	Makers []tally
	// Foreign are the first objects that nothing of Flux made; All counts records.
	Foreign []*report.LiveObject
	All     int
}

type liveCluster struct {
	report.Cluster
	// Reconciles says which revision its controllers reconcile.
	Reconciles string
	Failures   []report.Failure
}

// live is the view of live clusters, nil when none was asked.
func (p *page) live() *liveView {
	if !p.Census.Asked() {
		return nil
	}
	v := &liveView{
		Makers: tallies(p.Census.Counts.LiveObjectsByMaker, report.Makers), All: p.Census.Counts.LiveRecords,
		Foreign: p.Foreign[:min(shownForeign, len(p.Foreign))],
	}
	for _, c := range p.Census.Clusters {
		if len(c.Readings) > 0 || c.Revision != nil {
			v.Clusters = append(v.Clusters, liveCluster{Cluster: c, Reconciles: c.Revision.Words(), Failures: c.Failures()})
		}
	}
	return v
}

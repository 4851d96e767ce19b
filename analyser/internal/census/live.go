package census

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/ownership"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/platform"
)

// owners judges who owns the objects.
func (w *worklist) owners(objects []placement.Object) *ownership.Result {
	return ownership.Judge(ownership.Input{
		Observed: w.req.Observed, Applied: w.applied, Objects: objects, Commit: w.req.Commit, Scope: w.scope, Skipped: condition,
		Spoke: func(on cluster.Name, k observed.KubeConfig) cluster.Name {
			return w.spoke(on, controller.KubeConfigRef{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Key: k.Key})
		},
		Unnamed: w.registry.Unnamed,
	})
}

// rules are those that can look: the ones about live clusters only where
// somebody did.
func (w *worklist) rules() []*finding.Rule {
	rules := finding.Rules()
	if w.req.Observed == nil {
		return rules
	}
	rules = append(rules, finding.LiveRules()...)
	slices.SortStableFunc(rules, func(a, b *finding.Rule) int { return strings.Compare(a.Name, b.Name) })
	return rules
}

// tellLive fills in what was seen on a cluster.
func (w *worklist) tellLive(c *Cluster, owners *ownership.Result) {
	on := w.req.Observed.On(c.Name)
	if on == nil {
		return
	}
	answer := platform.Tell(on)
	c.Flavour, c.Platform, c.Signals, c.Observed = answer.Flavour, answer.Platform, answer.Signals, on
	c.Revision = owners.Revisions[c.Name]
}

// unmet notes clusters that facts are about and that the census does not meet.
func (w *worklist) unmet(met map[cluster.Name]bool) {
	for _, n := range w.req.Observed.Names() {
		if !met[n] {
			w.note("Facts are about the cluster %s, which this repository does not reach: a root or a spoke has another name, or none.", n)
		}
		on := w.req.Observed.On(n)
		if !on.Answered() {
			w.note("The cluster %s could not be read: %s.", n, cmp.Or(on.Access.Detail, string(on.Access.Outcome)))
		}
	}
}

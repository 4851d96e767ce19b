package markdown

import (
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// How many rows the page shows of what is long.
const (
	shownForeign = 50
	shownKinds   = 12
)

// verdicts counts objects by verdict, and says why there is none.
func (p *page) verdicts() {
	c := p.Census.Counts
	p.line("\nObjects: %d (%s).", c.Objects, tally(c.ObjectsByVerdict, []string{"in_inventory", "not_in_inventory", "abstain"}))
	if len(p.AbstainedFor) > 0 {
		p.line("Abstained because: %s.", tally(p.AbstainedFor, byCount(p.AbstainedFor)))
	}
}

// reconciled says on top which revision each cluster reconciles now.
func (p *page) reconciled() {
	for _, c := range p.Census.Clusters {
		if words := c.Revision.Words(); words != "" {
			p.line("Live: %s %s.", code(c.Name), plain(words))
		}
	}
}

// ownership is what was seen on live clusters.
func (p *page) ownership() {
	if !p.Census.Asked() {
		return
	}
	c := p.Census.Counts
	p.line("\n## Ownership")
	p.verdicts()
	if len(c.LiveObjectsByMaker) > 0 {
		p.line("Beside what git declares, by who made it: %s.", tally(c.LiveObjectsByMaker, report.Makers))
	}
	if len(p.Foreign) > 0 {
		p.head("object", "cluster", "made by", "evidence")
		for i, o := range p.Foreign {
			if i == shownForeign {
				break
			}
			ref := code(o.Ref())
			if o.Declared {
				ref += " (git declares it)"
			}
			p.row(ref, code(o.Cluster), plain(strings.TrimSpace(strings.ReplaceAll(o.Maker, "_", " ")+" "+o.MakerName)), plain(o.Evidence))
		}
		p.line("\nAll of them are in ownership.jsonl.")
	}
	p.head("cluster", "flavour", "platform", "what tells it", "read:")
	for _, cluster := range p.Census.Clusters {
		if len(cluster.Readings) > 0 {
			p.row(code(cluster.Name), plain(cluster.Flavour), plain(cluster.Platform), plain(cluster.Evidence), fmt.Sprint(cluster.Read()))
		}
	}
	p.notRead()
}

// notRead lists what could not be read.
func (p *page) notRead() {
	headed := false
	for _, cluster := range p.Census.Clusters {
		for _, f := range cluster.Failures() {
			if !headed {
				p.head("not read on", "why", "what:", "kinds")
				headed = true
			}
			kinds := f.Kinds
			more := ""
			if len(kinds) > shownKinds {
				kinds, more = kinds[:shownKinds], fmt.Sprintf(" and %d more", len(kinds)-shownKinds)
			}
			p.row(code(cluster.Name), plain(strings.TrimSuffix(strings.ReplaceAll(f.Outcome, "_", " ")+": "+f.Detail, ": ")), fmt.Sprint(len(f.Kinds)), codes(kinds)+more)
		}
	}
}

package markdown

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func (p *page) findings() {
	c := p.Census.Counts
	worst := report.Severities()
	slices.Reverse(worst)
	p.line("\n## Findings")
	p.line("\nFindings: %d (%s). Rules that found nothing are listed with 0.", c.Findings, tally(c.FindingsBySeverity, worst))
	p.head("rule", "severity", "findings:", "what it is")
	rules := slices.Clone(p.Census.Rules)
	slices.SortStableFunc(rules, func(a, b report.Rule) int {
		return cmp.Or(
			cmp.Compare(min(b.Count, 1), min(a.Count, 1)),
			cmp.Compare(report.SeverityRank(p.Worst(b.Rule)), report.SeverityRank(p.Worst(a.Rule))),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
	for _, r := range rules {
		p.row(code(r.Rule), cmp.Or(p.Worst(r.Rule), r.Severity), fmt.Sprint(r.Count), plain(r.Doc))
	}
	for _, r := range rules {
		if r.Count > 0 {
			p.rule(r)
		}
	}
}

func (p *page) rule(r report.Rule) {
	p.line("\n### %s\n", code(r.Rule))
	remedy := ""
	for _, f := range p.Examples[r.Rule] {
		at := code(f.Path)
		if f.Line > 0 {
			at = code(fmt.Sprintf("%s:%d", f.Path, f.Line))
		}
		if f.Cluster != "" {
			at += " on " + code(f.Cluster)
		}
		p.line("- **%s** %s: %s", f.Severity, at, plain(f.Message))
		if f.Remedy != remedy {
			remedy = f.Remedy
			p.line("  Remedy: %s", plain(f.Remedy))
		}
	}
	if more := r.Count - len(p.Examples[r.Rule]); more > 0 {
		p.line("- and %d more in findings.jsonl", more)
	}
}

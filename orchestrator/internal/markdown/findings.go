package markdown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func (p *page) findings() {
	c := p.Census.Counts
	worst := report.Severities()
	slices.Reverse(worst)
	p.line("\n## Findings")
	p.line("\nFindings: %d (%s). Rules that found nothing are listed with 0.", c.Findings, tally(c.FindingsBySeverity, worst))
	hidden := p.Census.HiddenWords()
	if hidden != "" {
		p.line("Hidden: %s; they are in hidden.jsonl.", hidden)
	}
	if b := p.Census.Review.Baseline; b.Format != "" {
		of := ""
		if b.Commit != "" {
			of = " of commit " + code(b.Commit)
		}
		p.line("Only what is new since the baseline%s is shown; %d of its %d findings are gone.", of, b.Gone, b.Findings)
	}
	if hidden == "" {
		p.head("rule", "severity", "findings:", "what it is")
	} else {
		p.head("rule", "severity", "findings:", "hidden:", "what it is")
	}
	rules := slices.Clone(p.Census.Rules)
	slices.SortStableFunc(rules, func(a, b report.Rule) int {
		return cmp.Or(
			cmp.Compare(min(b.Count, 1), min(a.Count, 1)),
			cmp.Compare(report.SeverityRank(p.Worst(b.Rule)), report.SeverityRank(p.Worst(a.Rule))),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
	for _, r := range rules {
		cells := []string{code(r.Rule), cmp.Or(p.Worst(r.Rule), r.Severity), fmt.Sprint(r.Count)}
		if hidden != "" {
			cells = append(cells, fmt.Sprint(r.Hidden))
		}
		p.row(append(cells, plain(r.Doc))...)
	}
	p.suppressions()
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
		at := code(place(f.Path, f.Line))
		if f.Cluster != "" {
			at += " on " + code(f.Cluster)
		}
		p.line("- **%s** %s: %s", f.Severity, at, plain(f.Message))
		if f.Remedy != remedy {
			remedy = f.Remedy
			p.line("  Remedy: %s", plain(f.Remedy))
		}
		p.facts(f.Facts)
	}
	if more := r.Count - len(p.Examples[r.Rule]); more > 0 {
		p.line("- and %d more in findings.jsonl", more)
	}
}

// suppressions lists what the configuration hides, the expired ones included.
func (p *page) suppressions() {
	review := p.Census.Review
	if len(review.Suppressions) == 0 {
		return
	}
	p.line("\nSuppressions of the configuration, as of %s:", review.AsOf)
	p.head("rule", "about", "hides:", "until", "reason")
	for _, s := range review.Suppressions {
		about := []string{}
		for _, pattern := range []string{s.Path, s.Object, s.Cluster} {
			if pattern != "" {
				about = append(about, code(pattern))
			}
		}
		until, hides := s.Expires, fmt.Sprint(s.Findings)
		if s.Expired {
			until, hides = "**expired** "+s.Expires, "0"
		}
		p.row(code(s.Rule), strings.Join(about, ", "), hides, until, plain(s.Reason))
	}
}

// oracle lists the Kustomizations on which the oracle does not agree.
func (p *page) oracle() {
	if !p.Header.Oracle.Asked() {
		return
	}
	p.line("\n## Oracle")
	p.line("\n%s.", p.Header.Oracle.Words())
	if len(p.Defects) == 0 {
		return
	}
	p.head("result", "Kustomization", "cluster", "ours", "theirs")
	for _, r := range p.Defects {
		p.row(plain(strings.ReplaceAll(r.Result, "_", " ")), code(r.Namespace+"/"+r.Name), code(r.Cluster), plain(r.Ours.Words()), plain(r.Theirs.Words()))
	}
	o := p.Header.Oracle
	if more := o.Kustomizations - o.Agree - len(p.Defects); more > 0 {
		p.line("\nand %d more in oracle.jsonl.", more)
	}
}

// shownFacts is how much of what stands side by side a page has.
const shownFacts = 6

// facts are what stands side by side, one below the other.
func (p *page) facts(facts []report.Fact) {
	for i, f := range facts {
		if i == shownFacts {
			p.line("  - and %d more in findings.jsonl", len(facts)-i)
			return
		}
		on := "repository"
		if f.Cluster != "" {
			on = code(f.Cluster)
		}
		at := ""
		if f.Path != "" {
			at = " (" + code(place(f.Path, f.Line)) + ")"
		}
		p.line("  - %s: %s%s", on, plain(f.Text), at)
	}
}

// place is "path:line", "path" when the line is not known.
func place(path string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", path, line)
	}
	return path
}

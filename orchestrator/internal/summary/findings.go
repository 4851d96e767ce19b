package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func (p *printer) findings(d *report.Digest) {
	c := d.Census.Counts
	worst := report.Severities()
	slices.Reverse(worst)
	var found, quiet []report.Rule
	for _, r := range d.Census.Rules {
		if r.Count > 0 {
			found = append(found, r)
		} else {
			quiet = append(quiet, r)
		}
	}
	p.heading("Findings", "%d: %s", c.Findings, tally(c.FindingsBySeverity, worst))
	slices.SortStableFunc(found, func(a, b report.Rule) int {
		return cmp.Or(
			cmp.Compare(report.SeverityRank(d.Worst(b.Rule)), report.SeverityRank(d.Worst(a.Rule))),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
	for i, r := range found {
		if i == shownRules {
			p.line("  and %s more in report.md", count(len(found)-shownRules, "rule"))
			break
		}
		examples := shownExamples
		if len(found) > 3 {
			examples = 1
		}
		p.rule(d, r, examples)
	}
	if len(quiet) > 0 {
		var names []string
		for _, r := range quiet {
			names = append(names, report.Printable(shortRule(r.Rule)))
		}
		p.text(2, "0 found by "+strings.Join(names, ", "))
	}
}

func shortRule(rule string) string { return strings.TrimPrefix(rule, "reach.") }

func (p *printer) rule(d *report.Digest, r report.Rule, examples int) {
	worst := report.Severities()
	slices.Reverse(worst)
	mixed := ""
	if len(d.Found[r.Rule]) > 1 {
		mixed = " (" + strings.ReplaceAll(tally(d.Found[r.Rule], worst), together, " ") + ")"
	}
	p.line("  %s %4d  %s%s", p.severity(d.Worst(r.Rule)), r.Count, p.paint(bold, report.Printable(r.Rule)), mixed)
	for i, f := range d.Examples[r.Rule] {
		if i == examples {
			break
		}
		p.text(16, report.Printable(where(f)+f.Message))
	}
}

func (p *printer) severity(s string) string {
	padded := fmt.Sprintf("%-7s", s)
	switch s {
	case "fatal", "error":
		return p.paint(red, padded)
	case "warning":
		return p.paint(yellow, padded)
	}
	return padded
}

// where is the place of a finding with a colon, as editors and terminals know
// it: "path:line: ".
func where(f *report.Finding) string {
	switch {
	case f.Path == "" && f.Cluster == "", f.Path != "" && f.Line == 0 && strings.Contains(f.Message, f.Path):
		// Nothing to say, or the message says it.
		return ""
	case f.Path == "":
		return f.Cluster + ": "
	case f.Line == 0:
		return f.Path + ": "
	}
	return fmt.Sprintf("%s:%d: ", f.Path, f.Line)
}

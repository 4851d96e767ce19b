package summary

import (
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// How many lines the summary shows of live clusters.
const (
	shownForeign = 6
	shownFailed  = 3
)

// reconciled says in the head which revision each cluster reconciles now.
func (p *printer) reconciled(d *report.Digest) {
	for _, c := range d.Census.Clusters {
		words := c.Revision.Words()
		if words == "" {
			continue
		}
		code := yellow
		if c.Revision.State == "current" {
			code = green
		}
		lead := report.Printable(c.Name)
		p.hang("  live       "+p.paint(code, lead)+" ", 14+len(lead), report.Printable(words))
	}
}

func (p *printer) ownership(d *report.Digest) {
	c := d.Census.Counts
	if !d.Census.Asked() && c.Objects-d.AbstainedFor["not_asked"] <= 0 {
		return
	}
	p.heading("Ownership", "%s", tally(c.ObjectsByVerdict, []string{"in_inventory", "not_in_inventory", "abstain"}))
	if len(d.AbstainedFor) > 0 {
		p.text(2, "abstained because: "+tally(d.AbstainedFor, byCount(d.AbstainedFor)))
	}
	if len(c.LiveObjectsByMaker) > 0 {
		p.text(2, "beside what git declares, by who made it: "+tally(c.LiveObjectsByMaker, report.Makers))
	}
	for i, o := range d.Foreign {
		if i == shownForeign {
			break
		}
		words := fmt.Sprintf("%s on %s", o.Ref(), o.Cluster)
		if o.Declared {
			words += ", which git declares"
		}
		if o.Evidence != "" {
			words += ": " + o.Evidence
		}
		p.hang(fmt.Sprintf("  %-14s", report.Printable(o.Maker)), 16, report.Printable(words))
	}
	if c.LiveRecords > 0 {
		p.line("  all of them in ownership.jsonl")
	}
	for _, cluster := range d.Census.Clusters {
		for i, f := range cluster.Failures() {
			if i == shownFailed {
				break
			}
			words := fmt.Sprintf("not read on %s, %s: %s", cluster.Name, strings.ReplaceAll(f.Outcome, "_", " "), some(f.Kinds, 4))
			if f.Detail != "" {
				words += " (" + f.Detail + ")"
			}
			p.text(2, report.Printable(words))
		}
	}
}

// some lists the first of names, and how many more there are.
func some(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

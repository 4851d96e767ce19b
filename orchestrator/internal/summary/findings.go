package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/rules"
)

// findings shows every severity, the worst first, and apart from mistakes what is
// for people to decide: however many rules found something, none is crowded out by
// another severity.
func (p *printer) findings(d *report.Digest) {
	c := d.Census.Counts
	var mistakes, questions []report.Rule
	var quiet []string
	asked := map[string]int{}
	for _, r := range d.Census.Rules {
		switch {
		case r.Count == 0 && r.Hidden == 0:
			quiet = append(quiet, report.Printable(shortRule(r.Rule)))
		case r.Count == 0:
		case rules.Find(r.Rule, r.Doc).Question:
			questions = append(questions, r)
			for severity, n := range d.Found[r.Rule] {
				asked[severity] += n
			}
		default:
			mistakes = append(mistakes, r)
		}
	}
	hidden := d.Census.HiddenWords()
	if hidden != "" {
		hidden = "; hidden: " + hidden
	}
	decide := ""
	if n := sum(asked); n > 0 {
		decide = fmt.Sprintf("; %d for you to decide, below", n)
	}
	p.heading("Findings", "%d: %s%s%s", c.Findings, tally(c.FindingsBySeverity, worstFirst()), decide, hidden)
	p.baseline(d)
	p.byRule(d, mistakes)
	if len(quiet) > 0 {
		p.text(2, "0 found by "+strings.Join(quiet, ", "))
	}
	if len(questions) > 0 {
		p.heading("For you to decide", "%s", tally(asked, worstFirst()))
		p.byRule(d, questions)
	}
}

func worstFirst() []string {
	out := report.Severities()
	slices.Reverse(out)
	return out
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// byRule shows a line a rule and examples of the first of each severity.
func (p *printer) byRule(d *report.Digest, found []report.Rule) {
	slices.SortStableFunc(found, func(a, b report.Rule) int {
		return cmp.Or(
			cmp.Compare(report.SeverityRank(d.Worst(b.Rule)), report.SeverityRank(d.Worst(a.Rule))),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
	shown, more := map[string]int{}, 0
	for _, r := range found {
		severity := d.Worst(r.Rule)
		shown[severity]++
		n := shown[severity]
		if n > shownRules {
			more++
			continue
		}
		examples := 0
		switch {
		case len(found) <= 3:
			examples = shownExamples
		case n <= explained[severity]:
			examples = 1
		}
		p.rule(d, r, examples)
	}
	if more > 0 {
		p.line("  and %s more in report.md", report.Plural(more, "rule"))
	}
}

func shortRule(rule string) string { return strings.TrimPrefix(rule, "reach.") }

func (p *printer) rule(d *report.Digest, r report.Rule, examples int) {
	mixed, n := "", r.Count
	if found := d.Found[r.Rule]; len(found) > 1 {
		// The number stands beside the worst severity, and counts only that.
		milder := maps.Clone(found)
		delete(milder, d.Worst(r.Rule))
		mixed, n = " (and "+strings.ReplaceAll(tally(milder, worstFirst()), together, " ")+")", found[d.Worst(r.Rule)]
	}
	p.line("  %s %4d  %s%s", p.severity(d.Worst(r.Rule)), n, p.paint(bold, report.Printable(r.Rule)), mixed)
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

// baseline says since when findings are shown, and which suppressions the reader
// has to think about.
func (p *printer) baseline(d *report.Digest) {
	review := d.Census.Review
	if b := review.Baseline; b.Format != "" {
		of := ""
		if b.Commit != "" {
			of = " of " + short(b.Commit)
		}
		p.text(2, fmt.Sprintf("only what is new since the baseline%s; %d of its %s gone", of, b.Gone, report.Plural(b.Findings, "finding")+are(b.Findings)))
	}
	// Files know the day of the commit; a reader also wants to know what has
	// expired since.
	today := ""
	if !p.Now.IsZero() {
		today = p.Now.UTC().Format("2006-01-02")
	}
	since := 0
	for _, s := range review.Suppressions {
		if !s.Expired && today > s.Expires {
			since++
		}
	}
	if since > 0 {
		p.text(2, fmt.Sprintf("%s expired between %s, as of which this was judged, and today: see --as-of", report.Plural(since, "suppression"), review.AsOf))
	}
}

func are(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// shownDefects is how many Kustomizations on which the oracle does not agree are
// named.
const shownDefects = 10

func (p *printer) oracle(d *report.Digest) {
	o := d.Header.Oracle
	if !o.Asked() {
		return
	}
	p.heading("Oracle", "%s", o.Words())
	for i, r := range d.Defects {
		if i == shownDefects {
			p.line("  and %d more in oracle.jsonl", o.Kustomizations-o.Agree-shownDefects)
			break
		}
		p.hang(fmt.Sprintf("  %-13s  ", strings.ReplaceAll(r.Result, "_", " ")), 17, report.Printable(fmt.Sprintf(
			"%s/%s on %s: ours %s; theirs %s", r.Namespace, r.Name, cmp.Or(r.Cluster, "a cluster that they do not name"), r.Ours.Words(), r.Theirs.Words())))
	}
}

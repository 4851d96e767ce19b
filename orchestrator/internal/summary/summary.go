// Package summary shows a census on a terminal: what a person needs to know in
// half a minute, and where the rest lies.
//
// It is a rendering of report.Digest. The age of the commit appears here and
// nowhere else, since it depends on when one looks.
package summary

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Options say where the summary is shown.
type Options struct {
	// Width of the lines in columns; 0 means that nothing limits it: text is
	// then wrapped at 100 and tables are as wide as they need.
	Width int
	// Color allows escape sequences for colour.
	Color bool
	// Now is when the reader looks; the zero time leaves the age out.
	Now time.Time
	// Folder that holds the report, and the file with the mapping of aliases;
	// empty when there is none.
	Folder, AliasFile string
}

// printer writes lines and remembers the first error.
type printer struct {
	Options
	out io.Writer
	err error
	// tableWidth is the width of tables; Width that of text, which is harder to
	// read when it is long.
	tableWidth int
}

// Text writes the summary of a whole census.
func Text(w io.Writer, d *report.Digest, o Options) error {
	lines := bufio.NewWriter(w)
	p := &printer{Options: o, out: lines, tableWidth: 1 << 20}
	if o.Width > 0 {
		p.tableWidth = max(o.Width, 40)
	}
	p.Width = min(p.tableWidth, 100)
	p.commit(d)
	p.reconciled(d)
	p.clusters(d)
	p.coverage(d)
	p.placements(d)
	p.kustomizations(d)
	p.ownership(d)
	p.oracle(d)
	p.findings(d)
	p.notAnalysed(d)
	p.notes(d)
	p.end()
	if p.err != nil {
		return p.err
	}
	return lines.Flush()
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// heading starts a section: the title, and its result in the same line.
func (p *printer) heading(title, format string, args ...any) {
	p.line("")
	text := fmt.Sprintf(format, args...)
	lines := wrap(text, p.Width-len(title)-2)
	p.line("%s  %s", p.paint(bold, title), lines[0])
	for _, l := range lines[1:] {
		p.line("%s%s", strings.Repeat(" ", len(title)+2), l)
	}
}

// text writes words at an indentation, wrapped to the width.
func (p *printer) text(indent int, s string) {
	for _, l := range wrap(s, p.Width-indent) {
		p.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// The escape sequences of the few colours in use.
const (
	bold   = "1"
	red    = "31"
	yellow = "33"
	green  = "32"
	dim    = "2"
)

func (p *printer) paint(code, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *printer) commit(d *report.Digest) {
	h := d.Header
	revision := ""
	if h.Revision != h.Commit {
		revision = " (" + report.Printable(h.Revision) + ")"
	}
	p.line("%s %s at %s%s", p.paint(bold, "Census of"), p.paint(bold, report.Printable(h.Repository)), short(h.Commit), revision)
	p.line("  committed  %s", committed(h.CommitTime, p.Now))
	p.seal(h.Walls)
	switch {
	case h.Names == "real":
		p.line("  names      %s", p.paint(yellow, "real: this output is for your own eyes"))
	case p.AliasFile != "":
		p.fact("names", "aliases; what they stand for is in "+report.Printable(p.AliasFile))
	default:
		p.fact("names", "aliases")
	}
	if h.Shallow {
		p.fact("clone", "shallow: what is absent is reported as absent, not as missing")
	}
	if h.Partial {
		p.fact("clone", "partial: what is absent is reported as absent, not as missing")
	}
}

// fact is a line of the head of the summary.
func (p *printer) fact(name, s string) { p.hang(fmt.Sprintf("  %-11s", name), 13, s) }

func short(commit string) string { return commit[:min(12, len(commit))] }

// committed says when, and how long ago.
func committed(text string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return report.Printable(text)
	}
	day := t.Format("2006-01-02 15:04 UTC")
	if now.IsZero() {
		return day
	}
	return day + ", " + Age(now.Sub(t))
}

// Age says how long ago in one unit, rounded down.
func Age(d time.Duration) string {
	switch {
	case d < -time.Minute:
		return "in the future by this machine's clock"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return ago(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return ago(int(d.Hours()), "hour")
	case d < 60*24*time.Hour:
		return ago(int(d.Hours()/24), "day")
	case d < 730*24*time.Hour:
		return ago(int(d.Hours()/24/30.44), "month")
	}
	return ago(int(d.Hours()/24/365.25), "year")
}

func ago(n int, unit string) string { return report.Plural(n, unit) + " ago" }

func (p *printer) seal(walls []report.Wall) {
	var stand []string
	for _, w := range walls {
		if w.Stands {
			stand = append(stand, report.Printable(w.Name))
		}
	}
	switch len(stand) {
	case len(walls):
		p.line("  seal       %s: %s", p.paint(green, "all walls stand"), strings.Join(stand, ", "))
	case 0:
		p.line("  seal       %s", p.paint(red, "no wall stands"))
	default:
		p.fact("seal", strings.Join(stand, ", ")+" stand")
	}
	for _, w := range walls {
		if !w.Stands {
			lead := "not standing: " + report.Printable(w.Name)
			p.hang("             "+p.paint(yellow, lead)+": ", 15+len(lead), report.Printable(w.Detail))
		}
	}
}

func (p *printer) end() {
	if p.Folder != "" {
		p.line("")
		p.line("%s  %s", p.paint(bold, "Report"), report.Printable(p.Folder))
		p.text(8, "report.html to read, report.md to paste; census.json and *.jsonl for tools")
	}
}

// Package html renders a census as report.html: one file that needs nothing but
// a browser. It loads nothing from anywhere, which a content security policy in
// the page enforces, and can be read without scripts: summaries, tables, the
// picture and the first rows of each list are in the page as text. A script
// adds search and filters over all rows, which the page carries once, as
// numbers over interned strings.
//
// It is a report.Handler. The page does not depend on the time of the run: the
// age of the commit is worked out by the reader's own clock.
//
// Names and paths come from a repository that may be hostile: html/template
// escapes them in the page, encoding/json in the data, and the script writes
// text, never markup.
package html

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"

	"github.com/gitops-reach/reach/orchestrator/internal/diagram"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/rules"
)

// Page is report.html.
func Page() report.Page { return report.Page{File: report.HTMLFile, Render: New, Own: own} }

//go:embed assets
var assets embed.FS

// asset is a file of the page; all are part of the program.
func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/head.tmpl", "assets/parts.tmpl", "assets/live.tmpl"))
})

// Prepare does what the first page needs once, ahead of it. It may run beside
// anything else.
func Prepare() {
	// A template is escaped when it is first used, before anything is written.
	_ = pages().ExecuteTemplate(refusing{}, "head.tmpl", nil)
	_ = policy()
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// own is the text of the program itself in the page.
func own() string {
	return asset("head.tmpl") + asset("parts.tmpl") + asset("rows.tmpl") + asset("live.tmpl") + asset("style.css") + asset("app.js") + rules.Text + glossaryText()
}

// New returns the handler that has written the page to w when End returns.
func New(w io.Writer) report.Handler { return &page{out: bufio.NewWriterSize(w, 64<<10)} }

type page struct {
	report.Digest
	topology diagram.Collector
	out      *bufio.Writer
	tables   *tables
	// What the page shows as text, before any script.
	findings []*report.Finding
	files    []*report.File
	placed   map[string][]*report.Placement
	unowned  []*report.Object
	objects  []*report.Object
	verdicts map[string]map[string]int
	sets     sets
	nUnowned int
}

// How much of each list is in the page as text: what is shown at once, and what
// a browser without scripts shows as well.
const (
	shownFindings   = 150
	shownFiles      = 40
	shownPlacements = 20
	shownObjects    = 60
	shownRows       = 1500
	plainRows       = 1000
)

// Begin starts a page.
func (p *page) Begin(h *report.Header) error {
	p.tables = newTables()
	p.findings, p.files, p.objects, p.unowned, p.nUnowned = nil, nil, nil, nil, 0
	p.placed, p.verdicts = map[string][]*report.Placement{}, map[string]map[string]int{}
	p.sets = newSets()
	if err := p.topology.Begin(h); err != nil {
		return err
	}
	return p.Digest.Begin(h)
}

// Placement keeps one.
func (p *page) Placement(r *report.Placement) error {
	p.tables.addPlacement(r)
	if mine, ok := p.placed[r.Path]; ok || len(p.placed) < plainRows {
		if len(mine) < shownPlacements {
			p.placed[r.Path] = append(mine, r)
		}
	}
	p.sets.class.add(r.Class)
	p.sets.cluster.add(r.Cluster)
	if err := p.topology.Placement(r); err != nil {
		return err
	}
	return p.Digest.Placement(r)
}

// Object keeps one.
func (p *page) Object(r *report.Object) error {
	p.tables.addObject(r)
	if len(p.objects) < plainRows {
		p.objects = append(p.objects, r)
	}
	if p.verdicts[r.Cluster] == nil {
		p.verdicts[r.Cluster] = map[string]int{}
	}
	p.verdicts[r.Cluster][r.Verdict]++
	if r.Verdict == "not_in_inventory" {
		if p.nUnowned++; len(p.unowned) < shownObjects {
			p.unowned = append(p.unowned, r)
		}
	}
	p.sets.verdict.add(r.Verdict)
	p.sets.owner.add(r.Cluster)
	return p.Digest.Object(r)
}

// File keeps one.
func (p *page) File(r *report.File) error {
	p.tables.addFile(r)
	if len(p.files) < plainRows {
		p.files = append(p.files, r)
	}
	p.sets.analysis.add(r.Analysis)
	return p.Digest.File(r)
}

// Finding keeps one.
func (p *page) Finding(r *report.Finding) error {
	p.tables.addFinding(r)
	if len(p.findings) < plainRows {
		p.findings = append(p.findings, r)
	}
	p.sets.severity.add(r.Severity)
	p.sets.rule.add(r.Rule)
	return p.Digest.Finding(r)
}

// End writes the page.
func (p *page) End(c *report.Census) error {
	if err := p.Digest.End(c); err != nil {
		return err
	}
	if err := p.topology.End(c); err != nil {
		return err
	}
	p.tables.join()
	v := p.view()
	stop := make(chan struct{})
	defer close(stop)
	v.Plain.FileItems = ahead(v.Plain.Files, (*markup).file, stop)
	v.Plain.ObjectRows = ahead(v.Plain.Objects, (*markup).object, stop)
	if err := pages().ExecuteTemplate(p.out, "head.tmpl", v); err != nil {
		return err
	}
	p.out.WriteString("<script type=\"application/json\" id=\"data\">")
	if err := p.tables.write(p.out, p.ruleRows()); err != nil {
		return err
	}
	p.out.WriteString("</script>\n<script>" + script + "</script>\n</body>\n</html>\n")
	return p.out.Flush()
}

func (p *page) ruleRows() []ruleRow {
	rows := []ruleRow{}
	for _, r := range p.Census.Rules {
		known := rules.Find(r.Rule, r.Doc)
		rows = append(rows, ruleRow{r.Rule, known.Question, known.Consequence})
	}
	return rows
}

var (
	script = asset("app.js")
	style  = asset("style.css")
	// policy lets the page's own script and style run and nothing be loaded.
	policy = sync.OnceValue(func() string {
		return "default-src 'none'; base-uri 'none'; form-action 'none'; script-src '" + digest(script) + "'; style-src '" + digest(style) + "'"
	})
)

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

package html

import (
	"html/template"
	"slices"
	"strconv"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// The rows of long lists are written here rather than by a template, which takes
// ten times as long: a page holds thousands of them, and is most of what a census
// of a small repository waits for. assets/rows.tmpl says the same as templates;
// a test compares the two.

// markup is a piece of the page that is being written.
type markup []byte

// Everything but what raw adds is escaped as html/template escapes text and
// quoted attributes, after show.
func (m *markup) raw(s string) { *m = append(*m, s...) }

// text adds what a repository says.
func (m *markup) text(s string) { m.escaped(report.Printable(s)) }

// words adds a word of the contract.
func (m *markup) words(s string) { m.escaped(words(s)) }

// where adds a place that may break after each slash.
func (m *markup) where(path string, line int) { m.raw(string(steps(path, line))) }

// place adds "path:line".
func (m *markup) place(p string, line int) { m.escaped(place(p, line)) }

func (m *markup) number(n int) { *m = strconv.AppendInt(*m, int64(n), 10) }

func (m *markup) escaped(s string) {
	done := 0
	for i := range len(s) {
		var with string
		switch s[i] {
		case 0:
			with = "\ufffd"
		case '"':
			with = "&#34;"
		case '&':
			with = "&amp;"
		case '\'':
			with = "&#39;"
		case '+':
			with = "&#43;"
		case '<':
			with = "&lt;"
		case '>':
			with = "&gt;"
		default:
			continue
		}
		*m = append(append(*m, s[done:i]...), with...)
		done = i + 1
	}
	*m = append(*m, s[done:]...)
}

// html is the piece, of which everything is escaped.
func (m *markup) html() template.HTML { return template.HTML(*m) }

// traceRow is the way from a file to a cluster.
func traceRow(hops []report.Hop) template.HTML {
	var m markup
	m.trace(hops)
	return m.html()
}

func (m *markup) trace(hops []report.Hop) {
	m.raw(`<ol class="trace">`)
	for i := range hops {
		h := &hops[i]
		m.raw(`<li><span class="hop">`)
		m.text(h.Kind)
		m.raw(`</span>`)
		if h.Name != "" {
			m.raw(` <b>`)
			m.text(h.Name)
			m.raw(`</b>`)
		}
		if h.Path != "" {
			m.raw(` <code>`)
			m.place(h.Path, h.Line)
			m.raw(`</code>`)
		}
		if h.Cluster != "" && h.Cluster != h.Name {
			m.on(h.Cluster)
		}
		m.raw(`</li>`)
	}
	m.raw(`</ol>`)
}

func (m *markup) on(cluster string) {
	m.raw(` <span class="on">on `)
	m.text(cluster)
	m.raw(`</span>`)
}

// detail adds ": detail", or nothing.
func (m *markup) detail(s string) {
	if s != "" {
		m.raw(": ")
		m.text(s)
	}
}

// Rows are written ahead of what a page writes before them: so many at once, so
// many times.
const (
	rowsAtOnce  = 32
	piecesAhead = 4
)

// ahead writes rows beside the rest of a page and sends them in their order. It
// ends with stop.
func ahead[T any](rows []T, write func(*markup, T), stop <-chan struct{}) <-chan template.HTML {
	pieces := make(chan template.HTML, piecesAhead)
	go func() {
		defer close(pieces)
		var m markup
		for some := range slices.Chunk(rows, rowsAtOnce) {
			m = m[:0]
			for _, row := range some {
				write(&m, row)
			}
			select {
			case pieces <- m.html():
			case <-stop:
				return
			}
		}
	}()
	return pieces
}

// fileItem is a file and where it lands.
func fileItem(f fileRow) template.HTML {
	m := make(markup, 0, 1<<10)
	m.file(f)
	return m.html()
}

func (m *markup) file(f fileRow) {
	m.raw("\n<li><details><summary><code class=\"path\">")
	m.text(f.Path)
	m.raw(`</code> <span class="about">`)
	m.words(f.Role)
	m.raw(", ")
	m.words(f.Analysis)
	m.raw(`</span>`)
	for _, land := range f.Lands {
		m.raw(` <span class="land">`)
		m.text(land)
		m.raw(`</span>`)
	}
	if f.More > 0 {
		m.raw(` <span class="land">and `)
		m.number(f.More)
		m.raw(` more</span>`)
	}
	m.raw(`</summary>`)
	if f.Reason != "" {
		m.raw(`<p>`)
		m.words(f.Reason)
		m.detail(f.Detail)
		m.raw(`</p>`)
	}
	for _, p := range f.Placements {
		m.placement(p)
	}
	if f.More > 0 {
		m.raw(`<p>`)
		m.number(f.More)
		m.raw(` more in placements.jsonl.</p>`)
	}
	m.raw("</details></li>\n")
}

func (m *markup) placement(p *report.Placement) {
	m.raw(`<div class="placement"><p><strong class="tag c-`)
	m.escaped(p.Class)
	m.raw(`">`)
	m.words(p.Class)
	m.raw(`</strong>`)
	if p.Cluster != "" {
		m.raw(` on <b>`)
		m.text(p.Cluster)
		m.raw(`</b>`)
	}
	if p.Controller != "" {
		m.raw(` by `)
		m.text(p.Controller)
	}
	m.raw(` (`)
	m.words(p.Role)
	if p.State != "" && p.State != "resolved" {
		m.raw(", ")
		m.words(p.State)
	}
	if p.Reason != "" {
		m.raw(", ")
		m.words(p.Reason)
	}
	m.raw(`)`)
	m.detail(p.Detail)
	m.raw(`</p>`)
	if len(p.Trace) > 0 {
		m.trace(p.Trace)
	}
	m.raw(`</div>`)
}

// objectRow is an object, who applies it, and the verdict.
func objectRow(o *report.Object) template.HTML {
	m := make(markup, 0, 512)
	m.object(o)
	return m.html()
}

func (m *markup) object(o *report.Object) {
	m.raw(`<tr><th scope="row"><span class="kind">`)
	m.text(o.Kind)
	m.raw(`</span> `)
	m.named(o.Namespace, o.Name)
	m.raw(`</th><td>`)
	m.text(o.Cluster)
	m.raw(`</td><td>`)
	m.text(o.ControllerKind)
	m.raw(` `)
	m.text(o.Controller)
	if o.ControllerCluster != o.Cluster {
		m.raw(` on `)
		m.text(o.ControllerCluster)
	}
	m.raw(`</td><td>`)
	m.words(o.Verdict)
	if o.Reason != "" {
		m.raw(": ")
		m.words(o.Reason)
	}
	m.raw(`</td><td>`)
	for i, at := range o.Origin {
		if i > 0 {
			m.raw(`<br>`)
		}
		m.raw(`<code>`)
		m.where(at.Path, at.Line)
		m.raw(`</code>`)
	}
	m.raw(`</td></tr>`)
}

func (m *markup) named(namespace, name string) {
	if namespace != "" {
		m.text(namespace)
		m.raw(`/`)
	}
	m.text(name)
}

// findingItem is a finding with its facts and its trace.
func findingItem(f *report.Finding) template.HTML {
	m := make(markup, 0, 1<<10)
	m.raw("\n<li class=\"finding s-")
	m.escaped(f.Severity)
	m.raw(`"><p class="where"><span class="sev s-`)
	m.escaped(f.Severity)
	m.raw(`">`)
	m.escaped(f.Severity)
	m.raw(`</span> `)
	if f.Path != "" {
		m.raw(`<code>`)
		m.place(f.Path, f.Line)
		m.raw(`</code>`)
	}
	if f.Cluster != "" {
		m.on(f.Cluster)
	}
	if f.Kind != "" {
		m.raw(` <span class="on">`)
		m.text(f.Kind)
		m.raw(` `)
		m.named(f.Namespace, f.Name)
		m.raw(`</span>`)
	}
	m.raw("</p>\n<p>")
	m.text(f.Message)
	m.raw(`</p>`)
	if f.Remedy != "" {
		m.raw(`<p><b>Remedy:</b> `)
		m.text(f.Remedy)
		m.raw(`</p>`)
	}
	if len(f.Facts) > 0 {
		m.facts(f)
	}
	if len(f.Trace) > 0 {
		m.raw(`<details><summary>How it gets there, `)
		m.number(len(f.Trace))
		m.raw(` steps</summary>`)
		m.trace(f.Trace)
		m.raw(`</details>`)
	}
	m.raw("</li>\n")
	return m.html()
}

// facts puts what differs side by side.
func (m *markup) facts(f *report.Finding) {
	m.raw(`<div class="scroll" role="region" aria-label="Side by side: `)
	if f.Path != "" {
		m.text(f.Path)
		m.raw(`:`)
		m.number(f.Line)
		m.raw(` `)
	}
	m.text(f.Message)
	m.raw(`" tabindex="0"><table class="sides"><caption>Side by side</caption><thead><tr><th scope="col">On</th><th scope="col">What is so</th><th scope="col" class="long-text">Written in</th></tr></thead><tbody>`)
	for _, fact := range f.Facts {
		m.raw(`<tr><th scope="row">`)
		if fact.Cluster != "" {
			m.text(fact.Cluster)
		} else {
			m.raw(`repository`)
		}
		m.raw(`</th><td>`)
		m.text(fact.Text)
		m.raw(`</td><td>`)
		if fact.Path != "" {
			m.raw(`<code>`)
			m.where(fact.Path, fact.Line)
			m.raw(`</code>`)
		}
		m.raw(`</td></tr>`)
	}
	m.raw(`</tbody></table></div>`)
}

package cli

import (
	"io"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/diagram"
	"github.com/gitops-reach/reach/orchestrator/internal/html"
	"github.com/gitops-reach/reach/orchestrator/internal/junit"
	"github.com/gitops-reach/reach/orchestrator/internal/markdown"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/sarif"
	"github.com/gitops-reach/reach/orchestrator/internal/schema"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// pages are the files of a report folder beside its data.
func pages() []report.Page {
	return []report.Page{
		html.Page(), markdown.Page(), sarif.Page(), junit.Page(), diagram.DOT(), diagram.Mermaid(), schema.Page(),
	}
}

// prepare does what the first messages and pages need once, ahead of them.
func prepare() {
	reachv1.Prepare()
	html.Prepare()
}

// renderers write a census in the formats of reach report, each byte for byte
// the page of the folder.
var renderers = map[string]func(io.Writer) report.Handler{
	"html": html.New, "md": markdown.New, "markdown": markdown.New, "sarif": sarif.New, "junit": junit.New,
	"dot": diagram.NewDOT, "mermaid": diagram.NewMermaid, "schema": schema.New,
}

// reportFormats are the formats of reach report in the order in which they are
// named to people.
var reportFormats = []string{"text", "html", "md", "json", "sarif", "junit", "dot", "mermaid", "schema"}

// pageChecks look for real names in the pages, which also hold words of the
// program.
func pageChecks(check *alias.Check) []report.PageCheck {
	var out []report.PageCheck
	for _, p := range pages() {
		if p.Own != nil {
			out = append(out, report.PageCheck{File: p.File, Prose: check.Without(p.Own()).Prose})
		}
	}
	return out
}

// Package schema has the JSON Schema of every data file that reach reads or
// writes. Those of a report (draft 2020-12) are derived from the structs of the
// contract and their comments, that of facts from the protocol, and tests fail
// when they say anything else: `go test ./orchestrator/internal/schema -update`
// writes them anew. The others are written by hand, and tests hold them against
// what the readers take.
//
// A report has one document, schema.json. It describes census.json, which names
// it under "$schema"; each record of the other files has an anchor there, which
// census.json names beside the file. Other documents name their schema by its
// $id, ID.
package schema

import (
	"embed"
	"io"
	"path"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Deriving takes parsing Go and reflection, 5 ms of every census.
//
//go:embed files/*.json
var files embed.FS

// Kinds are the data files that have a schema, and what they are.
var Kinds = []struct{ Name, Title string }{
	{"census", "the data files of a report, as in its schema.json"},
	{"config", "reach.yaml, for --config"},
	{"aliases", "the alias file, beside a report"},
	{"oracle", "what reach oracle writes and --oracle reads"},
	{"facts", "a line of what --save-facts writes and --facts reads"},
	{"stats", "what --stats writes"},
}

// ID is the $id of the schema of a kind of file.
func ID(kind string) string { return "urn:gitops-reach:reach." + kind + ":v1" }

// Of is the schema of a kind of file; ok is false when there is none.
func Of(kind string) (document string, ok bool) {
	data, err := files.ReadFile(path.Join("files", kind+".json"))
	return string(data), err == nil && !strings.Contains(kind, "/")
}

// Page is schema.json.
func Page() report.Page {
	return report.Page{File: report.SchemaFile, Render: New, Own: Document}
}

// New returns the handler that has written the schema to w when End returns.
func New(w io.Writer) report.Handler { return &page{out: w} }

type page struct {
	report.Ignore
	out io.Writer
}

// End writes the schema.
func (p *page) End(*report.Census) error {
	_, err := io.WriteString(p.out, Document())
	return err
}

// Document is schema.json. Fields that a later minor version adds are allowed.
func Document() string {
	document, _ := Of("census")
	return document
}

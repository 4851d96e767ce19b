// Package schema has the JSON Schema (draft 2020-12) of every data file of a
// report. It is derived from the structs of the contract and their comments, and
// a test fails when it says anything else: `go test ./orchestrator/internal/schema
// -update` writes it anew.
//
// There is one document, schema.json. It describes census.json, which names it
// under "$schema"; each record of the other files has an anchor there, which
// census.json names beside the file.
package schema

import (
	_ "embed"
	"io"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Deriving it takes parsing Go and reflection, 5 ms of every census.
//
//go:embed schema.json
var document string

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
	_, err := io.WriteString(p.out, document)
	return err
}

// Document is schema.json. Fields that a later minor version adds are allowed.
func Document() string { return document }

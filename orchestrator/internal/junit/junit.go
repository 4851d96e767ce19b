// Package junit renders the findings of a census as JUnit XML, which CI systems
// show beside their tests: a suite for each rule, a case for each finding. Fatal
// ones and errors are failures; milder ones are skipped cases, which are shown
// and fail nothing. A rule that found nothing is one case that passed.
package junit

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/rules"
)

// Page is report.junit.xml.
func Page() report.Page { return report.Page{File: report.JUnitFile, Render: New, Own: own} }

func own() string {
	return rules.Text + " xml version encoding UTF-8 testsuites testsuite testcase name classname tests failures skipped" +
		" errors failure type message properties property value file line nothing new found known suppressed until"
}

// New returns the handler that has written the document to w when End returns.
func New(w io.Writer) report.Handler { return &writer{out: bufio.NewWriter(w)} }

type writer struct {
	report.Ignore
	out      *bufio.Writer
	header   report.Header
	findings map[string][]*report.Finding
	hidden   map[string][]*report.Hidden
}

// Begin keeps the header.
func (w *writer) Begin(h *report.Header) error {
	w.header, w.findings, w.hidden = *h, map[string][]*report.Finding{}, map[string][]*report.Hidden{}
	return nil
}

// Finding keeps one.
func (w *writer) Finding(f *report.Finding) error {
	w.findings[f.Rule] = append(w.findings[f.Rule], f)
	return nil
}

// Hidden keeps what a suppression hides: a case that is skipped, whatever its
// severity. What the baseline knows is counted in a property of its suite.
func (w *writer) Hidden(h *report.Hidden) error {
	if h.By == "suppression" {
		w.hidden[h.Rule] = append(w.hidden[h.Rule], h)
	}
	return nil
}

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Errors   int      `xml:"errors,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Errors     int        `xml:"errors,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	File    string   `xml:"file,attr,omitempty"`
	Line    int      `xml:"line,attr,omitempty"`
	Failure *outcome `xml:"failure"`
	Skipped *outcome `xml:"skipped"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// End writes the document.
func (w *writer) End(c *report.Census) error {
	all := suites{Name: "reach census of " + report.Printable(w.header.Repository)}
	for _, r := range c.Rules {
		s := w.suite(r)
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Skipped += s.Skipped
	}
	w.out.WriteString(xml.Header)
	encoder := xml.NewEncoder(w.out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	w.out.WriteByte('\n')
	return w.out.Flush()
}

func (w *writer) suite(r report.Rule) suite {
	s := suite{Name: r.Rule, Properties: []property{{"commit", w.header.Commit}, {"doc", report.Printable(r.Doc)}}}
	for _, f := range w.findings[r.Rule] {
		s.Cases = append(s.Cases, convert(f))
	}
	for _, h := range w.hidden[r.Rule] {
		c := convert(&h.Finding)
		c.Failure = nil
		c.Skipped = &outcome{Message: "suppressed until " + h.Expires + ": " + report.Printable(h.Reason) + " (" + h.Severity + ": " + report.Printable(h.Message) + ")"}
		s.Cases = append(s.Cases, c)
	}
	known := r.Hidden - len(w.hidden[r.Rule])
	if known > 0 {
		s.Properties = append(s.Properties, property{"known", fmt.Sprint(known)})
	}
	if len(s.Cases) == 0 {
		name := "nothing found"
		if known > 0 {
			name = "nothing new found"
		}
		s.Cases = []testCase{{Class: r.Rule, Name: name}}
	}
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	return s
}

func convert(f *report.Finding) testCase {
	c := testCase{Class: f.Rule, Name: name(f), File: report.Printable(f.Path), Line: f.Line}
	text := []string{report.Printable(f.Message)}
	if f.Remedy != "" {
		text = append(text, "Remedy: "+report.Printable(f.Remedy))
	}
	for _, h := range f.Trace {
		text = append(text, "  "+hop(h))
	}
	message := f.Severity + ": " + report.Printable(f.Message)
	if report.SeverityRank(f.Severity) >= report.SeverityRank("error") {
		c.Failure = &outcome{Message: message, Type: f.Severity, Text: strings.Join(text, "\n")}
	} else {
		c.Skipped = &outcome{Message: message}
	}
	return c
}

// name tells the cases of a rule apart.
func name(f *report.Finding) string {
	at := f.Path
	if f.Path != "" && f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	parts := []string{}
	for _, p := range []string{at, strings.TrimSpace(f.Kind + " " + strings.TrimPrefix(f.Namespace+"/"+f.Name, "/")), f.Var} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if f.Cluster != "" {
		parts = append(parts, "on "+f.Cluster)
	}
	if len(parts) == 0 {
		return "the repository"
	}
	return report.Printable(strings.Join(parts, " "))
}

func hop(h report.Hop) string {
	out := h.Kind
	if h.Name != "" {
		out += " " + h.Name
	}
	if h.Path != "" {
		out += " " + h.Path
		if h.Line > 0 {
			out += fmt.Sprintf(":%d", h.Line)
		}
	}
	if h.Cluster != "" && h.Cluster != h.Name {
		out += " on " + h.Cluster
	}
	return report.Printable(out)
}

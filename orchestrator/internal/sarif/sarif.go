// Package sarif renders the findings of a census in the Static Analysis Results
// Interchange Format, version 2.1.0 (OASIS), in the manner that code scanning
// services read: rules with help, one result a finding, located at the source
// line, with a fingerprint that stays when lines move.
//
// A result holds the names that the report holds: aliases, unless real names
// were asked for. Paths are those of the report, too: with aliases in them a
// service cannot show the line beside the result.
package sarif

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/rules"
)

// Page is report.sarif.
func Page() report.Page { return report.Page{File: report.SARIFFile, Render: New, Own: own} }

func own() string {
	return rules.Text + strings.Join([]string{
		schemaURI, informationURI, fingerprint, "version level kind text markdown ruleId ruleIndex message locations " +
			"startLine region artifactLocation uri uriBaseId SRCROOT physicalLocation logicalLocations fullyQualifiedName " +
			"suppressions external status accepted justification until findingsSuppressed findingsKnown codeFlows threadFlows relatedLocations properties precision tags security-severity problem severity driver",
	}, "\n")
}

const (
	schemaURI      = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	informationURI = "https://github.com/gitops-reach/reach"
	fingerprint    = "reachFinding/v1"
	base           = "SRCROOT"
	// mostResults is what code scanning takes in one run; the worst come first.
	mostResults = 25_000
)

// New returns the handler that has written the log to w when End returns.
func New(w io.Writer) report.Handler { return &writer{out: bufio.NewWriter(w)} }

type writer struct {
	report.Ignore
	out      *bufio.Writer
	header   report.Header
	findings []*report.Finding
	// hidden are those that a suppression hides.
	hidden []*report.Hidden
}

// Begin keeps the header.
func (w *writer) Begin(h *report.Header) error {
	w.header, w.findings, w.hidden = *h, nil, nil
	return nil
}

// Finding keeps one.
func (w *writer) Finding(f *report.Finding) error {
	w.findings = append(w.findings, f)
	return nil
}

// Hidden keeps what a suppression hides. What the baseline knows is not in the
// log: it is counted in the properties of the run.
func (w *writer) Hidden(h *report.Hidden) error {
	if h.By == "suppression" {
		w.hidden = append(w.hidden, h)
	}
	return nil
}

// End writes the log.
func (w *writer) End(c *report.Census) error {
	log := log{Schema: schemaURI, Version: "2.1.0", Runs: []run{w.run(c)}}
	encoder := json.NewEncoder(w.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(log); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *writer) run(c *report.Census) run {
	r := run{
		ColumnKind:        "unicodeCodePoints",
		AutomationDetails: &automation{ID: "reach/" + w.header.Repository + "/"},
		Properties: map[string]any{
			"commit": w.header.Commit, "names": w.header.Names,
			"files": c.Counts.Files, "analysable": c.Counts.Analysable,
			"findingsSuppressed": c.Counts.FindingsSuppressed, "findingsKnown": c.Counts.FindingsKnown,
		},
		Results: []result{},
	}
	d := &r.Tool.Driver
	d.Name, d.Version, d.InformationURI = "reach", w.header.Tool.Version, informationURI
	d.SemanticVersion = semantic(w.header.Tool.Version)
	d.Rules = []rule{}
	index := map[string]int{}
	for _, known := range c.Rules {
		index[known.Rule] = len(d.Rules)
		d.Rules = append(d.Rules, describe(known))
	}
	var known report.Fingerprints
	if more := len(w.findings) + len(w.hidden) - mostResults; more > 0 {
		r.Properties["resultsLeftOut"] = more
		w.findings = w.findings[:min(len(w.findings), mostResults)]
		w.hidden = w.hidden[:min(len(w.hidden), mostResults-len(w.findings))]
	}
	add := func(f *report.Finding) *result {
		if _, ok := index[f.Rule]; !ok {
			index[f.Rule] = len(d.Rules)
			d.Rules = append(d.Rules, describe(report.Rule{Rule: f.Rule, Severity: f.Severity}))
		}
		r.Results = append(r.Results, convert(f, index[f.Rule], &known))
		return &r.Results[len(r.Results)-1]
	}
	for _, f := range w.findings {
		add(f)
	}
	for _, h := range w.hidden {
		add(&h.Finding).Suppressions = []suppression{{
			Kind: "external", Status: "accepted", Justification: words(h.Reason) + " (until " + h.Expires + ")",
		}}
	}
	return r
}

// semantic is a version as semver.org has it, or "".
func semantic(version string) string {
	v := strings.TrimPrefix(version, "v")
	core, _, _ := strings.Cut(v, "-")
	if strings.Count(core, ".") != 2 || strings.Trim(core, "0123456789.") != "" {
		return ""
	}
	return v
}

func describe(r report.Rule) rule {
	known := rules.Find(r.Rule, r.Doc)
	doc := cmp.Or(r.Doc, known.What, r.Rule)
	out := rule{
		ID: r.Rule, Name: pascal(r.Rule),
		ShortDescription: message{Text: sentence(known.Title)},
		FullDescription:  message{Text: doc},
		Properties: ruleProperties{
			Tags: tags(known), Precision: "very-high", Problem: problem(r.Severity),
		},
	}
	out.DefaultConfiguration.Level = level(r.Severity)
	text, markdown := []string{doc}, []string{doc}
	for _, part := range []struct{ title, text string }{
		{"Why it matters", known.Why}, {"Consequence", known.Consequence}, {"Remedy", known.Remedy},
	} {
		if part.text != "" {
			text = append(text, part.title+": "+part.text)
			markdown = append(markdown, "**"+part.title+"**: "+part.text)
		}
	}
	if known.Example != "" {
		text = append(text, "Example:\n"+known.Example)
		markdown = append(markdown, "**Example**\n\n```yaml\n"+known.Example+"\n```")
	}
	out.Help = &message{Text: strings.Join(text, "\n\n"), Markdown: strings.Join(markdown, "\n\n")}
	return out
}

func tags(r rules.Rule) []string {
	out := []string{"gitops"}
	if parts := strings.Split(r.Rule, "."); len(parts) > 2 {
		out = append(out, parts[1])
	}
	if r.Question {
		out = append(out, "question")
	}
	return out
}

func sentence(s string) string {
	if s == "" {
		return "A finding"
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// pascal is the readable identifier that SARIF wants: FluxPathMissing.
func pascal(rule string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(rule, "reach."), func(r rune) bool { return r == '.' || r == '_' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// level is SARIF's word for a severity.
func level(severity string) string {
	switch severity {
	case "fatal", "error":
		return "error"
	case "warning":
		return "warning"
	}
	return "note"
}

// problem is the word that code scanning sorts by.
func problem(severity string) string {
	switch severity {
	case "fatal", "error":
		return "error"
	case "warning":
		return "warning"
	}
	return "recommendation"
}

func convert(f *report.Finding, index int, known *report.Fingerprints) result {
	text := words(f.Message)
	if f.Remedy != "" {
		text += " Remedy: " + words(f.Remedy)
	}
	r := result{
		RuleID: f.Rule, RuleIndex: index, Level: level(f.Severity), Message: message{Text: text},
		// A report of an earlier version names none.
		Fingerprints: map[string]string{fingerprint: cmp.Or(f.Fingerprint, known.Of(f))},
		Properties: map[string]any{
			"severity": f.Severity, "count": f.Count,
		},
	}
	r.PartialFingerprints = r.Fingerprints
	here := place(f.Path, f.Line, "")
	if here == nil {
		// Services drop a result without a file. What is about the whole
		// repository stands at its root.
		here = &location{Physical: &physical{Artifact: artifact{URI: ".", BaseID: base}}}
	}
	if f.Name != "" {
		here.Logical = []logical{{
			Name: f.Name, Kind: "object", FullyQualified: strings.TrimPrefix(strings.Join([]string{f.Cluster, f.Kind, f.Namespace, f.Name}, "/"), "/"),
		}}
	}
	r.Locations = []location{*here}
	r.CodeFlows = flow(f.Trace)
	r.Related = related(f.Facts)
	return r
}

// words are a text for people. SARIF reads "[text](target)" as a link, which
// nothing in a repository may make.
func words(s string) string { return strings.ReplaceAll(report.Printable(s), "](", "] (") }

// flow is a trace as the steps that a viewer walks through, from the cluster's
// root to the file as far as they have a place.
func flow(trace []report.Hop) []codeFlow {
	steps := []step{}
	for _, h := range slices.Backward(trace) {
		text := h.Kind
		if h.Name != "" {
			text += " " + words(h.Name)
		}
		if h.Cluster != "" && h.Cluster != h.Name {
			text += " on " + words(h.Cluster)
		}
		if at := place(h.Path, h.Line, text); at != nil {
			steps = append(steps, step{Location: *at})
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return []codeFlow{{ThreadFlows: []threadFlow{{Locations: steps}}}}
}

// related are the places of what stands side by side; a fact without a place is
// part of the message in other formats only.
func related(facts []report.Fact) []location {
	var out []location
	for _, f := range facts {
		text := words(f.Text)
		if f.Cluster != "" {
			text = words(f.Cluster) + ": " + text
		}
		if at := place(f.Path, f.Line, text); at != nil {
			out = append(out, *at)
		}
	}
	return out
}

// place is a location, nil without a path.
func place(path string, line int, text string) *location {
	if path == "" {
		return nil
	}
	out := &location{Physical: &physical{Artifact: artifact{URI: uri(path), BaseID: base}}}
	if line > 0 {
		out.Physical.Region = &region{StartLine: line}
	}
	if text != "" {
		out.Message = &message{Text: text}
	}
	return out
}

// uri is a path of the repository as a relative reference (RFC 3986).
func uri(path string) string {
	u := (&url.URL{Path: path}).EscapedPath()
	if first, _, _ := strings.Cut(u, "/"); strings.Contains(first, ":") {
		return "./" + u
	}
	return u
}

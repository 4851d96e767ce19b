package diagram

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// DOT is topology.dot.
func DOT() report.Page {
	return report.Page{File: report.DOTFile, Render: NewDOT, Own: func() string {
		return "digraph reach rankdir LR node edge shape box folder style rounded dashed label peripheries fontname fontsize sans serif repository cluster unknown on an"
	}}
}

// Mermaid is topology.mmd.
func Mermaid() report.Page {
	return report.Page{File: report.MermaidFile, Render: NewMermaid, Own: func() string {
		return "flowchart LR br repository cluster unknown on an"
	}}
}

// NewDOT returns a handler that has written the topology in Graphviz's language
// to w when its End returns.
func NewDOT(w io.Writer) report.Handler { return &page{write: writeDOT, out: bufio.NewWriter(w)} }

// NewMermaid does so as a Mermaid flowchart.
func NewMermaid(w io.Writer) report.Handler {
	return &page{write: writeMermaid, out: bufio.NewWriter(w)}
}

type page struct {
	Collector
	write func(*bufio.Writer, *Topology)
	out   *bufio.Writer
}

// End writes the page.
func (p *page) End(c *report.Census) error {
	if err := p.Collector.End(c); err != nil {
		return err
	}
	p.write(p.out, &p.Topology)
	return p.out.Flush()
}

func writeDOT(w *bufio.Writer, t *Topology) {
	fmt.Fprint(w, "digraph reach {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	fmt.Fprintf(w, "  repository [shape=folder, label=%s];\n", dot(append([]string{t.Repository}, t.nowhere()...)...))
	id := map[string]string{"": "repository"}
	for i, n := range t.Nodes {
		id[n.Name] = fmt.Sprintf("c%d", i+1)
		style := ""
		if n.Role == "hub" {
			style = ", peripheries=2"
		}
		fmt.Fprintf(w, "  %s [label=%s%s];\n", id[n.Name], dot(n.Name, n.Role), style)
	}
	for _, a := range t.arrows() {
		style := ""
		if a.unresolved() {
			style = ", style=dashed"
		}
		fmt.Fprintf(w, "  %s -> %s [label=%s%s];\n", id[a.from], id[a.to], dot(a.label()...), style)
	}
	fmt.Fprint(w, "}\n")
}

var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// dot quotes lines as one string.
func dot(lines ...string) string {
	quoted := make([]string, len(lines))
	for i, l := range lines {
		quoted[i] = quotes.Replace(report.Printable(l))
	}
	return `"` + strings.Join(quoted, `\n`) + `"`
}

func writeMermaid(w *bufio.Writer, t *Topology) {
	fmt.Fprint(w, "flowchart LR\n")
	fmt.Fprintf(w, "  repository[(%s)]\n", mermaid(append([]string{t.Repository}, t.nowhere()...)...))
	id := map[string]string{"": "repository"}
	for i, n := range t.Nodes {
		id[n.Name] = fmt.Sprintf("c%d", i+1)
		left, right := "(", ")"
		if n.Role == "hub" {
			left, right = "[[", "]]"
		}
		fmt.Fprintf(w, "  %s%s%s%s\n", id[n.Name], left, mermaid(n.Name, n.Role), right)
	}
	for _, a := range t.arrows() {
		line := "-->"
		if a.unresolved() {
			line = "-.->"
		}
		fmt.Fprintf(w, "  %s %s|%s| %s\n", id[a.from], line, mermaid(a.label()...), id[a.to])
	}
}

// mermaid quotes lines as one string: what has a meaning to Mermaid or HTML becomes an
// entity as Mermaid writes them.
func mermaid(lines ...string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i, l := range lines {
		if i > 0 {
			out.WriteString("<br/>")
		}
		for _, r := range report.Printable(l) {
			switch {
			case strings.ContainsRune("\"#;<>&`\\[](){}|*~%$@", r):
				fmt.Fprintf(&out, "#%d;", r)
			default:
				out.WriteRune(r)
			}
		}
	}
	out.WriteByte('"')
	return out.String()
}

// nowhere says what reaches no cluster.
func (t *Topology) nowhere() []string {
	var out []string
	if t.Uncovered > 0 {
		out = append(out, fmt.Sprintf("%d uncovered", t.Uncovered))
	}
	if t.Unplaced > 0 {
		out = append(out, fmt.Sprintf("%d on an unknown cluster", t.Unplaced))
	}
	return out
}

func (a arrow) label() []string {
	out := make([]string, len(a.flows))
	for i, f := range a.flows {
		out[i] = fmt.Sprintf("%d %s", f.Count, f.Class)
	}
	return out
}

// unresolved reports whether nothing of it is known to arrive.
func (a arrow) unresolved() bool {
	for _, f := range a.flows {
		if f.Class != "unresolved" {
			return false
		}
	}
	return true
}

package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// maxLandings bounds the ways that the text shows of one build.
const maxLandings = 20

// Text writes the explanation for people.
func Text(w io.Writer, e *Explanation) error {
	t := &text{}
	t.line("%s", e.Object)
	switch n := len(e.Object.Clusters); {
	case n == 1:
		t.line("on %s", e.Object.Clusters[0])
	case e.Contents == 1:
		t.line("on %d clusters, the same on all", n)
	default:
		t.line("on %d clusters, with %d different contents", n, e.Contents)
	}
	for i, b := range e.Builds {
		t.build(e, i, b)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// text collects lines.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) {
	fmt.Fprintln(&t.Builder, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *text) build(e *Explanation, i int, b Build) {
	t.line("")
	head := fmt.Sprintf("Build %d of %d", i+1, len(e.Builds))
	if e.Contents > 1 {
		head += fmt.Sprintf(", content %d", b.Content)
	}
	t.line("%s: %s", head, clusterNames(b))
	for i, l := range b.Landings {
		if i == maxLandings {
			t.line("  and %d more", len(b.Landings)-i)
			break
		}
		t.landing(l)
	}
	if len(b.Steps) > 0 {
		t.line("  built by")
		t.hops(b.Steps)
	}
	if !b.Traced {
		t.line("  It cannot be said which step set what: another object makes this one, or its build fails and it is shown as written.")
	}
	t.line("")
	switch {
	case len(b.Fields) > 0:
	case e.Field != "":
		t.line("  It has no field %s.", report.Printable(e.Field))
	case b.Traced:
		t.line("  Nothing but its own document sets a field.")
	}
	for _, f := range b.Fields {
		t.field(f)
	}
	if b.FieldsOmitted > 0 {
		t.line("  and %d more fields: ask for one with --field", b.FieldsOmitted)
	}
}

func clusterNames(b Build) string {
	var names []string
	for i, l := range b.Landings {
		if i == maxLandings {
			names = append(names, fmt.Sprintf("and %d more", len(b.Landings)-i))
			break
		}
		names = append(names, report.Printable(l.Cluster))
	}
	return strings.Join(names, ", ")
}

func (t *text) landing(l Landing) {
	state := ""
	if l.State != "resolved" {
		state = ": " + l.State
		if l.Detail != "" {
			state += ", " + l.Detail
		}
	}
	t.line("  to %s, %s%s", report.Printable(l.Cluster), l.Class, report.Printable(state))
	t.hops(l.Chain)
}

func (t *text) hops(hops []Hop) {
	for _, h := range hops {
		t.line("    %-13s %s", h.Kind, joined(report.Printable(h.Name), place(h.Path, h.Line)))
	}
}

func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "  ")
}

func place(path string, line int32) string {
	if path = report.Printable(path); path == "" || line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(int(line))
}

func (t *text) field(f Field) {
	t.line("  %s", report.Printable(f.Path))
	sign, value := "=", "(removed)"
	if f.Value != nil {
		value = f.Value.String()
	} else {
		sign = "-"
	}
	t.value(sign, value, f.By)
	for _, o := range f.Overridden {
		t.value("<", o.Value.String(), o.By)
	}
}

func (t *text) value(sign, value string, by Origin) {
	t.line("    %s %s", sign, value)
	t.line("        %s", joined(by.name(), place(by.Path, by.Line)))
	for _, v := range by.Variables {
		from := v.From
		if from == "" {
			from = "nothing in the repository sets it"
		}
		t.line("        ${%s}  %s", report.Printable(v.Name), joined(report.Printable(from), place(v.Path, v.Line)))
	}
}

// name is what set a value, for people.
func (o Origin) name() string {
	switch {
	case o.Kind == "document":
		return "file"
	case o.Kind == "patch", o.Kind == "substitution", o.What == "":
		return o.Kind
	}
	return o.What
}

// String is the value on one line.
func (v Value) String() string {
	switch s := report.Printable(v.Text); {
	case v.Secret:
		return "(secret)"
	case v.UnknownVariable != "":
		return s + "  (unknown variable " + report.Printable(v.UnknownVariable) + ")"
	case v.Truncated:
		return s + " ..."
	case v.Text == "" && v.Type == "str", strings.TrimSpace(s) != s:
		return strconv.Quote(v.Text)
	case v.Text == "":
		return "null"
	default:
		return s
	}
}

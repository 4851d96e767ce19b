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
	t.line("%s", whereabouts(e))
	for i, b := range e.Builds {
		t.build(e, i, b)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// whereabouts says on which clusters the object is, and on which its builds fail.
func whereabouts(e *Explanation) string {
	built, failed := map[string]bool{}, []string{}
	for _, b := range e.Builds {
		for _, l := range b.Landings {
			built[l.Cluster] = built[l.Cluster] || b.Failure == nil
		}
	}
	var on []string
	for _, c := range e.Object.Clusters {
		if works, ok := built[c]; ok && !works {
			failed = append(failed, report.Printable(c))
		} else {
			on = append(on, report.Printable(c))
		}
	}
	out := ""
	switch n := len(on); {
	case n == 0:
		out = "on no cluster"
	case n == 1:
		out = "on " + on[0]
	case e.Contents == 1:
		out = fmt.Sprintf("on %d clusters, the same on all", n)
	default:
		out = fmt.Sprintf("on %d clusters, with %d different contents", n, e.Contents)
	}
	if n := len(failed); n > maxLandings {
		out += fmt.Sprintf("; its build fails on %d clusters", n)
	} else if n > 0 {
		out += "; its build fails on " + strings.Join(failed, ", ")
	}
	return out
}

// text collects lines.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) {
	fmt.Fprintln(&t.Builder, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *text) build(e *Explanation, i int, b Build) {
	t.line("")
	head := fmt.Sprintf("Build %d of %d", i+1, len(e.Builds))
	if e.Contents > 1 && b.Content > 0 {
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
	t.failure(b)
	if len(b.Steps) > 0 {
		if b.Form == "as_written" {
			t.line("  written in")
		} else {
			t.line("  built by")
		}
		t.hops(b.Steps)
	}
	if !b.Traced && b.Form != "as_written" {
		t.line("  It cannot be said which step set what: another object makes this one.")
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

// failure says that nothing of a build arrives, why, and what is shown instead.
func (t *text) failure(b Build) {
	if b.Failure == nil {
		return
	}
	t.line("  This build fails, so that nothing of it is applied:")
	t.line("    %s", joined(report.Printable(b.Failure.Message), place(b.Failure.Path, b.Failure.Line)))
	if b.Form == "as_written" {
		t.line("  The object is shown as it is written in git, not as a build made it: what patches,")
		t.line("  transformers and variables would make of it is not known.")
		return
	}
	t.line("  The object is shown as kustomize built it, before the step that fails.")
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

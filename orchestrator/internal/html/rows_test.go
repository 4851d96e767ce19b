package html

import (
	"html/template"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/quick"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// rowTemplates are the rows as templates, escaped by html/template.
func rowTemplates(t *testing.T) *template.Template {
	t.Helper()
	set, err := template.New("").Funcs(functions).ParseFS(assets, "assets/rows.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func compareRow(t *testing.T, set *template.Template, name string, data any, got template.HTML) {
	t.Helper()
	var want strings.Builder
	if err := set.ExecuteTemplate(&want, name, data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("%s of %+v: the template (-) and rows.go (+) differ:\n%s", name, data, diff)
	}
}

// compareRows compares every row of a census.
func compareRows(t *testing.T, set *template.Template, p *report.Placement, f *report.File, o *report.Object, found *report.Finding) {
	t.Helper()
	for _, more := range []int{-1, 0, 3} {
		row := fileRow{File: f, Lands: []string{landing(p), p.Detail}, More: more, Placements: []*report.Placement{p, p}}
		compareRow(t, set, "file", row, fileItem(row))
	}
	compareRow(t, set, "trace", p.Trace, traceRow(p.Trace))
	compareRow(t, set, "object", o, objectRow(o))
	compareRow(t, set, "finding", found, findingItem(found))
}

// TestRows: rows.go writes what html/template writes, whatever the values are.
func TestRows(t *testing.T) {
	set := rowTemplates(t)
	same := func(p report.Placement, f report.File, o report.Object, found report.Finding) bool {
		compareRows(t, set, &p, &f, &o, &found)
		return !t.Failed()
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

// TestRowsOfNames: the same for values as they are, with each field empty once.
func TestRowsOfNames(t *testing.T) {
	set := rowTemplates(t)
	for _, name := range []string{"quiet", `a+b=c&d"e'f<g>h` + "\x00\u202e\xff`" + `/x_y`, "", "<b>"} {
		p := report.Placement{Path: name, Role: name, Class: name, Cluster: name, Controller: name, State: "resolved", Reason: name, Detail: name, Trace: []report.Hop{
			{Kind: name, Path: name, Line: 3, Name: name, Cluster: name}, {Kind: name, Name: name, Cluster: "x"}, {},
		}}
		f := report.File{Path: name, Role: name, Analysis: name, Reason: name, Detail: name}
		o := report.Object{Kind: name, Namespace: name, Name: name, Cluster: name, ControllerCluster: "x", Controller: name, Verdict: name, Reason: name, Origin: []report.Location{{Path: name, Line: 1}, {Path: name}}}
		found := report.Finding{Rule: name, Severity: name, Path: name, Line: 4, Cluster: name, Kind: name, Namespace: name, Name: name, Message: name, Remedy: name, Trace: p.Trace, Facts: []report.Fact{{Cluster: name, Text: name, Path: name, Line: 2}, {}}}
		compareRows(t, set, &p, &f, &o, &found)
		for _, record := range []any{&p, &f, &o, &found} {
			v := reflect.ValueOf(record).Elem()
			for i := range v.NumField() {
				if kept := reflect.ValueOf(v.Field(i).Interface()); kept.IsValid() {
					v.Field(i).SetZero()
					compareRows(t, set, &p, &f, &o, &found)
					v.Field(i).Set(kept)
				}
			}
		}
	}
}

// Rows that are written ahead are those that are asked for, in their order, and
// nothing is left behind when nobody asks.
func TestAhead(t *testing.T) {
	write := func(m *markup, n int) { m.number(n); m.raw(" ") }
	for _, n := range []int{0, 1, rowsAtOnce, rowsAtOnce*(piecesAhead+3) + 1} {
		var rows []int
		var want, got strings.Builder
		for i := range n {
			rows = append(rows, i)
			want.WriteString(strconv.Itoa(i) + " ")
		}
		for piece := range ahead(rows, write, nil) {
			got.WriteString(string(piece))
		}
		if got.String() != want.String() {
			t.Errorf("%d rows: got %q", n, got.String())
		}
		// The bubble wants every goroutine to end.
		synctest.Test(t, func(*testing.T) {
			stop := make(chan struct{})
			<-ahead(rows, write, stop)
			synctest.Wait()
			close(stop)
		})
	}
}

package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a census in which every file has a line.
func small() []any {
	h := Header{
		Schema: Schema, Tool: Tool{"reach", "0", "0"}, Names: "alias", Repository: "repository", Revision: "HEAD",
		Commit: strings.Repeat("a", 40), CommitTime: "2025-11-30T10:53:20Z", Walls: []Wall{{"imports", true, "checked"}},
	}
	return []any{
		&h,
		&Kustomization{Cluster: "hub-1", Name: "apps", State: "failed", Reason: "build_failed", Trace: []Hop{{Kind: "file", Path: "a", Line: 3}}, Live: &LiveState{Ready: "True", Detail: "hub-1"}},
		&HelmRelease{Cluster: "hub-1", Name: "web", Trace: []Hop{}},
		&Placement{Path: "a|b.yaml", Class: "local", Cluster: "hub-1", Trace: []Hop{}},
		&Object{Cluster: "hub-1", Kind: "Route", Group: "route.openshift.io", Origin: []Location{{"a", 1}}, Verdict: "abstain", Reason: "not_asked"},
		&LiveObject{Cluster: "hub-1", Kind: "ConfigMap", Name: "a", Verdict: "not_in_inventory", Maker: "kubectl", Count: 1},
		&File{Path: "<a>.yaml", Analysis: "unresolved", Reason: "build_failed"},
		&Finding{Rule: "reach.flux.build_failed", Severity: "error", Path: "a", Line: 3, Count: 1, Message: "it `fails`", Trace: []Hop{}},
		&Hidden{By: "suppression", Reason: "it is on its way", Expires: "2025-12-01", Finding: Finding{Rule: "reach.flux.build_failed", Severity: "error", Path: "b", Message: "it fails", Trace: []Hop{}}},
		&CoverageRow{Root: "clusters/hub-1", Clusters: []string{"hub-1"}, Cluster: "hub-1", Files: 1, Unresolved: 1, SeenNotAnalysed: map[string]int{"Route.route.openshift.io": 1}},
		&OracleRow{Cluster: "hub-1", Name: "apps", Result: "differ", Differs: []string{"target"}, Ours: Side{Class: "local", Target: "hub-1"}, Theirs: Side{Class: "local", Target: "hub-2"}, Trace: []Hop{}},
		&Census{
			Header: h, Clusters: []Cluster{{Name: "hub-1", Role: "hub", Controllers: []string{}}},
			Roots:  []Root{{Cluster: "hub-1", Path: "clusters/hub-1"}},
			Counts: Counts{PlacementsByClass: map[string]int{"local": 1}, KustomizationsByState: map[string]int{}, ObjectsByVerdict: map[string]int{}, FindingsBySeverity: map[string]int{"error": 1}, NotConsidered: map[string]int{".md": 1}},
			Rules:  []Rule{{Rule: "reach.flux.build_failed", Severity: "error", Count: 1, Hidden: 1, Doc: "A build that fails."}},
			Packs:  []Pack{{Name: "openshift", Objects: 1, Kinds: map[string]int{"Route.route.openshift.io": 1}}},
			Review: Review{AsOf: "2025-11-30", Suppressions: []Suppression{{Rule: "reach.*", Path: "a/**", Reason: "it is on its way", Expires: "2025-12-01", Findings: 1}}},
			Notes:  []string{"a note"}, Data: []DataFile{},
		},
	}
}

// testPage is a page with the repository's name, or one that fails.
func testPage(fail error) Page {
	return Page{File: MarkdownFile, Render: func(w io.Writer) Handler { return &endPage{w: w, fail: fail} }}
}

type endPage struct {
	Ignore
	w    io.Writer
	fail error
}

func (p *endPage) End(c *Census) error {
	fmt.Fprintf(p.w, "# %s\n", c.Repository)
	return p.fail
}

func write(t *testing.T, target string, records []any) *Folder {
	t.Helper()
	f, err := Create(target, testPage(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Discard)
	for _, r := range records {
		if err := Dispatch(f, r); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// collector keeps every record.
type collector struct{ records []any }

func (c *collector) keep(r any) error                     { c.records = append(c.records, r); return nil }
func (c *collector) Begin(r *Header) error                { return c.keep(r) }
func (c *collector) Kustomization(r *Kustomization) error { return c.keep(r) }
func (c *collector) HelmRelease(r *HelmRelease) error     { return c.keep(r) }
func (c *collector) Placement(r *Placement) error         { return c.keep(r) }
func (c *collector) Object(r *Object) error               { return c.keep(r) }
func (c *collector) Live(r *LiveObject) error             { return c.keep(r) }
func (c *collector) File(r *File) error                   { return c.keep(r) }
func (c *collector) Finding(r *Finding) error             { return c.keep(r) }
func (c *collector) Hidden(r *Hidden) error               { return c.keep(r) }
func (c *collector) Oracle(r *OracleRow) error            { return c.keep(r) }
func (c *collector) Coverage(r *CoverageRow) error        { return c.keep(r) }
func (c *collector) End(r *Census) error                  { return c.keep(r) }

// TestReplay: what was written is read back, record by record.
func TestReplay(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	records := small()
	if err := write(t, target, records).Publish(); err != nil {
		t.Fatal(err)
	}
	var got collector
	if err := Replay(target, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, got.records); diff != "" {
		t.Errorf("(-written +read)\n%s", diff)
	}

	// A torn report is none.
	name := filepath.Join(target, FilesFile)
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Replay(target, Ignore{}); err == nil || !strings.Contains(err.Error(), "has 0 lines and should have 1") {
		t.Errorf("a report without its lines: %v", err)
	}
	if err := os.WriteFile(name, []byte("{}\n{]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Replay(target, Ignore{}); err == nil || !strings.Contains(err.Error(), FilesFile+":2: ") {
		t.Errorf("a report with a broken line: %v", err)
	}
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		out = append(out, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDiscard: a report that is given up at any record leaves nothing, and the
// one that was there stays.
func TestDiscard(t *testing.T) {
	for _, there := range []bool{false, true} {
		for n := range len(small()) + 1 {
			dir := t.TempDir()
			target := filepath.Join(dir, "deep", "er", "out")
			if there {
				if err := write(t, target, small()).Publish(); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, dir)
			f := write(t, target, small()[:n])
			if len(tree(t, dir)) <= len(before) {
				t.Fatal("nothing was written, so nothing is shown")
			}
			f.Discard()
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("after %d records (report there: %v): (-before +after)\n%s", n, there, diff)
			}
		}
	}
}

// TestPublish replaces a report as a whole and leaves nothing beside it.
func TestPublish(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "out")
	for _, name := range []string{"first", "second"} {
		records := small()
		records[len(records)-1].(*Census).Repository = name
		f := write(t, target, records)
		if err := f.Publish(); err != nil {
			t.Fatal(err)
		}
		f.Discard()
		text, err := os.ReadFile(filepath.Join(target, MarkdownFile))
		if err != nil || string(text) != "# "+name+"\n" {
			t.Errorf("report.md is %q, %v", text, err)
		}
		// The folder above, the report, census.json and one page.
		if got, want := len(tree(t, dir)), 2+2+len(DataFiles()); got != want {
			t.Errorf("%d entries, want %d: %v", got, want, tree(t, dir))
		}
	}
}

func TestSwapInTwoSteps(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, d := range []string{a, b} {
		if err := os.MkdirAll(filepath.Join(d, "was-"+filepath.Base(d)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := swapInTwoSteps(a, b); err != nil {
		t.Fatal(err)
	}
	want := []string{".", "a", "a/was-b", "b", "b/was-a"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := swapInTwoSteps(filepath.Join(dir, "gone"), b); err == nil {
		t.Error("a folder that is not there was swapped")
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("a failed swap was not undone: %s", diff)
	}
}

// TestPageFails: an error of a page is an error of the report.
func TestPageFails(t *testing.T) {
	broken := errors.New("broken page")
	f, err := Create(filepath.Join(t.TempDir(), "out"), testPage(broken))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	records := small()
	if err := Dispatch(f, records[len(records)-1]); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestLeaks plants a name into every field of every record that may hold one,
// and into the page, and wants it found at the right file.
func TestLeaks(t *testing.T) {
	has := func(s string) []string {
		if strings.Contains(s, "secretname") {
			return []string{"secretname"}
		}
		return nil
	}
	leaks := func(records []any, page string) error {
		f := write(t, filepath.Join(t.TempDir(), "out"), records)
		if page != "" {
			if err := os.WriteFile(filepath.Join(f.Dir(), MarkdownFile), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		found, err := Leaks(f.Dir(), has, has)
		if err == nil && len(found) > 0 {
			err = &found[0]
		}
		return err
	}
	if err := leaks(small(), ""); err != nil {
		t.Fatalf("a clean report: %v", err)
	}
	wantFiles := append([]string{""}, dataFiles...)
	wantFiles = append(wantFiles, CensusFile)
	planted := 0
	for i := range small() {
		if i == 0 {
			continue // the header is in the census again
		}
		fields := 0
		Names(small()[i], func(string) { fields++ })
		for field := range fields {
			records := small()
			n := 0
			Rename(records[i], func(s string) string {
				if n++; n == field+1 {
					return s + "/secretname"
				}
				return s
			})
			if n <= field {
				t.Fatalf("%s: Names and Rename do not see the same fields", wantFiles[i])
			}
			if row, ok := records[i].(*CoverageRow); ok && !strings.Contains(fmt.Sprint(row), "secretname") {
				// Rename made Cluster of Clusters again.
				row.Cluster = "secretname"
			}
			planted++
			var leak *LeakError
			if err := leaks(records, ""); !errors.As(err, &leak) || leak.File != wantFiles[i] {
				t.Errorf("%s, field %d: got %v", wantFiles[i], field, err)
			}
		}
	}
	if planted < 60 {
		t.Errorf("only %d names were planted", planted)
	}
	var leak *LeakError
	if err := leaks(small(), "# a\n\nsecretname\n"); !errors.As(err, &leak) || leak.File != MarkdownFile || leak.Line != 3 {
		t.Errorf("in the page: got %v", err)
	}
	if strings.Contains(leak.Error(), "secretname") {
		t.Errorf("the error repeats the name: %v", leak)
	}
}

// TestLeakInUnknownField: what the check cannot look at is refused.
func TestLeakInUnknownField(t *testing.T) {
	f := write(t, filepath.Join(t.TempDir(), "out"), small())
	name := filepath.Join(f.Dir(), FilesFile)
	if err := os.WriteFile(name, []byte(`{"path":"a","extra":"secretname"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	none := func(string) []string { return nil }
	if _, err := Leaks(f.Dir(), none, none); err == nil || !strings.Contains(err.Error(), "extra") {
		t.Errorf("got %v", err)
	}
}

// TestWordsAreNotNames: a field that holds words is left alone only as long as
// it looks like a word.
func TestWordsAreNotNames(t *testing.T) {
	r := &Object{Kind: "prod-eu", Version: "v1", Verdict: "abstain", Reason: "because of prod-eu", Cluster: "prod-eu"}
	Rename(r, func(s string) string { return strings.ReplaceAll(s, "prod-eu", "x") })
	want := &Object{Kind: "x", Version: "v1", Verdict: "abstain", Reason: "because of x", Cluster: "x"}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	row := &CoverageRow{Clusters: []string{"b", "a"}, SeenNotAnalysed: map[string]int{"A": 1, "B": 2}}
	Rename(row, func(s string) string { return "same" })
	if row.Cluster != "same,same" || !reflect.DeepEqual(row.SeenNotAnalysed, map[string]int{"same": 3}) {
		t.Errorf("got %+v", row)
	}
}

func TestCheckTarget(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "report")
	if err := write(t, report, small()).Publish(); err != nil {
		t.Fatal(err)
	}
	if err := CheckTarget(report); err != nil {
		t.Errorf("a report: %v", err)
	}
	if err := os.Symlink(report, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	// A crash of the machine left nothing in the files: the next census mends it.
	torn := filepath.Join(dir, "torn")
	if err := os.CopyFS(torn, os.DirFS(report)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(torn, CensusFile), 10); err != nil {
		t.Fatal(err)
	}
	if err := CheckTarget(torn); err == nil {
		t.Error("a folder with a census.json that is not one would be replaced")
	}
	for _, name := range Files() {
		if err := os.WriteFile(filepath.Join(torn, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckTarget(torn); err != nil {
		t.Errorf("a torn report: %v", err)
	}
	if err := os.WriteFile(filepath.Join(torn, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := CheckTarget(torn); err == nil {
		t.Error("a torn report beside somebody's file would be replaced")
	}
	if err := os.Mkdir(filepath.Join(report, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report", "link"} {
		if err := CheckTarget(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s would be replaced", name)
		}
	}
}

// TestDigestKeepsTheWorst: examples of a rule are its worst findings, in the
// order of the census among equals.
func TestDigestKeepsTheWorst(t *testing.T) {
	d := &Digest{}
	if err := d.Begin(&Header{}); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		severity := "info"
		if i == 7 || i == 25 {
			severity = "fatal"
		}
		if err := d.Finding(&Finding{Rule: "x", Severity: severity, Line: i}); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for _, f := range d.Examples["x"] {
		got = append(got, f.Line)
	}
	if diff := cmp.Diff([]int{7, 25, 0, 1, 2, 3, 4, 5, 6, 8}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if d.Worst("x") != "fatal" || d.Worst("y") != "" || d.Found["x"]["info"] != 28 {
		t.Errorf("worst %q, found %v", d.Worst("x"), d.Found)
	}
}

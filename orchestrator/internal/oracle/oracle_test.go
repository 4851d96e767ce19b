package oracle

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// TestWithoutCluster: rows that name no cluster are held against the
// Kustomization that they are equal to, wherever it stands, and then against
// what is left.
func TestWithoutCluster(t *testing.T) {
	ours := []*report.Kustomization{
		{Cluster: "a", Namespace: "flux-system", Name: "apps", Class: "local", Target: "a", State: "resolved", Objects: 3},
		{Cluster: "b", Namespace: "flux-system", Name: "apps", Class: "remote_direct", Target: "s", State: "resolved"},
		{Cluster: "b", Namespace: "flux-system", Name: "infra", Class: "local", Target: "b", State: "suspended"},
	}
	f, line, message := Parse([]byte("kustomization,class,target\nflux-system/apps,remote_direct,s\nflux-system/apps,local,a\n"))
	if message != "" {
		t.Fatal(line, message)
	}
	c := Compare(f, ours)
	var got []string
	for _, r := range c.Rows {
		got = append(got, r.Cluster+" "+r.Name+" "+r.Result)
	}
	if diff := cmp.Diff([]string{"a apps agree", "b apps agree", "b infra only_ours"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	f.Rows[1].Target = "c"
	if c := Compare(f, ours); c.Oracle.Agree != 1 || c.Oracle.Differ != 1 || c.Oracle.OnlyOurs != 1 || len(c.Findings()) != 2 || c.Result().Count != 2 {
		t.Errorf("%+v", c.Oracle)
	}
	// An oracle that failed is never agreement, and what is not built has no
	// count to compare.
	three := 3
	f.Rows = []Row{
		{Cluster: "a", Namespace: "flux-system", Name: "apps", Class: "local", Target: "a", State: Failed},
		{Cluster: "b", Namespace: "flux-system", Name: "infra", Class: "local", Target: "b", State: Rendered, Objects: &three},
	}
	if c := Compare(f, ours); c.Oracle.Agree != 1 || c.Oracle.TheirsFailed != 1 || c.Oracle.OnlyOurs != 1 {
		t.Errorf("%+v", c.Oracle)
	}
	f.Rows[0].State, f.Rows[0].Objects = Rendered, &three
	ours[0].Objects = 4
	if c := Compare(f, ours); c.Oracle.Differ != 1 {
		t.Errorf("another number of objects agrees: %+v", c.Oracle)
	}
}

// TestWrite: what is written is read back, sorted.
func TestWrite(t *testing.T) {
	n := 7
	f := &File{Format: "json", Tool: "t", Commit: "c", Rows: []Row{
		{Cluster: "b", Namespace: "x", Name: "y", Class: "remote_direct", Target: "s", State: Failed, Reason: "build_failed", Line: 3},
		{Cluster: "a", Namespace: "x", Name: "y", Class: "local", Target: "a", State: Rendered, Objects: &n, Line: 2},
	}}
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	got, line, message := Parse(out.Bytes())
	if message != "" {
		t.Fatalf("%d: %s\n%s", line, message, out.Bytes())
	}
	f.Rows[0], f.Rows[1] = f.Rows[1], f.Rows[0]
	if diff := cmp.Diff(f, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	out.Reset()
	if err := Write(&out, &File{}); err != nil {
		t.Fatal(err)
	}
	if _, line, message := Parse(out.Bytes()); message != "" {
		t.Errorf("an empty list: %d: %s", line, message)
	}
}

// FuzzParse: no input crashes or hangs the reader, and every mistake has a
// message and no line beyond the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"kustomization,class\na/b,local\n", `{"schema":"reach.oracle/v1","kustomizations":[{"name":"a","class":"local"}]}`, `[{"name":"a"}`, "[1", "{", "\"", "a,b\n\"c",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, line, message := Parse(data)
		if (file == nil) != (message != "") || line < 0 || line > bytes.Count(data, []byte("\n"))+1 {
			t.Errorf("%v, line %d, %q", file, line, message)
		}
	})
}

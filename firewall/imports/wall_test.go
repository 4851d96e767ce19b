package imports

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The analyser as it stands: the same judgement as the command's.
func TestAnalyser(t *testing.T) {
	result, err := Wall(t.Context(), "../..")
	if err != nil {
		t.Fatalf("could not tell: %v", err)
	}
	for _, v := range result.Violations {
		t.Error(v)
	}
	// The floor: a closure without these is not the analyser's.
	for _, title := range []string{"module sigs.k8s.io/kustomize/kyaml", "module google.golang.org/grpc", "std os/exec by github.com/google/gnostic-models"} {
		if !titles(result.Real)[title] {
			t.Errorf("the closure holds no group %q: what was looked at?", title)
		}
	}
}

func titles(d *Deps) map[string]bool {
	set := map[string]bool{}
	for _, g := range d.Groups {
		set[g.Title] = true
	}
	return set
}

// The committed list is what -update would write.
func TestListIsCanonical(t *testing.T) {
	_, committed, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := committed.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := ParseDeps("again", &b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(committed.Groups, again.Groups); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s", diff)
	}
}

func parse(t *testing.T, text string) *Rules {
	t.Helper()
	r, err := ParseRules("policy", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A rule that names nothing is a violation, whatever kind of rule it is.
func TestDeadRules(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module "+ours+"\n\ngo 1.26\n"))
	write(t, filepath.Join(dir, "analyser/a/a.go"), []byte("package a\n\nimport _ \"net\"\n"))
	rules := parse(t, `
ban x os/exec -- lives
ban x os/exek -- dead
ban x example.com/gone/... -- dead
ban x example.com/gone/... example=example.com/gone/a -- never was a dependency
ban x net/... except=net/rpc/...,net/rcp -- one exception is dead
own x plugin -- lives
own x plug-in -- dead
own x net -- lives
permit net analyser/a -- lives
permit net analyser/b -- dead
permit plugin analyser/a -- dead
capability unsafe -- lives
capability unsave -- dead
`)
	dead, err := rules.Dead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Load(t.Context(), dir, Builds[0], Analyser)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range append(dead, rules.Unused([]*Graph{g})...) {
		got = append(got, v.Rule+" "+v.Subject)
	}
	want := []string{
		"dead-rule os/exek", "dead-rule example.com/gone/...", "dead-rule net/rcp",
		"dead-rule plug-in", "dead-rule unsave", "dead-rule analyser/a", "dead-rule analyser/b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead rules (-want +got):\n%s", diff)
	}
	if _, err := ParseRules("policy", strings.NewReader("ban x a.b/c/... example=a.b/d -- r")); err == nil {
		t.Error("an example that its ban does not match was accepted")
	}
	if _, err := ParseRules("policy", strings.NewReader("own x net -- r\npermit nett analyser -- r")); err == nil {
		t.Error("a permit without a rule was accepted")
	}
}

const list = `
module example.com/m
  reason: needed
  example.com/m
  example.com/m/sub [linux/amd64]

std os by example.com/m
  reason: harmless
  path: example.com/m > os
  example.com/m
`

// graphs is what the list was made of, and more: a package n between m and os.
var graphs = []*Graph{{Packages: map[string]*Package{
	"example.com/m": {Imports: []string{"example.com/n", "os"}},
	"example.com/n": {Imports: []string{"os"}},
	"os":            {},
}}}

func TestCompare(t *testing.T) {
	deps := func(edit ...string) *Deps {
		d, err := ParseDeps("list", strings.NewReader(strings.NewReplacer(edit...).Replace(list)))
		if err != nil {
			t.Fatal(err)
		}
		d.graphs = graphs
		return d
	}
	for _, tt := range []struct {
		name      string
		committed *Deps
		want      []string
	}{
		{"same", deps(), nil},
		{"package missing", deps("  example.com/m/sub [linux/amd64]\n", ""), []string{"not-listed module example.com/m"}},
		{"package of another build", deps("linux/amd64", "linux/arm64"), []string{"not-listed module example.com/m", "not-reached module example.com/m"}},
		{"package gone", deps("  example.com/m/sub", "  example.com/m/old\n  example.com/m/sub"), []string{"not-reached module example.com/m"}},
		{"module missing", deps("module example.com/m", "module example.com/n"), []string{"not-listed module example.com/m", "not-reached module example.com/n"}},
		{"capability missing", deps("std os by", "std net by"), []string{"not-listed std os by example.com/m", "not-reached std net by example.com/m"}},
		{"another path that exists", deps("m > os", "m > example.com/n > os"), nil},
		{"path that does not exist", deps("m > os", "n > example.com/m > os"), []string{"not-reached std os by example.com/m"}},
		{"path that leads elsewhere", deps("m > os", "m > example.com/n"), []string{"not-reached std os by example.com/m"}},
		{"no path", deps("  path: example.com/m > os\n", ""), []string{"not-reached std os by example.com/m"}},
		{"no reason", deps("reason: harmless", "reason:"), []string{"reason-missing std os by example.com/m"}},
		{"nothing committed", &Deps{}, []string{"not-listed module example.com/m", "not-listed std os by example.com/m"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, v := range tt.committed.Compare(deps()) {
				got = append(got, v.Rule+" "+v.Subject)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// An update takes everything from the closure but the reasons, and cannot
// make up a reason.
func TestUpdate(t *testing.T) {
	committed, err := ParseDeps("list", strings.NewReader("module example.com/m\n  reason: mine\n  example.com/gone\n"))
	if err != nil {
		t.Fatal(err)
	}
	real, err := ParseDeps("list", strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(list, "needed", ""), "harmless", "")))
	if err != nil {
		t.Fatal(err)
	}
	real.graphs = graphs
	var b bytes.Buffer
	if err := committed.Update(real).Write(&b); err != nil {
		t.Fatal(err)
	}
	want := header + strings.NewReplacer("needed", "mine", "reason: harmless", "reason:").Replace(list)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("updated list (-want +got):\n%s", diff)
	}
	var got []string
	for _, v := range committed.Update(real).Compare(real) {
		got = append(got, v.Rule+" "+v.Subject)
	}
	if diff := cmp.Diff([]string{"reason-missing std os by example.com/m"}, got); diff != "" {
		t.Errorf("violations after the update (-want +got):\n%s", diff)
	}
}

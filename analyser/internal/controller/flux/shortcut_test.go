package flux

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// awkward are values of variables that mean something in YAML.
var awkward = []string{
	"prod", "", "8080", "true", "1.20", "0x1F", "007", "~", "a b", " a", "a ", "a: b", "a #b", "#a", "[a, b]", "{a: b}", "- a", "\"a", "'a'",
	"*a", "&a b", "!!int 1", "| a", "|", "a:", "%a", "2020-01-01", "1e3", "y", "null", "\\n", "a\tb", "ä€", "\u2028", "$X", "a,b", "12:30:45", "=", "<<",
	strings.Repeat("long value ", 12),
}

// compareShortcuts substitutes every object with a variable in it both ways.
func compareShortcuts(t *testing.T, name, text string) (objects, taken int) {
	t.Helper()
	f := document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0)
	for _, d := range f.Documents {
		if d.Node().Kind != yaml.MappingNode || !hasDollar(d.Node()) {
			continue
		}
		names := map[string]bool{}
		eachScalar(d.Node(), func(n *yaml.Node) bool {
			for _, v := range variablesIn(n.Value) {
				names[v] = true
			}
			return true
		})
		o := &kustomize.Object{Ref: d.Ref, Tree: d.Tree, Origin: d.Pos}
		before := fmt.Sprint(flat(d.Node()))
		for i := range awkward {
			vars := map[string]string{"OTHER": "x"}
			for j, name := range sortedKeys(names) {
				vars[name] = awkward[(i+j)%len(awkward)]
			}
			objects++
			s := &substitution{vars: vars, complete: true, strict: i%2 == 0}
			switch i % 5 {
			case 3: // some are unknown
				s.complete = false
				for j, name := range sortedKeys(names) {
					if j%2 == 0 {
						delete(vars, name)
					}
				}
			case 4: // all are
				s.vars, s.complete = nil, false
			}
			d, took := bothWays(s, o)
			if d != "" {
				t.Errorf("%s %s with %q: %s", name, o.Ref, vars, d)
			}
			if took {
				taken++
			}
		}
		if fmt.Sprint(flat(d.Node())) != before {
			t.Errorf("%s %s: the object was changed", name, d.Ref)
		}
	}
	return objects, taken
}

// bothWays is how the shortcut differs from the way through text.
func bothWays(s *substitution, o *kustomize.Object) (diff string, taken bool) {
	result := func() *controller.Result { return &controller.Result{Build: &kustomize.Build{}} }
	ours, theirs := result(), result()
	got := s.shortcut(o, ours)
	if got == nil {
		return "", false
	}
	want, failure := s.objectByText(o, theirs)
	if failure != nil {
		return "the shortcut gives an object, the text fails: " + failure.Message, true
	}
	if d := differs(want.Node(), got.Node(), "$"); d != "" {
		return d, true
	}
	if d := cmp.Diff(unknownIn(want), unknownIn(got)); d != "" {
		return "unknown scalars: " + d, true
	}
	if want.Ref != got.Ref || want.UnknownIdentity != got.UnknownIdentity {
		return "the identity differs", true
	}
	return cmp.Diff(theirs, ours), true
}

// unknownIn are the unknown scalars of an object, in order.
func unknownIn(o *kustomize.Object) (out []string) {
	content := o.Tree.Open()
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if name, ok := content.Unknown[n]; ok {
			out = append(out, fmt.Sprint(n.Value, " ", n.Line, " ", name))
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(content.Node)
	if len(out) != len(content.Unknown) {
		out = append(out, "some are not in the object")
	}
	return out
}

func flat(n *yaml.Node) []string {
	out := []string{n.Tag, n.Value, fmt.Sprint(n.Kind, n.Style, n.Line)}
	for _, c := range n.Content {
		out = append(out, flat(c)...)
	}
	return out
}

// differs is the first difference between two trees.
func differs(want, got *yaml.Node, at string) string {
	if want.Kind != got.Kind || want.Tag != got.Tag || want.Style != got.Style || want.Value != got.Value ||
		want.Line != got.Line || want.Column != got.Column || len(want.Content) != len(got.Content) {
		return fmt.Sprintf("at %s: by text %+v, by shortcut %+v", at, *want, *got)
	}
	for i := range want.Content {
		below := fmt.Sprint(at, ".", i/2)
		if want.Kind == yaml.MappingNode {
			below = at + "." + want.Content[i&^1].Value
		}
		if d := differs(want.Content[i], got.Content[i], below); d != "" {
			return d
		}
	}
	return ""
}

func TestShortcuts(t *testing.T) {
	objects, taken := 0, 0
	check := func(name, text string) {
		o, k := compareShortcuts(t, name, text)
		objects, taken = objects+o, taken+k
	}
	golden, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "testdata", "census", "*.txtar"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden censuses: %v", err)
	}
	for _, p := range golden {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".yaml") && !strings.HasPrefix(f.Name, "want") {
				check(p+" "+f.Name, string(f.Data))
			}
		}
	}
	root := filepath.Join("..", "..", "..", "..", "..", "shared", "corpus")
	if testing.Short() {
		root = ""
	}
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".yaml") {
			if b, err := os.ReadFile(p); err == nil && len(b) < 100<<10 {
				check(p, string(b))
			}
		}
		return nil
	})
	t.Logf("%d of %d substitutions took the shortcut", taken, objects)
	if taken < objects/4 {
		t.Error("few substitutions take the shortcut")
	}
}

func FuzzShortcut(f *testing.F) {
	f.Add("a: ${X}\nb: [\"${Y}\", z]\nc:\n- |\n  text ${X} text\n", "v", "w")
	f.Add("a: some words ${X} and ${Y:=more} words\n'1': ${X}${Y}\nz: 0\nA: 1e3\n", "8080", "")
	f.Fuzz(func(t *testing.T, text, x, y string) {
		if len(text) > 1<<12 {
			return
		}
		d := document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0)
		for _, d := range d.Documents {
			if d.Node().Kind != yaml.MappingNode || !hasDollar(d.Node()) {
				continue
			}
			o := &kustomize.Object{Ref: d.Ref, Tree: d.Tree, Origin: d.Pos}
			vars := withoutNewlines(map[string]string{"X": x, "Y": y})
			for _, s := range []*substitution{
				{vars: vars, complete: true}, {vars: map[string]string{"X": vars["X"]}}, {vars: map[string]string{}},
			} {
				if d, _ := bothWays(s, o); d != "" {
					t.Fatal(d)
				}
			}
		}
	})
}

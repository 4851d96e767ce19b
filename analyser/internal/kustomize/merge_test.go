package kustomize

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
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// mergedBothWays is how mergePlainly differs from kyaml, and whether it took the
// merge on.
func mergedBothWays(t *testing.T, object, patch *yaml.Node) (diff string, taken bool) {
	t.Helper()
	res := func(n *yaml.Node) *resource.Resource {
		return &resource.Resource{RNode: *kyaml.NewRNode(copyNode(n))}
	}
	var n needs
	n.look(object)
	n.look(patch)
	if len(n.kinds) > 0 || n.all {
		return "", false
	}
	schemaOnce.Do(resetSchema)
	ours, before := res(object), fmt.Sprint(everything(object))
	if !mergePlainly(ours, res(patch)) {
		if after := fmt.Sprint(everything(ours.YNode())); after != before {
			return "refused and changed", false
		}
		return "", false
	}
	theirs := res(object)
	if err := applyMerge(theirs, res(patch), true); err != nil {
		return "kyaml fails: " + err.Error(), true
	}
	if theirs.IsNil() != ours.IsNil() {
		return "only one leaves an object", true
	}
	return cmp.Diff(everything(theirs.YNode()), everything(ours.YNode())), true
}

// everything is all that a node says, in lines.
func everything(n *yaml.Node) []string {
	var out []string
	var walk func(string, *yaml.Node)
	walk = func(at string, n *yaml.Node) {
		out = append(out, fmt.Sprintf("%s %d %d %q %q %q %d:%d %q%q%q", at, n.Kind, n.Style, n.Tag, n.Value, n.Anchor, n.Line, n.Column, n.HeadComment, n.LineComment, n.FootComment))
		for i, c := range n.Content {
			walk(fmt.Sprintf("%s.%d", at, i), c)
		}
	}
	if n != nil {
		walk("", n)
	}
	return out
}

// variants are patches that a test makes of one: as it is, and with each value at the
// top, and below spec and metadata, null, a string, a list or a mapping in its place.
func variants(patch *yaml.Node) []*yaml.Node {
	out := []*yaml.Node{patch}
	for _, path := range [][]string{{}, {"spec"}, {"spec", "values"}, {"metadata"}, {"data"}} {
		m := patch
		for _, key := range path {
			m = lookup(m, key)
		}
		if m == nil || m.Kind != yaml.MappingNode {
			continue
		}
		for i := 1; i < len(m.Content) && i < 40; i += 2 {
			for _, with := range []*yaml.Node{
				{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"},
				{Kind: yaml.ScalarNode, Tag: "!!str", Value: "yes"},
				{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle},
				{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
					{Kind: yaml.ScalarNode, Tag: "!!str", Value: "zeta"},
					{Kind: yaml.ScalarNode, Tag: "!!str", Value: "1_000"},
					{Kind: yaml.ScalarNode, Tag: "!!str", Value: "alpha"},
					{Kind: yaml.ScalarNode, Tag: "!!null"},
				}},
			} {
				was := m.Content[i]
				m.Content[i] = with
				out = append(out, copyNode(patch))
				m.Content[i] = was
			}
		}
	}
	return out
}

// compareMerges merges every object of a text into the one before it and into itself,
// in all variants or as it is.
func compareMerges(t *testing.T, name, text string, all bool) (merges, taken int) {
	t.Helper()
	var last *yaml.Node
	for _, d := range document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Documents {
		if d.Node == nil || d.Node.Kind != yaml.MappingNode {
			continue
		}
		for _, object := range []*yaml.Node{last, d.Node} {
			if object == nil {
				continue
			}
			patches := []*yaml.Node{d.Node}
			if all {
				patches = variants(copyNode(d.Node))
			}
			for _, patch := range patches {
				merges++
				diff, took := mergedBothWays(t, object, patch)
				if diff != "" {
					t.Errorf("%s, %s: kyaml (-) and mergePlainly (+) differ:\n%s", name, d.Ref, diff)
					return merges, taken
				}
				if took {
					taken++
				}
			}
		}
		last = d.Node
	}
	return merges, taken
}

// TestMerges compares on the objects of the golden censuses and of the corpus.
func TestMerges(t *testing.T) {
	var merges, taken int
	archives, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "census", "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatal("the golden censuses are not where they were", err)
	}
	texts := 0
	compare := func(name, text string) {
		texts++
		m, n := compareMerges(t, name, text, texts%10 == 0)
		merges, taken = merges+m, taken+n
	}
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				all.WriteString("\n---\n" + string(f.Data))
			}
		}
		compare(archive, all.String())
	}
	corpus := filepath.Join("..", "..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(corpus); err == nil && !testing.Short() {
		err = filepath.WalkDir(corpus, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			compare(path, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d merges, %d taken on", merges, taken)
	if taken < merges/10 || taken == 0 {
		t.Errorf("only %d of %d merges were taken on: that compares little", taken, merges)
	}
}

// FuzzMerge compares on any two objects.
func FuzzMerge(f *testing.F) {
	for _, seed := range [][2]string{
		{"apiVersion: a/v1\nkind: A\nmetadata: {name: a}\nspec: {a: 1, b: [1], c: {d: e}}", "apiVersion: a/v1\nkind: A\nmetadata: {name: a}\nspec: {a: null, b: [2, null], c: {d: yes, e: {f: null, g: on}}}"},
		{"kind: A\nmetadata:\n  name: 'a'\nspec: {}\ndata: []", "kind: A\nmetadata:\n  name: b\n  namespace: c\nspec:\n  z: 012\n  a: |\n    x\ndata:\n- a"},
		{"a: b", "a: {b: c}\n"},
		{"a: &x b\nc: *x", "$patch: delete"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, object, patch string) {
		read := func(text string) *yaml.Node {
			docs := document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Documents
			if len(docs) == 0 || docs[0].Node == nil || docs[0].Node.Kind != yaml.MappingNode {
				return nil
			}
			return docs[0].Node
		}
		o, p := read(object), read(patch)
		if o == nil || p == nil {
			return
		}
		if diff, _ := mergedBothWays(t, o, p); diff != "" {
			t.Errorf("kyaml (-) and mergePlainly (+) differ:\n%s", diff)
		}
	})
}

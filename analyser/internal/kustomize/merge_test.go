package kustomize

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// mangled is a patch made of an object by chance: much is left out, elements change
// places, values are others, keys are new or, where nulls may stand, null.
func mangled(by *rand.Rand, n *yaml.Node, nulls bool) *yaml.Node {
	c := *n
	c.Content = nil
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			identity := slices.Contains([]string{"apiVersion", "kind", "metadata", "name", "containerPort", "port", "spec", "template"}, k.Value)
			switch dice := by.IntN(12); {
			case dice < 4 && !identity:
				continue
			case dice == 4 && !identity && nulls:
				v = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
			case dice == 5 && !identity:
				k = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.Value + "x", Style: yaml.SingleQuotedStyle}
			}
			if k = copyNode(k); by.IntN(8) == 0 {
				k.Style = yaml.DoubleQuotedStyle
			}
			c.Content = append(c.Content, k, mangled(by, v, nulls))
		}
		if by.IntN(12) == 0 {
			by.Shuffle(len(c.Content)/2, func(i, j int) {
				c.Content[2*i], c.Content[2*j] = c.Content[2*j], c.Content[2*i]
				c.Content[2*i+1], c.Content[2*j+1] = c.Content[2*j+1], c.Content[2*i+1]
			})
		}
	case yaml.SequenceNode:
		none := by.IntN(8) == 0
		for _, e := range n.Content {
			if none {
				break
			}
			if by.IntN(3) > 0 {
				c.Content = append(c.Content, mangled(by, e, nulls))
			}
			if by.IntN(6) == 0 {
				c.Content = append(c.Content, mangled(by, e, nulls))
			}
		}
		by.Shuffle(len(c.Content), func(i, j int) { c.Content[i], c.Content[j] = c.Content[j], c.Content[i] })
		if by.IntN(4) == 0 {
			c.Style = yaml.FlowStyle
		}
	case yaml.ScalarNode:
		switch by.IntN(6) {
		case 0:
			c.Value += "0"
		case 1:
			c.Style ^= yaml.DoubleQuotedStyle
		}
	}
	return &c
}

// compareMerges merges every object of a text into the one before it and into itself,
// in all variants or as it is.
func compareMerges(t *testing.T, name, text string, all bool) (merges, taken int) {
	t.Helper()
	var last *yaml.Node
	by := rand.New(rand.NewPCG(uint64(len(text)), 1))
	for _, d := range document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Documents {
		if d.Node() == nil || d.Node().Kind != yaml.MappingNode {
			continue
		}
		for _, object := range []*yaml.Node{last, d.Node()} {
			if object == nil {
				continue
			}
			patches := []*yaml.Node{d.Node(), mangled(by, d.Node(), true)}
			if all {
				patches = append(variants(copyNode(d.Node())), patches[1], mangled(by, object, true))
			}
			for i, patch := range patches {
				merges++
				onto := object
				if i%2 == 1 {
					onto = mangled(by, object, false)
				}
				diff, took := mergedBothWays(t, onto, patch)
				if diff != "" {
					t.Errorf("%s, %s: kyaml (-) and mergePlainly (+) differ:\n%s", name, d.Ref, diff)
					return merges, taken
				}
				if took {
					taken++
				}
			}
		}
		last = d.Node()
	}
	return merges, taken
}

// eachText hands over the YAML of each golden census, and each YAML file of the corpus
// where that is at hand.
func eachText(t *testing.T, with func(name, text string)) {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "census", "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatal("the golden censuses are not where they were", err)
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
		with(archive, all.String())
	}
	corpus := filepath.Join("..", "..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(corpus); err != nil || testing.Short() {
		return
	}
	err = filepath.WalkDir(corpus, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		with(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMerges compares on the objects of the golden censuses and of the corpus.
func TestMerges(t *testing.T) {
	var merges, taken int
	texts := 0
	eachText(t, func(name, text string) {
		texts++
		m, n := compareMerges(t, name, text, texts%10 == 0)
		merges, taken = merges+m, taken+n
	})
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
		{
			"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{name: a, image: b, ports: [{containerPort: 1}, {containerPort: 2}]}, {name: c}]}}}",
			"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {\"volumes\": [{name: v}], containers: [{name: d}, {name: a, image: null, env: [{name: yes, value: on}], ports: [{containerPort: 2, name: x}]}]}}}",
		},
		{
			"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 1, protocol: TCP}, {port: 1, protocol: UDP}]}",
			"apiVersion: v1\nkind: Service\nspec:\n  ports:\n  - {port: 1, protocol: UDP, name: a}\n  - {port: 2, protocol: TCP}",
		},
		{"a: {apiVersion: v1, kind: Pod, spec: {volumes: []}}", "a: {spec: {volumes: [{name: a}], tolerations: [{key: a}]}}"},
		{"a: &x b\nc: *x", "$patch: delete"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, object, patch string) {
		read := func(text string) *yaml.Node {
			docs := document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Documents
			if len(docs) == 0 || docs[0].Node() == nil || docs[0].Node().Kind != yaml.MappingNode {
				return nil
			}
			return docs[0].Node()
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

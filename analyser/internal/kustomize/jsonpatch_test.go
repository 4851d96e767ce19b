package kustomize

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// FuzzFromJSON compares fromJSON with writing YAML and parsing it, tags and
// styles included.
func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{
		`{"a": "b", "on": "off", "e": {}, "l": [], "n": null}`,
		`{"a": ["1", "0x10", "1e3", "1:30", "1_000", "~", "y", "Null", "nan", ".inf", "2020-01-01", "<<", "="]}`,
		`{"a": [1, 1000000, 1.5, 1e300, -0.0, 123456789012345678, true]}`,
		`{"a": ["x: y", "- a", "*a", "&b", "!c", "#d", "a #b", "%e", "@f", "'", "\"", "a\nb", "a\n", " lead", "trail ", "\t", "\u0000", "é", "a/b", "a-b.c_d"]}`,
		`{"l": [{"a": "\n lead", "b": "  x\n y\n\n", "c": [["\t\n", "a \n b", "x\n\n  y\n z"]]}]}`,
		`{"": "empty key", "1": "number key", "true": "bool key"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v map[string]any
		if json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		want, err := kyaml.FromMap(v)
		if err != nil {
			return
		}
		got, err := fromJSON(v, stringNode)
		if err != nil {
			t.Fatal(err)
		}
		places := cmpopts.IgnoreFields(yaml.Node{}, "Line", "Column")
		byKey := cmpopts.IgnoreFields(yaml.Node{}, "HeadComment", "LineComment", "FootComment")
		sortKeys(want.YNode())
		sortKeys(got)
		if diff := cmp.Diff(want.YNode(), got, places, byKey); diff != "" {
			t.Errorf("%s: -written and parsed +ours:\n%s", s, diff)
		}
	})
}

// FuzzToJSON compares toJSON with what upstream makes of the same object.
func FuzzToJSON(f *testing.F) {
	for _, s := range []string{
		"a: >\n  x\n    y\n  z\n", "a: 'it''s'\nb: 0x1F\nc: 1_000\nd: 2020-01-01\ne: ~\n",
		"? a\n: {b: [1, 2.50, .inf]}\n", "a: |\n  x\n\n   y\n", "1: a\n", "a: !!binary aGk=\n", "a: \"x\\u00e9\"\n", "a: 1\na: 2\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rn, err := kyaml.Parse(s)
		if err != nil || rn.YNode() == nil || rn.YNode().Kind != yaml.MappingNode || rn.DeAnchor() != nil {
			return
		}
		want, errWant := rn.MarshalJSON()
		got, errGot := toJSON(rn.YNode())
		if (errWant == nil) != (errGot == nil) || errWant == nil && string(want) != string(got) {
			t.Errorf("%q: want %s %v, got %s %v", s, want, errWant, got, errGot)
		}
	})
}

// FuzzAsWritten compares what asWritten leaves or makes with what upstream
// writes.
func FuzzAsWritten(f *testing.F) {
	for _, s := range []string{
		"a: >\n  x\n    y\n  z\n", "{A}", "a: [b: , c]\n", "a:\n- |2\n   x\n  y\n- >-\n  a\n  b\n", "a: \"\\tx\\n y\"\nb: 'x\n\n  y'\n",
		"a: x\n  y\n", "a: é\n", "a: # c\n  b: 1 # d\n# e\n", "a: |+\n  x\n\n\nb: |-\n\n  x\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rn, err := kyaml.Parse(s)
		if err != nil || rn.YNode() == nil || rn.YNode().Kind != yaml.MappingNode || rn.DeAnchor() != nil {
			return
		}
		want, err := rn.MarshalJSON()
		if err != nil || unwritable(rn.YNode(), true) != nil {
			return
		}
		n, err := asWritten(rn.YNode())
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoded([]*yaml.Node{n})
		if err != nil || got[0] != string(want) {
			t.Errorf("%q: want %s, got %s %v", s, want, got, err)
		}
	})
}

// sortKeys orders keys: the encoder sorts them in its own way, which nothing
// depends on.
func sortKeys(n *yaml.Node) {
	for _, c := range n.Content {
		sortKeys(c)
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 2; i < len(n.Content); i += 2 {
		for j := i; j > 0 && n.Content[j].Value < n.Content[j-2].Value; j -= 2 {
			n.Content[j], n.Content[j-2] = n.Content[j-2], n.Content[j]
			n.Content[j+1], n.Content[j-1] = n.Content[j-1], n.Content[j+1]
		}
	}
}

package kustomize

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// patchedBothWays is how applyPlainly differs from applyJSONPatch, and whether it took
// the patch on.
func patchedBothWays(patch jsonpatch.Patch, n *yaml.Node) (diff string, taken bool) {
	before := fmt.Sprint(everything(n))
	ours, taken := applyPlainly(plainOperations(patch), n)
	if after := fmt.Sprint(everything(n)); after != before {
		return "the object was changed", taken
	}
	if !taken {
		return "", false
	}
	theirs, err := applyJSONPatch(patch, n)
	if err != nil {
		return "the long way fails: " + err.Error(), true
	}
	return cmp.Diff(everything(theirs), everything(ours)), true
}

// steps are operations on an object made by chance, at places that are there and at
// some that are not.
func steps(by *rand.Rand, n *yaml.Node) jsonpatch.Patch {
	var pointers []string
	var walk func(string, *yaml.Node)
	walk = func(at string, n *yaml.Node) {
		if at != "" {
			pointers = append(pointers, at)
		}
		for i := range n.Content {
			switch {
			case n.Kind == yaml.SequenceNode:
				walk(at+"/"+strconv.Itoa(i), n.Content[i])
			case i%2 == 1:
				k := strings.ReplaceAll(strings.ReplaceAll(n.Content[i-1].Value, "~", "~0"), "/", "~1")
				walk(at+"/"+k, n.Content[i])
			}
		}
		if n.Kind == yaml.ScalarNode && by.IntN(20) > 0 {
			return
		}
		pointers = append(pointers, at+"/"+[]string{"-", "new~1key", "0", "99", "A"}[by.IntN(5)])
	}
	walk("", n)
	values := []string{`"word"`, `"yes"`, `"a: b"`, `1`, `10000000`, `1.50`, `true`, `null`, `[]`, `{}`, `{"b": [1, "x"], "a": "é"}`, `["b", {"z": null}]`, `"line\nline\n"`}
	var out []string
	for range 1 + by.IntN(3) {
		at := pointers[by.IntN(len(pointers))]
		op := []string{"add", "replace", "remove", "add", "replace", "add", "replace", "remove", "add", "test", "copy"}[by.IntN(11)]
		quoted, _ := json.Marshal(at)
		value := values[by.IntN(len(values))]
		if _, v := resolvePointer(n, at); op == "test" && v != nil && v.Kind == yaml.ScalarNode {
			value = strconv.Quote(v.Value)
		}
		out = append(out, fmt.Sprintf(`{"op": %q, "path": %s, "from": %s, "value": %s}`, op, quoted, quoted, value))
	}
	patch, err := jsonpatch.DecodePatch([]byte("[" + strings.Join(out, ",") + "]"))
	if err != nil {
		panic(err)
	}
	return patch
}

// TestOperations compares on the objects of the golden censuses and of the corpus.
func TestOperations(t *testing.T) {
	var patches, taken int
	eachText(t, func(name, text string) {
		if len(text) > 60_000 && strings.HasSuffix(name, ".yaml") {
			return // the long way takes as long as that
		}
		by := rand.New(rand.NewPCG(uint64(len(text)), 2))
		for _, d := range document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Documents {
			if d.Node() == nil || d.Node().Kind != yaml.MappingNode {
				continue
			}
			for range 2 {
				patch := steps(by, d.Node())
				patches++
				diff, took := patchedBothWays(patch, d.Node())
				if diff != "" {
					text, _ := json.Marshal(patch)
					t.Errorf("%s, %s, %s: the long way (-) and applyPlainly (+) differ:\n%s", name, d.Ref, text, diff)
					return
				}
				if took {
					taken++
				}
			}
		}
	})
	t.Logf("%d patches, %d taken on", patches, taken)
	if taken < patches/4 || taken == 0 {
		t.Errorf("only %d of %d patches were taken on: that compares little", taken, patches)
	}
}

// FuzzOperations compares on any object and patch.
func FuzzOperations(f *testing.F) {
	for _, seed := range [][2]string{
		{"a: 1\nb: {c: [x, y], 'd/e': on}\n", `[{"op": "add", "path": "/b/c/-", "value": "z"}, {"op": "remove", "path": "/b/d~1e"}]`},
		{"a: 1e3\nb: 0x1f\nc: 2020-01-01\nd: ~\n", `[{"op": "replace", "path": "/a", "value": {"x": 1.0}}, {"op": "add", "path": "/a/y", "value": null}]`},
		{"z: [1]\ny: {}\n", `[{"op": "remove", "path": "/z/0"}, {"op": "add", "path": "/y/~01", "value": "no"}]`},
		{"a: word", `[{"op": "test", "path": "/a", "value": "word"}, {"op": "copy", "from": "/a", "path": "/b"}]`},
		{"a: !!binary aGk=\nb: !x y\nc: !!str 1\n", `[{"op": "add", "path": "/d", "value": 123456789012345678}]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, object, patch string) {
		docs := document.NewReader(&position.Set{}, document.Limits{}).Text(object, 0).Documents
		ops, err := decodeJSONPatch(patch)
		if err != nil || len(docs) == 0 || docs[0].Node() == nil || docs[0].Node().Kind != yaml.MappingNode {
			return
		}
		if diff, _ := patchedBothWays(ops, docs[0].Node()); diff != "" {
			t.Errorf("the long way (-) and applyPlainly (+) differ:\n%s", diff)
		}
	})
}

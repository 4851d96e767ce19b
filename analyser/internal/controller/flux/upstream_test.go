package flux

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// TestUpstream replays what the controller's own code made of random objects
// and variables: testdata/upstream.jsonl was written by fluxcd/pkg/kustomize
// v1.41.0 SubstituteVariables, the resource map's Replace and AsYaml, and
// fluxcd/pkg/ssa v0.76.2 ReadObjects, in the order of kustomize-controller
// 1.9.6.
func TestUpstream(t *testing.T) {
	data, err := os.ReadFile("testdata/upstream.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	succeeded := 0
	for line := range bytes.Lines(data) {
		var v struct {
			Objects        string
			Vars           map[string]string
			Strict, Always bool
			Fails          bool
			Out            []any
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		f := document.NewReader(&position.Set{}, document.Limits{}).Text(v.Objects, 0)
		if f.Err != nil {
			t.Fatal(f.Err)
		}
		var in []*kustomize.Object
		for _, d := range f.Documents {
			in = append(in, &kustomize.Object{Ref: d.Ref, Tree: d.Tree})
		}
		s := &controller.Sync{Variables: controller.Variables{Declared: true, Always: v.Always}}
		res := postBuild(&kustomize.Build{Objects: in}, s, v.Vars, true, v.Strict, false)
		if (res.Failure != nil) != v.Fails {
			t.Errorf("%s\nvariables %q, strict %v, always %v: failure %v; upstream fails: %v", v.Objects, v.Vars, v.Strict, v.Always, res.Failure, v.Fails)
			continue
		}
		if v.Fails {
			continue
		}
		succeeded++
		var out []any
		for _, o := range res.Objects {
			j, err := kyaml.NewRNode(o.Node()).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var x any
			if err := json.Unmarshal(j, &x); err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
		if diff := cmp.Diff(v.Out, out); diff != "" {
			t.Errorf("%s\nvariables %q (-upstream +ours):\n%s", v.Objects, v.Vars, diff)
		}
	}
	if succeeded < 100 {
		t.Errorf("only %d cases succeed upstream", succeeded)
	}
}

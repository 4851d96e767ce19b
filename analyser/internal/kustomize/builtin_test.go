package kustomize

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// underKyaml runs f under what kyaml reads by itself, and leaves what builds want.
func underKyaml(f func()) {
	withOwnSchema(true, f)
}

// TestBuiltin proves builtin.txt equal to what the pinned version of kyaml has,
// less its own kinds, which it always reads.
func TestBuiltin(t *testing.T) {
	withOwnSchema(false, func() {}) // forgets what the tests before it have read
	own := maps.Clone(openapi.Schema().Definitions)
	var want strings.Builder
	underKyaml(func() {
		all := openapi.Schema().Definitions
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if _, ok := own[name]; !ok {
				writeDefinition(&want, name, all[name])
			}
		}
	})
	head, _, _ := strings.Cut(builtinText, "\n\n")
	if *update {
		if err := os.WriteFile("builtin.txt", []byte(head+"\n\n"+want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), strings.TrimPrefix(builtinText, head+"\n\n")); diff != "" {
		t.Errorf("builtin.txt differs from kyaml (-kyaml +ours):\n%s", diff)
	}
}

func writeDefinition(b *strings.Builder, name string, s spec.Schema) {
	fmt.Fprintf(b, "%s %s", name, formatNode(s, true))
	for _, id := range kindsOf(s) {
		fmt.Fprintf(b, " %s/%s/%s", id.Group, id.Version, id.Kind)
	}
	b.WriteByte('\n')
	for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
		fmt.Fprintf(b, "\t%s %s\n", p, formatNode(s.Properties[p], false))
	}
}

func kindsOf(s spec.Schema) (out []resid.Gvk) {
	list, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
	for _, x := range list {
		m := x.(map[string]any)
		group, _ := m["group"].(string)
		out = append(out, resid.Gvk{Group: group, Version: m["version"].(string), Kind: m["kind"].(string)})
	}
	return out
}

// formatNode writes what merges look at. It panics on what the notation does not
// have.
func formatNode(s spec.Schema, top bool) string {
	if !top && len(s.Properties) > 0 || len(s.Type) > 1 || len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) > 0 {
		panic("a schema that builtin.txt cannot hold")
	}
	out := "-"
	if ref := s.Ref.String(); ref != "" {
		name, ok := strings.CutPrefix(ref, "#/definitions/")
		if !ok || len(s.Type) > 0 || s.Items != nil || s.AdditionalProperties != nil {
			panic("a reference that builtin.txt cannot hold")
		}
		out = "@" + name
	} else if len(s.Type) == 1 {
		out = map[string]string{"string": "s", "integer": "i", "number": "n", "boolean": "b", "object": "o", "array": "a"}[s.Type[0]]
	}
	if strategy, ok := s.Extensions["x-kubernetes-patch-strategy"].(string); ok {
		key, _ := s.Extensions["x-kubernetes-patch-merge-key"].(string)
		out += "(" + strategy + ";" + key
		keys, _ := s.Extensions["x-kubernetes-list-map-keys"].([]any)
		for _, k := range keys {
			out += ";" + k.(string)
		}
		out += ")"
	}
	if s.Items != nil {
		out += "[" + formatNode(*s.Items.Schema, false) + "]"
	}
	if s.AdditionalProperties != nil {
		out += "{" + formatNode(*s.AdditionalProperties.Schema, false) + "}"
	}
	return out
}

// TestBuiltinLookups walks every kind field by field, as a merge does, and finds
// the same as kyaml with its own schema: where every kind was added alone and where
// all definitions were.
func TestBuiltinLookups(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	Prepare()
	var all spec.Definitions
	var want []string
	underKyaml(func() {
		all = openapi.Schema().Definitions
		want = lookups(all)
	})
	if len(want) < 5_000 {
		t.Fatalf("%d fields are not all of Kubernetes", len(want))
	}
	resetSchema()
	if s := openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}); s != nil {
		t.Error("a fresh schema knows Deployments: this test shows nothing")
	}
	for kind := range builtinKinds() {
		n := needs{kinds: []string{kind}}
		n.add()
	}
	if diff := cmp.Diff(want, lookups(all)); diff != "" {
		t.Errorf("every kind was added (-kyaml +ours):\n%s", diff)
	}
	resetSchema()
	n := needs{all: true}
	n.add()
	if diff := cmp.Diff(want, lookups(all)); diff != "" {
		t.Errorf("all definitions were added (-kyaml +ours):\n%s", diff)
	}
	for name := range all {
		ref := spec.MustCreateRef("#/definitions/" + name)
		if s, err := openapi.Resolve(&ref, openapi.Schema()); err != nil || s == nil {
			t.Errorf("a comment cannot refer to %s: %v", name, err)
		}
	}
	resetSchema()
}

// lookups asks for each kind, and for each field of one kind of each definition,
// guided by the definitions, and returns what it is told. Below one kind a
// definition is entered once.
func lookups(all spec.Definitions) []string {
	var out []string
	var visit func(path string, rs *openapi.ResourceSchema, guide spec.Schema, seen map[string]bool)
	visit = func(path string, rs *openapi.ResourceSchema, guide spec.Schema, seen map[string]bool) {
		if ref := guide.Ref.String(); ref != "" {
			if seen[ref] {
				return
			}
			seen[ref] = true
			guide = all[strings.TrimPrefix(ref, "#/definitions/")]
		}
		if rs == nil {
			out = append(out, path+": unknown")
			return
		}
		strategy, keys := rs.PatchStrategyAndKeyList()
		_, key := rs.PatchStrategyAndKey()
		out = append(out, fmt.Sprintf("%s: %v %q %q %q %v", path, rs.Schema.Type, strategy, key, keys, rs.IsMissingOrNull()))
		for _, p := range slices.Sorted(maps.Keys(guide.Properties)) {
			visit(path+"."+p, rs.Field(p), guide.Properties[p], seen)
		}
		if a := guide.AdditionalProperties; a != nil && a.Schema != nil {
			visit(path+".*", rs.Field("whatever"), *a.Schema, seen)
		} else if f := rs.Field("whatever"); f != nil {
			out = append(out, path+": knows fields of any name")
		}
		if e := rs.Elements(); e != nil || guide.Items != nil {
			if guide.Items == nil {
				out = append(out, path+": has elements")
				return
			}
			visit(path+"[]", e, *guide.Items.Schema, seen)
		}
	}
	for name, d := range all {
		for i, id := range kindsOf(d) {
			rs := openapi.SchemaForResourceType(id.AsTypeMeta())
			if i == 0 {
				ref := spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/" + name)}}
				visit(id.String(), rs, ref, map[string]bool{})
			}
			out = append(out, fmt.Sprintf("%s: %v", id, rs != nil))
		}
	}
	slices.Sort(out)
	return out
}

// TestScopes shows that scopes do not need the schema: kyaml's table has every
// kind of its schema of which the schema tells the scope.
func TestScopes(t *testing.T) {
	scopes := func() map[resid.Gvk][2]bool {
		out := map[resid.Gvk][2]bool{}
		for _, d := range builtinDefinitions() {
			for _, id := range kindsOf(d) {
				namespaced, found := openapi.IsNamespaceScoped(id.AsTypeMeta())
				out[id] = [2]bool{namespaced, found}
			}
		}
		return out
	}
	var want map[resid.Gvk][2]bool
	underKyaml(func() { want = scopes() })
	got := scopes()
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 200 || !got[resid.Gvk{Version: "v1", Kind: "Pod"}][0] {
		t.Errorf("%d kinds (-kyaml +ours):\n%s", len(got), diff)
	}
}

// What a merge may look up is found wherever it stands, and no more.
func TestNeeds(t *testing.T) {
	for text, want := range map[string]needs{
		"kind: Deployment":                              {kinds: []string{"Deployment"}},
		"kind: HelmRelease":                             {},
		"a: [{b: {kind: Pod}}]\nkind: Unknown":          {kinds: []string{"Pod"}},
		"kind: [Pod]":                                   {},
		"a: 1 # {\"$imagepolicy\": \"a:b\"}":            {},
		"a: 1 # {\"$ref\": \"#/definitions/x\"}":        {all: true},
		"# {\"\\u0024ref\": \"#/definitions/x\"}\na: 1": {all: true},
		"a: &a {kind: Pod}\nb: *a":                      {kinds: []string{"Pod"}, all: true},
	} {
		var n needs
		n.look(kyaml.MustParse(text).YNode())
		if diff := cmp.Diff(want, n, cmp.AllowUnexported(needs{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

package kustomize

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestFieldSchemas walks every kind field by field and finds which lists are merged,
// and by which keys, as kyaml does in the schema that it has then.
func TestFieldSchemas(t *testing.T) {
	Prepare()
	n := needs{all: true}
	n.add()
	defer resetSchema()
	fields, lists := 0, 0
	seen := map[string]bool{}
	var same func(path string, ours *fieldSchema, theirs *openapi.ResourceSchema)
	same = func(path string, ours *fieldSchema, theirs *openapi.ResourceSchema) {
		if fields++; (ours == nil) != (theirs == nil) {
			t.Errorf("%s: known to one only: ours %v, kyaml's %v", path, ours != nil, theirs != nil)
			return
		}
		if ours == nil {
			return
		}
		strategy, keys := theirs.PatchStrategyAndKeyList()
		if merged := slices.Contains(strings.Split(strategy, ","), "merge"); merged != ours.associative || merged && !slices.Equal(keys, ours.keys) {
			t.Errorf("%s: ours %v %q, kyaml's %q %q", path, ours.associative, ours.keys, strategy, keys)
		}
		if ours.associative {
			lists++
		}
		if ours.of != nil {
			if seen[ours.of.name] {
				return
			}
			seen[ours.of.name] = true
			for f := range ours.of.schemaOf.fields {
				same(path+"."+f, ours.field(f), theirs.Field(f))
			}
		}
		if path = path + ".*"; strings.Count(path, "*")+strings.Count(path, "[]") < 8 {
			same(path, ours.field("whatever"), theirs.Field("whatever"))
			same(path+"[]", ours.element(), theirs.Elements())
		}
	}
	for kind, list := range builtinKinds() {
		for _, d := range list {
			for _, gvk := range d.kinds {
				version := strings.TrimSuffix(strings.TrimPrefix(gvk, "/"), "/"+kind)
				object := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
					{Kind: yaml.ScalarNode, Value: "apiVersion"},
					{Kind: yaml.ScalarNode, Value: version},
					{Kind: yaml.ScalarNode, Value: "kind"},
					{Kind: yaml.ScalarNode, Value: kind},
				}}
				ours, known := schemaOf(object)
				if !known || ours == nil {
					t.Errorf("%s is unknown", gvk)
					continue
				}
				same(gvk, ours, openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: version, Kind: kind}))
			}
		}
	}
	if fields < 3000 || lists < 30 {
		t.Errorf("%d fields and %d lists are not all of Kubernetes", fields, lists)
	}
}

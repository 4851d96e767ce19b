package kustomize

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// kustomize keeps in annotations what an object was called before and what refers to
// it, and writes one of them anew at almost every step, by a chain of filters for each.
// Here they are written into the node, where metadata and annotations are mappings that
// stand there once; everything else is left to kustomize. TestTransformers and
// FuzzTransformers compare the two, node by node.

// The annotations that kustomize keeps for itself (upstream:
// api/internal/utils/annotations.go).
const (
	previousNames      = "internal.config.kubernetes.io/previousNames"
	previousNamespaces = "internal.config.kubernetes.io/previousNamespaces"
	previousKinds      = "internal.config.kubernetes.io/previousKinds"
	referredBy         = "internal.config.kubernetes.io/refBy"
)

// storePreviousID is Resource.StorePreviousId.
func storePreviousID(r *resource.Resource, long bool) {
	id := r.CurId()
	entries := []annotation{
		{previousNames, id.Name}, {previousNamespaces, id.EffectiveNamespace()}, {previousKinds, id.Kind},
	}
	if long || !appendAnnotations(r.YNode(), entries) {
		r.StorePreviousId()
	}
}

// appendReferrer is Resource.AppendRefBy.
func appendReferrer(r *resource.Resource, id resid.ResId) {
	if !appendAnnotations(r.YNode(), []annotation{{referredBy, id.String()}}) {
		r.AppendRefBy(id)
	}
}

type annotation struct{ key, value string }

// appendAnnotations adds to lists that stand in annotations, separated by commas, or
// reports that kustomize has to and changes nothing (upstream: appendCsvAnnotation in
// api/resource, AnnotationSetter in kyaml/yaml).
func appendAnnotations(n *yaml.Node, entries []annotation) bool {
	meta, ok := onlyMapping(n, "metadata")
	if !ok || meta == nil {
		return false
	}
	list, ok := onlyMapping(meta, "annotations")
	if !ok {
		return false
	}
	at := make([]*yaml.Node, len(entries))
	for i, a := range entries {
		v, once := only(list, a.key)
		if !once || v != nil && (v.Kind != yaml.ScalarNode || v.Tag == kyaml.NodeTagNull || v.Anchor != "") {
			return false
		}
		at[i] = v
	}
	for i, a := range entries {
		if a.value == "" {
			continue
		}
		if list == nil {
			list = &yaml.Node{Kind: yaml.MappingNode}
			meta.Content = append(meta.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "annotations"}, list)
		}
		var v yaml.Node
		if at[i] == nil {
			v.SetString(a.value)
			v.Style = yaml.SingleQuotedStyle
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: a.key}, &v)
			continue
		}
		v.SetString(at[i].Value + "," + a.value)
		v.Style = at[i].Style
		*at[i] = v
	}
	return true
}

// setAnnotations is RNode.SetAnnotations.
func setAnnotations(rn *kyaml.RNode, values map[string]string, long bool) error {
	meta, ok := onlyMapping(rn.YNode(), "metadata")
	if !ok || meta == nil || long {
		return rn.SetAnnotations(values)
	}
	_, nameless := values[""] // which is an error there
	if _, once := only(meta, "annotations"); !once || nameless {
		return rn.SetAnnotations(values)
	}
	for i := 0; i+1 < len(meta.Content); i += 2 {
		if meta.Content[i].Value == "annotations" {
			meta.Content = slices.Delete(meta.Content, i, i+2)
			break
		}
	}
	if len(values) == 0 {
		return nil
	}
	list := &yaml.Node{Kind: yaml.MappingNode, Content: make([]*yaml.Node, 0, 2*len(values))}
	for _, k := range kyaml.SortedMapKeys(values) {
		v := &yaml.Node{}
		v.SetString(values[k])
		quoteOld(v)
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: k}, v)
	}
	meta.Content = append(meta.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "annotations"}, list)
	return nil
}

// only is the value of a key that a mapping has once, or nil where it has none. once is
// false where it has several, or is no plain mapping.
func only(n *yaml.Node, key string) (v *yaml.Node, once bool) {
	if n == nil {
		return nil, true
	}
	if n.Kind != yaml.MappingNode || n.Tag == kyaml.NodeTagNull || n.Anchor != "" || len(n.Content)%2 != 0 {
		return nil, false
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			continue
		}
		if v != nil {
			return nil, false
		}
		v = n.Content[i+1]
	}
	return v, true
}

// onlyMapping is only, for a value that is a mapping and not empty.
func onlyMapping(n *yaml.Node, key string) (v *yaml.Node, ok bool) {
	if v, ok = only(n, key); v == nil || !ok {
		return nil, ok
	}
	return v, v.Kind == yaml.MappingNode && v.Tag != kyaml.NodeTagNull && v.Anchor == "" && len(v.Content) > 0
}

// quoteOld does what kyaml does to every value that it sets: a string that older YAML
// takes for something else is quoted (upstream: FieldSetter in kyaml/yaml).
func quoteOld(n *yaml.Node) {
	if n.Style == 0 && kyaml.IsYNodeString(n) && !isPlain(n.Value) && kyaml.IsValueNonString(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
}

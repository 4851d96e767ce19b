package kustomize

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// A strategic merge into a kind without a schema is a merge of mappings: lists and
// scalars are replaced, null removes. kyaml does it by walking all of the object, and
// asks of every node whether a comment at it is a schema, which makes it the dearest
// step of most builds of custom resources. Here it is done by itself, as kyaml does
// it (upstream: kyaml/yaml/merge2 and walk, FieldSetter), for trees in which nothing
// else can happen:
//
//   - no kind has a schema, and there are no comments, anchors, aliases;
//   - no key begins with "$", none is there twice, none is "<<";
//   - the object holds no null, and what meets is of the same sort.
//
// Everything else is kyaml's to merge. TestMerges and FuzzMerge compare the two, node
// by node.

// mergePlainly merges a patch, which is used up, into r, or reports that kyaml has to
// and changes nothing. kyaml's schema must not change meanwhile.
func mergePlainly(r, patch *resource.Resource) bool {
	to, from := r.YNode(), patch.YNode()
	if to == nil || from == nil || to.Kind != yaml.MappingNode || from.Kind != yaml.MappingNode ||
		!simpleTree(to, false) || !simpleTree(from, true) || !meet(to, from) ||
		patch.NameChangeAllowed() || patch.KindChangeAllowed() {
		return false
	}
	name, namespace, kind := r.GetName(), r.GetNamespace(), r.GetKind()
	mergeMappings(to, from)
	if r.IsNilOrEmpty() {
		return true
	}
	// As ApplySmPatch does; their errors are of no interest to it either.
	r.SetKind(kind)
	_ = r.SetName(name)
	_ = r.SetNamespace(namespace)
	return true
}

// simpleTree reports a tree without what only kyaml knows how to treat. nulls may
// stand in it where set.
func simpleTree(n *yaml.Node, nulls bool) bool {
	if n.Anchor != "" || n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" {
		return false
	}
	null := n.Tag == kyaml.NodeTagNull
	switch n.Kind {
	case yaml.ScalarNode:
		return nulls || !null
	case yaml.SequenceNode:
		if null {
			return false
		}
	case yaml.MappingNode:
		if null || len(n.Content)%2 != 0 || !simpleKeys(n) || hasSchema(n) {
			return false
		}
	default:
		return false
	}
	for i, c := range n.Content {
		if key := n.Kind == yaml.MappingNode && i%2 == 0; !simpleTree(c, nulls && !key) {
			return false
		}
	}
	return true
}

// hasSchema reports a mapping of a kind of which kyaml knows the fields, as it does of
// its own Kustomization.
func hasSchema(n *yaml.Node) bool {
	version, kind := lookup(n, "apiVersion"), lookup(n, "kind")
	return version != nil && kind != nil && version.Value != "" && kind.Value != "" &&
		openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: version.Value, Kind: kind.Value}) != nil
}

// simpleKeys reports that keys are scalars, differ, and are no directives.
func simpleKeys(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || strings.HasPrefix(k.Value, "$") || k.Value == "<<" {
			return false
		}
	}
	if len(n.Content) <= 16 {
		for i := 2; i < len(n.Content); i += 2 {
			for j := 0; j < i; j += 2 {
				if n.Content[i].Value == n.Content[j].Value {
					return false
				}
			}
		}
		return true
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		if seen[n.Content[i].Value] {
			return false
		}
		seen[n.Content[i].Value] = true
	}
	return true
}

// meet reports that values at the same place are of the same sort.
func meet(to, from *yaml.Node) bool {
	if from.Tag == kyaml.NodeTagNull {
		return true
	}
	if to.Kind != from.Kind {
		return false
	}
	if to.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i < len(from.Content); i += 2 {
		if v := lookup(to, from.Content[i].Value); v != nil && !meet(v, from.Content[i+1]) {
			return false
		}
	}
	return true
}

// mergeMappings merges a mapping into another. What is added comes in the order of
// its keys.
func mergeMappings(to, from *yaml.Node) {
	if len(to.Content) == 0 {
		to.Style = from.Style
	}
	patched := make(map[string]*yaml.Node, len(from.Content)/2)
	for i := 0; i < len(from.Content); i += 2 {
		patched[from.Content[i].Value] = from.Content[i+1]
	}
	content := to.Content[:0]
	for i := 0; i < len(to.Content); i += 2 {
		k, v := to.Content[i], to.Content[i+1]
		p, ok := patched[k.Value]
		delete(patched, k.Value)
		switch {
		case !ok:
			keep(v)
		case p.Tag == kyaml.NodeTagNull:
			continue
		case v.Kind == yaml.MappingNode:
			mergeMappings(v, p)
		default:
			replaceNode(v, p)
		}
		content = append(content, k, v)
	}
	to.Content = content
	if len(patched) == 0 {
		return
	}
	var added []int
	for i := 0; i < len(from.Content); i += 2 {
		if v := patched[from.Content[i].Value]; v != nil && v.Tag != kyaml.NodeTagNull {
			added = append(added, i)
		}
	}
	slices.SortFunc(added, func(a, b int) int {
		return strings.Compare(from.Content[a].Value, from.Content[b].Value)
	})
	for _, i := range added {
		k, v := from.Content[i], from.Content[i+1]
		keep(v)
		to.Content = append(to.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: k.Value, Style: k.Style}, v)
	}
}

// replaceNode puts a scalar or a list in the place of another, in its style.
func replaceNode(to, from *yaml.Node) {
	style := to.Style
	if to.Kind == yaml.SequenceNode && len(to.Content) == 0 {
		style = from.Style
	}
	*to = *from
	to.Style = style
}

// keep does what kyaml does to a value that nothing meets: strings that older YAML
// takes for something else are quoted, and nulls below are left out, but not within
// lists.
func keep(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Style == 0 && kyaml.IsYNodeString(n) && !isPlain(n.Value) && kyaml.IsValueNonString(n.Value) {
			n.Style = yaml.DoubleQuotedStyle
		}
	case yaml.MappingNode:
		content := n.Content[:0]
		for i := 0; i < len(n.Content); i += 2 {
			if v := n.Content[i+1]; v.Tag != kyaml.NodeTagNull {
				keep(v)
				content = append(content, n.Content[i], v)
			}
		}
		n.Content = content
	}
}

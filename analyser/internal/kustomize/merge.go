package kustomize

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// A strategic merge is a merge of mappings: scalars and most lists are replaced, null
// removes, and the elements of lists of which the schema tells the keys are merged in
// turn. kyaml does it by walking all of the object, and at every node looks for a
// comment that is a schema and copies the schema that it has, which makes it the
// dearest step of most builds. Here it is done directly, as kyaml does it (upstream:
// kyaml/yaml/merge2 and walk, FieldSetter, ElementSetter), for trees in which nothing
// else can happen:
//
//   - there are no comments, anchors, aliases;
//   - no key begins with "$", none is there twice, none is "<<";
//   - the object holds no null, and what meets is of the same sort;
//   - elements that are merged by keys are mappings, all of which have the same of
//     these keys, and no two the same values of them (keyedBy).
//
// Everything else is kyaml's to merge. TestMerges and FuzzMerge compare the two, node
// by node.

// mergePlainly merges a patch, which is used up, into r, or reports that kyaml has to
// and changes nothing. kyaml's schema must not change meanwhile.
func mergePlainly(r, patch *resource.Resource) bool {
	to, from := r.YNode(), patch.YNode()
	if to == nil || from == nil || to.Kind != yaml.MappingNode || from.Kind != yaml.MappingNode ||
		!mergeable(to, from, nil) ||
		patch.NameChangeAllowed() || patch.KindChangeAllowed() {
		return false
	}
	name, namespace, kind := r.GetName(), r.GetNamespace(), r.GetKind()
	mergeMappings(to, from, nil)
	if r.IsNilOrEmpty() {
		return true
	}
	// As ApplySmPatch does; their errors are of no interest to it either.
	r.SetKind(kind)
	_ = r.SetName(name)
	_ = r.SetNamespace(namespace)
	return true
}

// mergeable reports that a part of a patch can be merged into the part of an object at
// the same place. Either may be missing, not both. s is what the schema says about the
// field.
func mergeable(to, from *yaml.Node, s *fieldSchema) bool {
	if to != nil && (!plain(to) || to.Tag == kyaml.NodeTagNull) || from != nil && !plain(from) {
		return false
	}
	if from != nil && from.Tag == kyaml.NodeTagNull {
		// It removes: what is there is not looked at, but for kyaml's walk to it.
		return from.Kind == yaml.ScalarNode && (to == nil || mergeable(to, nil, s))
	}
	if to != nil && from != nil && to.Kind != from.Kind {
		return false
	}
	switch kindOf(to, from) {
	case yaml.MappingNode:
		return mergeableMappings(to, from, s)
	case yaml.SequenceNode:
		if s != nil && s.associative {
			return mergeableLists(to, from, s)
		}
		return (to == nil || copied(to, false)) && (from == nil || copied(from, true))
	}
	return true
}

func kindOf(to, from *yaml.Node) yaml.Kind {
	if to != nil {
		return to.Kind
	}
	return from.Kind
}

// plain reports a node without what only kyaml knows how to treat.
func plain(n *yaml.Node) bool {
	if n.Anchor != "" || n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" {
		return false
	}
	switch n.Kind {
	case yaml.ScalarNode, yaml.SequenceNode:
		return true
	case yaml.MappingNode:
		return len(n.Content)%2 == 0 && plainKeys(n)
	}
	return false
}

// copied reports that a list, which is taken as it is, and all below holds nothing
// that is of more than one meaning.
func copied(n *yaml.Node, nulls bool) bool {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue // plain has looked
		}
		if !plain(c) || c.Tag == kyaml.NodeTagNull && (!nulls || c.Kind != yaml.ScalarNode) || !copied(c, nulls) {
			return false
		}
	}
	return true
}

// plainKeys reports that keys are scalars, differ, are no directives, and have a name:
// kyaml writes a value without one over the mapping.
func plainKeys(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Value == "" || strings.HasPrefix(k.Value, "$") || k.Value == "<<" || k.Tag == kyaml.NodeTagNull ||
			k.Anchor != "" || k.HeadComment != "" || k.LineComment != "" || k.FootComment != "" {
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

// typed is the schema of a mapping: the one that its place has, else that of the kind
// that it names, which of the two mappings of a merge the object's does first.
func typed(to, from *yaml.Node, s *fieldSchema) (_ *fieldSchema, known bool) {
	for _, n := range []*yaml.Node{to, from} {
		if s == nil && n != nil {
			if s, known = schemaOf(n); !known {
				return nil, false
			}
		}
	}
	return s, true
}

// maxPairs bounds the mappings that are merged here: every key of the one is looked for
// in the other.
const maxPairs = 1 << 20

func mergeableMappings(to, from *yaml.Node, s *fieldSchema) bool {
	s, known := typed(to, from, s)
	if !known || to != nil && from != nil && len(to.Content)*len(from.Content) > maxPairs {
		return false
	}
	for i := 0; to != nil && i < len(to.Content); i += 2 {
		k := to.Content[i].Value
		if !mergeable(to.Content[i+1], lookup(from, k), s.field(k)) {
			return false
		}
	}
	for i := 0; from != nil && i < len(from.Content); i += 2 {
		k := from.Content[i].Value
		if lookup(to, k) == nil && !mergeable(nil, from.Content[i+1], s.field(k)) {
			return false
		}
	}
	return true
}

// mergeMappings merges a mapping into another. What is added comes in the order of
// its keys.
func mergeMappings(to, from *yaml.Node, s *fieldSchema) {
	s, _ = typed(to, from, s)
	if len(to.Content) == 0 {
		to.Style = from.Style
	}
	content := to.Content[:0]
	for i := 0; i < len(to.Content); i += 2 {
		k, v := to.Content[i], to.Content[i+1]
		p, f := lookup(from, k.Value), s.field(k.Value)
		switch {
		case p == nil:
			keep(v, f)
		case p.Tag == kyaml.NodeTagNull:
			continue
		case v.Kind == yaml.MappingNode:
			mergeMappings(v, p, f)
		case v.Kind == yaml.SequenceNode && f != nil && f.associative:
			mergeLists(v, p, f)
		default:
			replaceNode(v, p)
		}
		content = append(content, k, v)
	}
	to.Content = content
	var added []int
	for i := 0; i < len(from.Content); i += 2 {
		// What null has removed is not there either, nor is it added.
		if lookup(to, from.Content[i].Value) == nil && from.Content[i+1].Tag != kyaml.NodeTagNull {
			added = append(added, i)
		}
	}
	slices.SortFunc(added, func(a, b int) int {
		return strings.Compare(from.Content[a].Value, from.Content[b].Value)
	})
	for _, i := range added {
		k, v := from.Content[i], from.Content[i+1]
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: k.Value, Style: k.Style}
		if f := s.field(k.Value); v.Kind == yaml.SequenceNode && f != nil && f.associative && len(v.Content) > 0 {
			// kyaml makes a list of its own, and knows no style of its key.
			keep(v, f)
			key.Style, v.Style = 0, 0
		} else {
			keep(v, f)
		}
		to.Content = append(to.Content, key, v)
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
// takes for something else are quoted, nulls below are left out, but not within lists,
// and lists that are merged by keys are made anew.
func keep(n *yaml.Node, s *fieldSchema) {
	switch n.Kind {
	case yaml.ScalarNode:
		quoteOld(n)
	case yaml.MappingNode:
		s, _ = typed(n, nil, s)
		content := n.Content[:0]
		for i := 0; i < len(n.Content); i += 2 {
			if v := n.Content[i+1]; v.Tag != kyaml.NodeTagNull {
				keep(v, s.field(n.Content[i].Value))
				content = append(content, n.Content[i], v)
			}
		}
		n.Content = content
	case yaml.SequenceNode:
		if s != nil && s.associative && len(n.Content) > 0 {
			for _, c := range n.Content {
				keep(c, s.element())
			}
			*n = yaml.Node{Kind: yaml.SequenceNode, Style: n.Style, Content: n.Content}
		}
	}
}

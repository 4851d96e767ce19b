package kustomize

import (
	"slices"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// keyedBy are the keys by which the elements of two lists, one of which may be
// missing, are merged: those of the schema that their elements have. It reports false
// where kyaml's rules for elements that lack keys, or share them, are needed
// (upstream: validateKeys, mergeValues and elementValues in kyaml/yaml/walk).
func keyedBy(to, from *yaml.Node, keys []string) ([]string, bool) {
	var have []string
	first := true
	for _, list := range []*yaml.Node{to, from} {
		if list == nil {
			continue
		}
		for i, e := range list.Content {
			if e.Kind != yaml.MappingNode || e.Tag == kyaml.NodeTagNull {
				return nil, false
			}
			n := 0
			for _, k := range keys {
				v := lookup(e, k)
				if v == nil {
					continue
				}
				if v.Kind != yaml.ScalarNode || v.Value == "" || v.Tag == kyaml.NodeTagNull {
					return nil, false
				}
				if first {
					have = append(have, k)
				} else if !slices.Contains(have, k) {
					return nil, false
				}
				n++
			}
			if n == 0 || n != len(have) {
				return nil, false
			}
			first = false
			if elementOf(list.Content[:i], e, have) != nil {
				return nil, false
			}
		}
	}
	return have, true
}

// elementOf is the element that has the same values of keys as e, or nil.
func elementOf(list []*yaml.Node, e *yaml.Node, keys []string) *yaml.Node {
	for _, c := range list {
		same := true
		for _, k := range keys {
			same = same && lookup(c, k).Value == lookup(e, k).Value
		}
		if same {
			return c
		}
	}
	return nil
}

// maxElements bounds the lists that are merged here: every element is compared with
// every other.
const maxElements = 256

func mergeableLists(to, from *yaml.Node, s *fieldSchema) bool {
	for _, list := range []*yaml.Node{to, from} {
		if list == nil {
			continue
		}
		if len(list.Content) > maxElements {
			return false
		}
		for _, e := range list.Content {
			if !plain(e) {
				return false
			}
		}
	}
	keys, ok := keyedBy(to, from, s.keys)
	if !ok || len(s.keys) == 0 {
		return false
	}
	if to != nil {
		for _, e := range to.Content {
			var p *yaml.Node
			if from != nil {
				p = elementOf(from.Content, e, keys)
			}
			if !mergeable(e, p, s.element()) {
				return false
			}
		}
	}
	if from != nil {
		for _, e := range from.Content {
			if (to == nil || elementOf(to.Content, e, keys) == nil) && !mergeable(nil, e, s.element()) {
				return false
			}
		}
	}
	return true
}

// mergeLists merges the elements of a list into those of another that have the same
// values of keys. With one key the elements come in the order of the patch, then those
// that only the object has; with several, what the patch adds comes first, then all
// that the object has (upstream: appendListNode, which takes out and appends what has
// several keys).
func mergeLists(to, from *yaml.Node, s *fieldSchema) {
	keys, _ := keyedBy(to, from, s.keys)
	style := to.Style
	if len(to.Content) == 0 {
		style = from.Style
	}
	var content []*yaml.Node
	for _, p := range from.Content {
		e := elementOf(to.Content, p, keys)
		switch {
		case e == nil:
			keep(p, s.element())
			content = append(content, p)
		default:
			mergeMappings(e, p, s.element())
			if len(keys) == 1 {
				content = append(content, e)
			}
		}
	}
	for _, e := range to.Content {
		patched := elementOf(from.Content, e, keys) != nil
		if !patched {
			keep(e, s.element())
		}
		if !patched || len(keys) > 1 {
			content = append(content, e)
		}
	}
	if len(content) == 0 {
		to.Style = style
		return
	}
	*to = yaml.Node{Kind: yaml.SequenceNode, Style: style, Content: content}
}

package kustomize

import (
	"go.yaml.in/yaml/v3"
)

// alignLines gives the nodes of to that have no line the lines of the nodes of
// from that say the same: mapping values by key, elements of sequences by
// content, then by index. It is for trees that kustomize rebuilt from text or
// from Go values, which loses where they came from.
func alignLines(from, to *yaml.Node) {
	if from != nil && to != nil {
		forgetLines(to)
		align(from, to)
	}
}

// forgetLines takes the lines from nodes that a library parsed from text of
// its own: those have a column.
func forgetLines(n *yaml.Node) {
	if n.Column != 0 {
		n.Line, n.Column = 0, 0
	}
	for _, c := range n.Content {
		forgetLines(c)
	}
}

func align(from, to *yaml.Node) {
	if to.Line == 0 && from.Kind == to.Kind && (to.Kind != yaml.ScalarNode || from.Value == to.Value) {
		to.Line = from.Line
	}
	if from.Kind != to.Kind {
		return
	}
	switch to.Kind {
	case yaml.DocumentNode:
		if len(from.Content) > 0 && len(to.Content) > 0 {
			align(from.Content[0], to.Content[0])
		}
	case yaml.MappingNode:
		old := make(map[string]int, len(from.Content)/2)
		for i := 0; i+1 < len(from.Content); i += 2 {
			old[from.Content[i].Value] = i
		}
		for i := 0; i+1 < len(to.Content); i += 2 {
			j, ok := old[to.Content[i].Value]
			if !ok {
				continue
			}
			if to.Content[i].Line == 0 {
				to.Content[i].Line = from.Content[j].Line
			}
			align(from.Content[j+1], to.Content[i+1])
		}
	case yaml.SequenceNode:
		alignElements(from.Content, to.Content)
	}
}

// alignElements pairs equal elements in order, then the rest by index where
// the sequences are equally long.
func alignElements(from, to []*yaml.Node) {
	next := 0
	for i, n := range to {
		if j := indexEqual(from[next:], n); j >= 0 {
			align(from[next+j], n)
			next += j + 1
		} else if len(from) == len(to) {
			align(from[i], n)
			next = min(max(next, i+1), len(from))
		}
	}
}

// alignWindow bounds how far alignElements looks, so that long sequences do
// not cost their length squared.
const alignWindow = 64

func indexEqual(list []*yaml.Node, n *yaml.Node) int {
	for i, m := range list[:min(len(list), alignWindow)] {
		if sameValue(m, n) {
			return i
		}
	}
	return -1
}

// sameValue compares content without order of keys, style and place. Tags are
// ignored: what was rebuilt from JSON resolves to the same values.
func sameValue(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind != yaml.MappingNode {
		for i := range a.Content {
			if !sameValue(a.Content[i], b.Content[i]) {
				return false
			}
		}
		return true
	}
	values := make(map[string]*yaml.Node, len(a.Content)/2)
	for i := 0; i+1 < len(a.Content); i += 2 {
		values[a.Content[i].Value] = a.Content[i+1]
	}
	for i := 0; i+1 < len(b.Content); i += 2 {
		v := values[b.Content[i].Value]
		if v == nil || !sameValue(v, b.Content[i+1]) {
			return false
		}
	}
	return true
}

// setLines gives every node at and below n that has no line this one.
func setLines(n *yaml.Node, line int) {
	if n.Line == 0 || n.Column != 0 {
		n.Line, n.Column = line, 0
	}
	for _, c := range n.Content {
		setLines(c, line)
	}
}

// header copies what kustomize rewrites when it patches: the top-level scalars
// and the metadata. alignLines of it restores their lines.
func header(n *yaml.Node) *yaml.Node {
	h := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return h
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case "apiVersion", "kind", "metadata":
			h.Content = append(h.Content, copyNode(n.Content[i]), copyNode(n.Content[i+1]))
		}
	}
	return h
}

func copyNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = copyNode(n.Content[i])
	}
	return &c
}

// lookup returns the value of the last key that is name, or nil.
func lookup(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

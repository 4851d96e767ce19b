package kustomize

import (
	"go.yaml.in/yaml/v3"
)

// Layers change copies of objects, and of a copy they change little: the rest is put
// back to what it was copied from as soon as the layer is done. What a build keeps of
// an object is then what differs from the file that it is written in.

// settle ends the changes of an entry.
func (e *entry) settle() {
	if e.base != nil && e.traced == nil && !e.res.IsNil() {
		reuse(e.base, e.res.YNode())
	}
	e.base = nil
}

// reuse puts nodes of from in the place of equal ones below to, and reports whether
// to equals from as a whole, lines and comments included. Neither may change after
// that.
func reuse(from, to *yaml.Node) bool {
	if from == to {
		return true
	}
	same := from.Kind == to.Kind && from.Style == to.Style && from.Line == to.Line && from.Column == to.Column &&
		from.Tag == to.Tag && from.Value == to.Value && from.Anchor == to.Anchor &&
		from.Alias == nil && to.Alias == nil && len(from.Content) == len(to.Content) &&
		from.HeadComment == to.HeadComment && from.LineComment == to.LineComment && from.FootComment == to.FootComment
	if from.Kind != to.Kind {
		return false
	}
	if to.Kind == yaml.MappingNode {
		return reusePairs(from, to) && same
	}
	for i, n := range to.Content {
		if i < len(from.Content) && reuse(from.Content[i], n) {
			to.Content[i] = from.Content[i]
		} else {
			same = false
		}
	}
	return same
}

// reuseWindow bounds how far a key is looked for, so that long mappings do not cost
// their length squared.
const reuseWindow = 64

// reusePairs is reuse for the pairs of mappings, which may have moved.
func reusePairs(from, to *yaml.Node) bool {
	same := len(from.Content) == len(to.Content)
	next := 0
	for i := 0; i+1 < len(to.Content); i += 2 {
		at := keyFrom(from.Content, to.Content[i].Value, next)
		if at < 0 {
			same = false
			continue
		}
		same = same && at == i
		next = at + 2
		for k := range 2 {
			if reuse(from.Content[at+k], to.Content[i+k]) {
				to.Content[i+k] = from.Content[at+k]
			} else {
				same = false
			}
		}
	}
	return same
}

// keyFrom looks for a key, from next on and then from the beginning; -1 is none near.
func keyFrom(content []*yaml.Node, key string, next int) int {
	pairs := len(content) / 2
	for step := range min(pairs, reuseWindow) {
		if at := (next/2 + step) % pairs * 2; content[at].Value == key {
			return at
		}
	}
	return -1
}

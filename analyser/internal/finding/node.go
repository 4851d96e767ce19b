package finding

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// field is the node at a path of keys, nil when there is none.
func field(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = resolved(n)
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	return resolved(n)
}

func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text is the scalar at a path, or "".
func text(n *yaml.Node, keys ...string) string {
	if f := field(n, keys...); f != nil && f.Kind == yaml.ScalarNode {
		return f.Value
	}
	return ""
}

// items are the elements of the list at a path.
func items(n *yaml.Node, keys ...string) []*yaml.Node {
	if f := field(n, keys...); f != nil && f.Kind == yaml.SequenceNode {
		return f.Content
	}
	return nil
}

// texts are the scalars of the list at a path.
func texts(n *yaml.Node, keys ...string) []string {
	var out []string
	for _, i := range items(n, keys...) {
		if i = resolved(i); i.Kind == yaml.ScalarNode {
			out = append(out, i.Value)
		}
	}
	return out
}

// written is where a value of an object is written; the document when the
// build computed the value.
func (m *Model) written(o *kustomize.Object, n *yaml.Node) position.Position {
	if n != nil && n.Line != 0 {
		if at := m.Positions.Position(position.Pos(n.Line)); !at.IsZero() {
			return at
		}
	}
	return m.Positions.Position(o.Origin)
}

// earlier orders places by path and line.
func earlier(a, b position.Position) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return a.Line - b.Line
}

// some lists the first names and counts the rest.
func some[T ~string](names []T, most int) string {
	var out []string
	for i, n := range names {
		if i == most {
			return strings.Join(out, ", ") + " and " + plural(len(names)-i, "more", "more")
		}
		out = append(out, string(n))
	}
	if n := len(out); n > 1 {
		return strings.Join(out[:n-1], ", ") + " and " + out[n-1]
	}
	return strings.Join(out, "")
}

// byCluster collects things under the clusters on which they are, and gives
// them back in the order of the names.
type byCluster[T any] map[cluster.Name][]T

func (b byCluster[T]) names() []cluster.Name { return slices.Sorted(maps.Keys(b)) }

// mostFacts bounds the facts of one finding.
const mostFacts = 40

// plural is a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

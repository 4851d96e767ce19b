package kustomize

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// TestReuse: what a copy did not change is the original again, and what the copy says
// stays what it was, whatever one place of it was changed.
func TestReuse(t *testing.T) {
	const text = "a: {b: [1, {c: d}], e: 'f'}\ng: |\n  h\ni: [j, k]\nl:\n  m: n\n"
	read := func() *yaml.Node {
		set := &position.Set{}
		return document.NewReader(set, document.Limits{}).Text(text, set.Add("a.yaml", 10)+1).Documents[0].Node()
	}
	from := read()
	same := copyNode(from)
	if !reuse(from, same) {
		t.Error("a copy does not equal its original")
	}
	for i, n := range same.Content {
		if n != from.Content[i] {
			t.Errorf("part %d of a copy was not reused", i)
		}
	}
	places := len(everything(from))
	changes := []func(*yaml.Node){
		func(n *yaml.Node) { n.Value += "x" }, func(n *yaml.Node) { n.Line++ }, func(n *yaml.Node) { n.Column++ },
		func(n *yaml.Node) { n.Style ^= yaml.DoubleQuotedStyle }, func(n *yaml.Node) { n.Tag += "x" }, func(n *yaml.Node) { n.LineComment = "#" },
		func(n *yaml.Node) { n.HeadComment = "#" }, func(n *yaml.Node) { n.FootComment = "#" }, func(n *yaml.Node) { n.Anchor = "x" },
		func(n *yaml.Node) {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode}, &yaml.Node{Kind: yaml.ScalarNode})
		},
		func(n *yaml.Node) { n.Kind = yaml.ScalarNode }, func(n *yaml.Node) { n.Content = nil },
	}
	for place := range places {
		for i, change := range changes {
			to, at := copyNode(from), 0
			var walk func(*yaml.Node)
			walk = func(n *yaml.Node) {
				if at++; at == place+1 {
					change(n)
					return
				}
				for _, c := range n.Content {
					walk(c)
				}
			}
			walk(to)
			want, original := everything(to), everything(from)
			if equal := reuse(from, to); equal != cmp.Equal(want, original) {
				t.Errorf("place %d, change %d: equal is %v", place, i, equal)
			}
			if diff := cmp.Diff(want, everything(to)); diff != "" {
				t.Errorf("place %d, change %d: the copy says something else:\n%s", place, i, diff)
			}
			if diff := cmp.Diff(original, everything(from)); diff != "" {
				t.Errorf("place %d, change %d: the original was changed:\n%s", place, i, diff)
			}
		}
	}
}

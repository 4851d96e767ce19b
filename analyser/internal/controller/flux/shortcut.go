package flux

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
)

// A substituted object goes through text: it is written as YAML, its variables
// are replaced there, and it is read again (asText, asNode). Almost always that
// is the same as replacing the variables in each scalar by itself and putting
// the keys in order, which is what a shortcut does, at a small part of the
// cost. Scalars that are not simple take the way through text alone, in a
// document of their own; an object for which the two could differ takes it
// whole:
//
//   - a key holds a variable, or is no string, or stands there twice;
//   - an expression or a value reaches beyond its scalar, or is not plain text;
//   - a scalar is so long that it could be written over several lines, which may
//     fall into an expression.
//
// TestShortcuts compares the two on all objects of the corpus and of the golden
// censuses, FuzzShortcut on others.
type shortcut struct {
	*substitution
	// whole says that every variable of the object can be replaced.
	whole bool
	// unknown are the scalars that depend on one that cannot.
	unknown map[*yaml.Node]string
	failed  bool
}

// shortcutLimits bound what is worth a shortcut.
const (
	maxShortcutText = 4 << 10
	maxShortcutUses = 64
)

// shortcut substitutes one object without the way through text, or returns nil.
func (s *substitution) shortcut(o *kustomize.Object, res *controller.Result) *kustomize.Object {
	content := o.Tree.Open()
	if s.byText || o.History != nil || len(content.Unknown) > 0 {
		return nil
	}
	absent := map[string]bool{}
	plain := eachScalar(content.Node, func(n *yaml.Node) bool {
		w := writtenScalar(n)
		if w != nil {
			s.absent(w.expression, absent)
		}
		return w != nil
	})
	missing := len(absent) > 0 || !s.certain() && !s.complete
	if !plain || missing && s.complete && s.strict {
		return nil
	}
	cut := shortcut{substitution: s, whole: s.complete || !missing && s.certain(), unknown: map[*yaml.Node]string{}}
	n := cut.through(content.Node)
	if n == nil {
		return nil
	}
	if missing {
		s.record(o, absent, res)
	}
	out := *o
	var unknown map[*yaml.Node]string
	if !s.complete {
		if len(cut.unknown) > 0 {
			unknown = cut.unknown
		}
		out.UnknownIdentity = unknownIdentity(n, unknown)
	}
	out.Tree = packed.Of(n, unknown)
	s.identify(&out, res)
	return &out
}

// through returns what asNode makes of the text of an object after its
// variables are replaced, with the lines of n; nil when that takes text. It
// shares what does not change with n.
func (s *shortcut) through(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	out := s.node(n, place{})
	if s.failed {
		return nil
	}
	return out
}

// place is what matters of where a node stands: how deep, the length of its
// key, and whether something around it is in flow style.
type place struct {
	depth, key int
	flow       bool
}

func (at place) below(n *yaml.Node, key int) place {
	return place{depth: at.depth + 1, key: key, flow: at.flow || n.Style&yaml.FlowStyle != 0}
}

func (s *shortcut) node(n *yaml.Node, at place) *yaml.Node {
	if s.failed || at.depth > 100 {
		s.failed = true
		return n
	}
	switch n.Kind {
	case yaml.MappingNode:
		return s.mapping(n, at)
	case yaml.SequenceNode:
		return s.sequence(n, at)
	case yaml.ScalarNode:
		return s.scalar(n, at)
	}
	s.failed = true
	return n
}

func (s *shortcut) sequence(n *yaml.Node, at place) *yaml.Node {
	content := n.Content
	for i, c := range n.Content {
		if v := s.node(c, at.below(n, 0)); v != c {
			if &content[0] == &n.Content[0] {
				content = append([]*yaml.Node(nil), n.Content...)
			}
			content[i] = v
		}
	}
	return collection(n, "!!seq", content)
}

// mapping replaces the values and puts the keys in the order of the library.
func (s *shortcut) mapping(n *yaml.Node, at place) *yaml.Node {
	if len(n.Content) == 0 {
		return collection(n, "!!map", nil)
	}
	order := keyOrder(n)
	if order == nil {
		s.failed = true
		return n
	}
	content := n.Content
	for to, from := range order {
		k, v := n.Content[2*from], n.Content[2*from+1]
		below := at.below(n, len(k.Value))
		newKey, newValue := normalKey(k, below.flow), s.node(v, below)
		if newKey == nil || s.failed {
			s.failed = true
			return n
		}
		if to == from && newKey == k && newValue == v {
			continue
		}
		if &content[0] == &n.Content[0] {
			content = append([]*yaml.Node(nil), n.Content...)
		}
		content[2*to], content[2*to+1] = newKey, newValue
	}
	return collection(n, "!!map", content)
}

// collection is n with other content, or n.
func collection(n *yaml.Node, tag string, content []*yaml.Node) *yaml.Node {
	var style yaml.Style
	if len(content) == 0 {
		style = yaml.FlowStyle
	}
	if n.Tag == tag && n.Style == style && bare(n) && (len(content) == 0 || &content[0] == &n.Content[0]) {
		return n
	}
	return &yaml.Node{Kind: n.Kind, Tag: tag, Style: style, Content: content, Line: n.Line}
}

// bare reports a node without what reading it again would lose.
func bare(n *yaml.Node) bool {
	return n.Anchor == "" && n.Column == 0 && n.HeadComment == "" && n.LineComment == "" && n.FootComment == ""
}

func (s *shortcut) scalar(n *yaml.Node, at place) *yaml.Node {
	if strings.IndexByte(n.Value, '$') < 0 {
		if simple(n) {
			if n.Tag == "!!str" && n.Style == 0 && bare(n) {
				return n
			}
			return carried(n, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: n.Value})
		}
		if to := normalScalar(n, at.flow); to != nil {
			return carried(n, to)
		}
		s.failed = true
		return n
	}
	w := writtenScalar(n)
	if w == nil || w.wide(at) || at.flow && n.Tag != "!!str" {
		s.failed = true
		return n
	}
	v := s.replace(n, w)
	if v == nil {
		s.failed = true
		return n
	}
	return v
}

// replace is what a scalar with variables becomes; nil when that takes text.
func (s *shortcut) replace(n *yaml.Node, w *emitted) *yaml.Node {
	text, marks := w.before+"\n", newMarks(w.before)
	var err error
	switch {
	case s.whole:
		text, err = w.expression.evaluate(s.vars, s.strict && s.complete)
	case s.certain():
		text, _, err = w.expression.partial(s.vars, marks.mark)
	}
	if err != nil {
		return nil
	}
	to := readScalar(text)
	if to == nil {
		return nil
	}
	to = carried(n, to)
	if s.complete {
		return to
	}
	if strings.Contains(to.Value, marks.fence) {
		var name string
		to.Value, name = marks.restore(to.Value)
		s.unknown[to] = name
	}
	if !s.certain() && strings.Contains(to.Value, "$") {
		if name, changes := s.couldChange(to.Value); changes {
			s.unknown[to] = name
		}
	}
	return to
}

// carried is what carryLines makes of two scalars. to is not changed.
func carried(from, to *yaml.Node) *yaml.Node {
	c := *to
	c.Line, c.Column = from.Line, 0
	c.Style = carriedStyle(from, &c)
	return &c
}

package packed

import (
	"encoding/binary"
	"sync"

	"go.yaml.in/yaml/v3"
)

// A packed tree is the number of its nodes, then each node before its children:
//
//	head   one byte: kind, tag, whether a line and more follow
//	more   one byte, where the head says so: which of the rest follow
//	line   the difference to the line of the node before, where it is another
//	rest   tag, style, column, anchor, comments, unknown
//	value  length and text of a scalar; the number of children of others
//
// Numbers are varints as of encoding/binary.
const (
	kindScalar = iota
	kindMapping
	kindSequence
	kindOther // with its value in the rest
	kindMask  = 3

	tagShift = 2
	tagMask  = 15
	tagOther = 15 // in the rest

	headLine = 1 << 6
	headMore = 1 << 7
)

const (
	moreStyle = 1 << iota
	moreColumn
	moreAnchor
	moreComments
	moreUnknown
	// moreValue is a collection with a value.
	moreValue
)

// tags are those with a number, fewer than tagOther.
var tags = [...]string{
	"", "!!str", "!!map", "!!seq", "!!int", "!!bool", "!!null", "!!float", "!!binary", "!!timestamp", "!!merge",
}

func tagNumber(tag string) int {
	for i, t := range tags {
		if t == tag {
			return i
		}
	}
	return tagOther
}

// encoder writes one tree.
type encoder struct {
	out   []byte
	nodes int
	line  int
	of    *Content
}

// buffers are what trees are written in before their length is known.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// pack writes a tree; false for one that cannot be written.
func pack(c *Content) (string, bool) {
	if c.Node == nil {
		return "", false
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	e := encoder{out: (*buffer)[:0], of: c}
	ok := e.node(c.Node)
	*buffer = e.out[:0]
	if !ok {
		return "", false
	}
	var head [binary.MaxVarintLen64]byte
	return string(append(binary.AppendUvarint(head[:0], uint64(e.nodes)), e.out...)), true
}

func (e *encoder) node(n *yaml.Node) bool {
	if n == nil || n.Alias != nil || n.Kind == yaml.AliasNode {
		return false
	}
	e.nodes++
	kind := kindOther
	switch n.Kind {
	case yaml.ScalarNode:
		if len(n.Content) > 0 {
			return false
		}
		kind = kindScalar
	case yaml.MappingNode:
		kind = kindMapping
	case yaml.SequenceNode:
		kind = kindSequence
	}
	tag := tagNumber(n.Tag)
	unknown, isUnknown := "", false
	if e.of.Unknown != nil {
		unknown, isUnknown = e.of.Unknown[n]
	}
	more := byte(0)
	mark := func(bit byte, on bool) {
		if on {
			more |= bit
		}
	}
	mark(moreStyle, n.Style != 0)
	mark(moreColumn, n.Column != 0)
	mark(moreAnchor, n.Anchor != "")
	mark(moreComments, n.HeadComment != "" || n.LineComment != "" || n.FootComment != "")
	mark(moreUnknown, isUnknown)
	mark(moreValue, n.Value != "" && kind != kindScalar)
	head := byte(kind | tag<<tagShift)
	if n.Line != e.line {
		head |= headLine
	}
	if more != 0 || kind == kindOther {
		head |= headMore
	}
	e.out = append(e.out, head)
	if head&headMore != 0 {
		e.out = append(e.out, more)
	}
	if n.Line != e.line {
		e.out = binary.AppendVarint(e.out, int64(n.Line-e.line))
		e.line = n.Line
	}
	if tag == tagOther {
		e.text(n.Tag)
	}
	if head&headMore != 0 {
		if kind == kindOther {
			e.number(int(n.Kind))
		}
		if more&moreStyle != 0 {
			e.number(int(n.Style))
		}
		if more&moreColumn != 0 {
			e.out = binary.AppendVarint(e.out, int64(n.Column))
		}
		if more&moreAnchor != 0 {
			e.text(n.Anchor)
		}
		if more&moreComments != 0 {
			e.text(n.HeadComment)
			e.text(n.LineComment)
			e.text(n.FootComment)
		}
		if more&moreUnknown != 0 {
			e.text(unknown)
		}
		if more&moreValue != 0 {
			e.text(n.Value)
		}
	}
	if kind == kindScalar {
		e.text(n.Value)
		return true
	}
	e.number(len(n.Content))
	for _, child := range n.Content {
		if !e.node(child) {
			return false
		}
	}
	return true
}

func (e *encoder) number(n int) { e.out = binary.AppendUvarint(e.out, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(len(s))
	e.out = append(e.out, s...)
}

package packed

import (
	"go.yaml.in/yaml/v3"
)

// decoder reads what an encoder wrote. Its input is never anything else.
type decoder struct {
	in       string
	nodes    []yaml.Node
	pointers []*yaml.Node
	line     int
	unknown  map[*yaml.Node]string
}

// unpack reads a tree. The texts of its nodes are parts of the packed one.
func unpack(text string) *Content {
	d := decoder{in: text}
	n := d.number()
	d.nodes, d.pointers = make([]yaml.Node, n), make([]*yaml.Node, n-1)
	root := d.node()
	return &Content{root, d.unknown}
}

func (d *decoder) node() *yaml.Node {
	n := &d.nodes[0]
	d.nodes = d.nodes[1:]
	head, more := d.byte(), byte(0)
	if head&headMore != 0 {
		more = d.byte()
	}
	if head&headLine != 0 {
		d.line += d.signed()
	}
	n.Line = d.line
	if tag := int(head >> tagShift & tagMask); tag == tagOther {
		n.Tag = d.text()
	} else {
		n.Tag = tags[tag]
	}
	kind := head & kindMask
	switch kind {
	case kindScalar:
		n.Kind = yaml.ScalarNode
	case kindMapping:
		n.Kind = yaml.MappingNode
	case kindSequence:
		n.Kind = yaml.SequenceNode
	case kindOther:
		n.Kind = yaml.Kind(d.number())
	}
	if more != 0 {
		d.rest(n, more)
	}
	if kind == kindScalar {
		n.Value = d.text()
		return n
	}
	count := d.number()
	if count == 0 {
		return n
	}
	n.Content = d.pointers[:count:count]
	d.pointers = d.pointers[count:]
	for i := range n.Content {
		n.Content[i] = d.node()
	}
	return n
}

func (d *decoder) rest(n *yaml.Node, more byte) {
	if more&moreStyle != 0 {
		n.Style = yaml.Style(d.number())
	}
	if more&moreColumn != 0 {
		n.Column = d.signed()
	}
	if more&moreAnchor != 0 {
		n.Anchor = d.text()
	}
	if more&moreComments != 0 {
		n.HeadComment, n.LineComment, n.FootComment = d.text(), d.text(), d.text()
	}
	if more&moreUnknown != 0 {
		if d.unknown == nil {
			d.unknown = map[*yaml.Node]string{}
		}
		d.unknown[n] = d.text()
	}
	if more&moreValue != 0 {
		n.Value = d.text()
	}
}

func (d *decoder) byte() byte {
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

func (d *decoder) number() int {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := d.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int(n)
		}
	}
}

// signed is a varint with the sign in its last bit.
func (d *decoder) signed() int {
	n := uint64(d.number())
	return int(n>>1) ^ -int(n&1)
}

func (d *decoder) text() string {
	n := d.number()
	s := d.in[:n]
	d.in = d.in[n:]
	return s
}

// Package packed keeps YAML trees in little memory. A yaml.Node takes some 160
// bytes, whatever it says; most trees are looked at once or twice, and kept until
// the end in case something asks again.
//
// A Tree that is packed holds a few bytes beside the text of each node and is
// opened again for who looks at it. What is opened is let go when the collector
// runs and nobody holds it any more, so that looking again and again costs
// little, and what nobody looks at costs nothing.
package packed

import (
	"sync/atomic"
	"weak"

	"go.yaml.in/yaml/v3"
)

// Content is a tree as its readers see it. It must not be changed.
type Content struct {
	// Node is the root.
	Node *yaml.Node
	// Unknown has a word about some of the nodes at and below Node.
	Unknown map[*yaml.Node]string
}

// Tree holds a Content. It is safe for concurrent use.
//
// Once a Tree is packed, two readers may see different nodes that say the same.
// A node is to be compared with, and looked up among, those of one Content.
type Tree struct{ state atomic.Pointer[state] }

// state is either live or packed; opened is what was opened last of the latter.
type state struct {
	live   *Content
	packed string
	opened weak.Pointer[Content]
}

// Of returns a tree that is not packed. unknown may be nil.
func Of(n *yaml.Node, unknown map[*yaml.Node]string) *Tree {
	t := &Tree{}
	t.state.Store(&state{live: &Content{n, unknown}})
	return t
}

// Open returns the content. Of a nil Tree it is empty.
func (t *Tree) Open() *Content {
	if t == nil {
		return &Content{}
	}
	s := t.state.Load()
	if s.live != nil {
		return s.live
	}
	if c := s.opened.Value(); c != nil && !anew.Load() {
		return c
	}
	c := unpack(s.packed)
	t.state.Store(&state{packed: s.packed, opened: weak.Make(c)})
	return c
}

// Room is how many nodes may stay as they are: packing is for those who have many.
// It is safe for concurrent use.
type Room struct{ left atomic.Int64 }

// NewRoom returns a room for a number of nodes.
func NewRoom(nodes int) *Room {
	r := &Room{}
	r.left.Store(int64(nodes))
	return r
}

// Keep takes the room of a tree, or packs it when there is none left; packed says
// which. What was taken is not given back.
func (r *Room) Keep(t *Tree) (packed bool) {
	if t != nil && t.state.Load().live == nil {
		return true
	}
	if r.left.Load() > 0 && !anew.Load() {
		if r.left.Add(-count(t.Node())) >= 0 {
			return false
		}
	}
	t.Pack()
	return true
}

func count(n *yaml.Node) int64 {
	if n == nil {
		return 0
	}
	sum := int64(1)
	for _, c := range n.Content {
		sum += count(c)
	}
	return sum
}

// OpenAnew makes every Open of a packed tree give another copy, as the collector does
// by chance, and leaves no room for any that are not. What they say is the same; that is
// what this is for, in tests.
func OpenAnew(on bool) { anew.Store(on) }

var anew atomic.Bool

// Node is the root of the content; nil of a nil Tree.
func (t *Tree) Node() *yaml.Node { return t.Open().Node }

// Pack packs the tree, unless it is packed, or cannot be: a tree with aliases, or
// without a root, stays as it is.
func (t *Tree) Pack() {
	if t == nil {
		return
	}
	s := t.state.Load()
	if s.live == nil {
		return
	}
	if text, ok := pack(s.live); ok {
		t.state.CompareAndSwap(s, &state{packed: text, opened: weak.Make(s.live)})
	}
}

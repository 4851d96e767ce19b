package packed

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// grower makes trees of any shape out of bytes.
type grower struct {
	in      []byte
	left    int
	unknown map[*yaml.Node]string
}

func (g *grower) byte() int {
	if len(g.in) == 0 {
		return 0
	}
	b := g.in[0]
	g.in = g.in[1:]
	return int(b)
}

func (g *grower) text() string {
	n := min(g.byte(), len(g.in))
	s := string(g.in[:n])
	g.in = g.in[n:]
	return s
}

func (g *grower) node(depth int) *yaml.Node {
	g.left--
	kinds := []yaml.Kind{yaml.ScalarNode, yaml.MappingNode, yaml.SequenceNode, yaml.DocumentNode, 0, 64}
	n := &yaml.Node{Kind: kinds[g.byte()%len(kinds)]}
	fields := g.byte()
	has := func(bit int) bool { return fields&bit != 0 }
	if has(1) {
		n.Tag = append(tags[:], "!own", "!!set")[g.byte()%(len(tags)+2)]
	}
	if has(2) {
		n.Style = yaml.Style(g.byte())
	}
	if has(4) {
		n.Line = (g.byte() - 100) << (g.byte() % 40)
	}
	if has(8) {
		n.Column = g.byte() - 10
	}
	if has(16) {
		n.Anchor = g.text()
	}
	if has(32) {
		n.HeadComment, n.LineComment, n.FootComment = g.text(), g.text(), g.text()
	}
	if has(64) {
		g.unknown[n] = g.text()
	}
	if has(128) || n.Kind == yaml.ScalarNode {
		n.Value = g.text()
	}
	if n.Kind != yaml.ScalarNode && depth < 20 {
		for range g.byte() % 6 {
			if g.left <= 0 {
				break
			}
			n.Content = append(n.Content, g.node(depth+1))
		}
	}
	return n
}

func grow(in []byte) *Content {
	g := grower{in: in, left: 300, unknown: map[*yaml.Node]string{}}
	return &Content{g.node(0), g.unknown}
}

// flat is a node with the number of its children, and the word about it.
type flat struct {
	node     yaml.Node
	children int
	unknown  string
	marked   bool
}

// walk are all nodes of a content, in order.
func walk(c *Content) []flat {
	var out []flat
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		f := flat{node: *n, children: len(n.Content)}
		f.node.Content = nil
		f.unknown, f.marked = c.Unknown[n]
		out = append(out, f)
		for _, child := range n.Content {
			visit(child)
		}
	}
	visit(c.Node)
	return out
}

func compare(t *testing.T, want, got *Content) {
	t.Helper()
	a, b := walk(want), walk(got)
	for i := range min(len(a), len(b)) {
		if diff := cmp.Diff(a[i], b[i], cmp.AllowUnexported(flat{})); diff != "" {
			t.Fatalf("node %d of a packed tree is another one (-want +got):\n%s", i, diff)
		}
	}
	if len(a) != len(b) || len(want.Unknown) != len(got.Unknown) {
		t.Fatalf("%d nodes, %d of them marked; when packed %d and %d", len(a), len(want.Unknown), len(b), len(got.Unknown))
	}
}

func FuzzPack(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		in := make([]byte, random.IntN(2000))
		for i := range in {
			in[i] = byte(random.Uint32())
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want := grow(in)
		text, ok := pack(want)
		if !ok {
			t.Fatal("a tree without aliases is not packed")
		}
		compare(t, want, unpack(text))
	})
}

func TestTree(t *testing.T) {
	inner := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "v", Line: 4}
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 3, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "k", Line: 4}, inner}}
	want := &Content{root, map[*yaml.Node]string{inner: "NAME"}}
	tree := Of(root, want.Unknown)
	if tree.Node() != root {
		t.Error("a tree that is not packed holds another root")
	}
	tree.Pack()
	if tree.Node() != root {
		t.Error("a tree is opened anew although what was packed is still held")
	}
	for range 2 { // what is let go is opened again
		var first *Content
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { compare(t, want, tree.Open()) })
		}
		wait.Wait()
		first = tree.Open()
		if tree.Open() != first {
			t.Error("a tree that is held is opened twice")
		}
		runtime.KeepAlive(first)
		runtime.GC()
	}
	runtime.KeepAlive(want)

	alias := Of(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.AliasNode, Alias: inner}}}, nil)
	alias.Pack()
	if n := alias.Node(); len(n.Content) != 1 || n.Content[0].Alias != inner {
		t.Error("a tree with an alias is another one when packed")
	}
	var none *Tree
	none.Pack()
	if none.Node() != nil || Of(nil, nil).Node() != nil {
		t.Error("there is a root where there is none")
	}
}

// TestRoom: what has room stays as it is, what comes after is packed.
func TestRoom(t *testing.T) {
	tree := func() *Tree { return Of(document().Node, nil) } // 29 nodes
	room := NewRoom(60)
	first, second, third := tree(), tree(), tree()
	for i, c := range []struct {
		tree   *Tree
		packed bool
	}{{first, false}, {second, false}, {third, true}, {third, true}, {tree(), true}} {
		before := c.tree.Node()
		if got := room.Keep(c.tree); got != c.packed {
			t.Errorf("tree %d is packed: %t, want %t", i, got, c.packed)
		}
		if live := c.tree.state.Load().live != nil; live == c.packed {
			t.Errorf("tree %d is as it was: %t", i, live)
		}
		compare(t, &Content{Node: before}, c.tree.Open())
	}
}

// TestLetGo is the point of it: a tree that nobody holds takes little more than
// its text.
func TestLetGo(t *testing.T) {
	const trees, children = 200, 100
	live := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	kept := make([]*Tree, trees)
	for i := range kept {
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for j := range children {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "value", Line: j})
		}
		kept[i] = Of(n, nil)
	}
	open := live() - before
	for _, k := range kept {
		k.Pack()
		k.Open()
	}
	packed := live() - before
	if packed*10 > open {
		t.Errorf("%d bytes are live when packed, %d when not", packed, open)
	}
	runtime.KeepAlive(kept)
}

func BenchmarkPack(b *testing.B) {
	c := document()
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			pack(c)
		}
	})
	text, _ := pack(c)
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			unpack(text)
		}
	})
}

// document is a tree of the size of most.
func document() *Content {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := range 14 {
		n.Content = append(n.Content,
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "someKey", Line: i},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "some-value", Line: i})
	}
	return &Content{Node: n}
}

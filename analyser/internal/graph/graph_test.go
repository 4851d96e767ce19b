package graph

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse makes a graph of "ab bc d": edges of two letters, nodes of one.
func parse(s string) *Graph[string] {
	g := &Graph[string]{}
	for _, w := range strings.Fields(s) {
		if len(w) == 1 {
			g.AddNode(w)
		} else {
			g.AddEdge(w[:1], w[1:])
		}
	}
	return g
}

func TestReach(t *testing.T) {
	g := parse("ab bc cb de f")
	for from, want := range map[string]string{"a": "abc", "b": "bc", "d": "de", "f": "f", "z": "", "fd": "def", "": ""} {
		if got := strings.Join(g.Reach(strings.Split(from, "")...), ""); got != want {
			t.Errorf("from %q: %q, want %q", from, got, want)
		}
	}
}

func TestCycles(t *testing.T) {
	for edges, want := range map[string][][]string{
		"":                       nil,
		"ab bc ac":               nil,
		"aa":                     {{"a"}},
		"ab ba":                  {{"a", "b"}},
		"zy yz ab ba bz":         {{"a", "b"}, {"y", "z"}},
		"ab bc ca cd de ed ff g": {{"a", "b", "c"}, {"d", "e"}, {"f"}},
		"ab ac bd cd da":         {{"a", "b", "c", "d"}},
	} {
		if d := cmp.Diff(want, parse(edges).Cycles()); d != "" {
			t.Errorf("%q (-want +got):\n%s", edges, d)
		}
	}
}

// TestCyclesByReach compares with the definition, on every graph of three
// nodes: a and b are on one cycle when each reaches the other.
func TestCyclesByReach(t *testing.T) {
	names := []string{"a", "b", "c"}
	for bits := range 1 << 9 {
		g := &Graph[string]{}
		for i := range 9 {
			g.AddNode(names[i/3])
			if bits>>i&1 == 1 {
				g.AddEdge(names[i/3], names[i%3])
			}
		}
		together := map[[2]string]bool{}
		for _, c := range g.Cycles() {
			for _, x := range c {
				for _, y := range c {
					together[[2]string{x, y}] = true
				}
			}
		}
		for _, x := range names {
			for _, y := range names {
				want := slices.Contains(g.Reach(g.Successors(x)...), y) && slices.Contains(g.Reach(g.Successors(y)...), x)
				if together[[2]string{x, y}] != want {
					t.Fatalf("graph %09b: %s and %s on one cycle: %v, want %v", bits, x, y, !want, want)
				}
			}
		}
	}
}

func TestDeepGraphsDoNotRecurse(t *testing.T) {
	g := &Graph[int]{}
	const n = 30_000
	for i := range n {
		g.AddEdge(i, (i+1)%n)
	}
	if c := g.Cycles(); len(c) != 1 || len(c[0]) != n {
		t.Errorf("%d cycles", len(c))
	}
	if got := len(g.Reach(0)); got != n {
		t.Errorf("%d nodes are reached", got)
	}
}

func TestOrder(t *testing.T) {
	g := parse("cb ca b z")
	if got := strings.Join(g.Nodes(), ""); got != "abcz" {
		t.Errorf("nodes %q", got)
	}
	if got := strings.Join(g.Successors("c"), ""); got != "ab" {
		t.Errorf("successors %q", got)
	}
}

// Package graph is a plain directed graph without domain words: reachability,
// cycles and an order that depends on nothing but the nodes.
package graph

import (
	"cmp"
	"slices"
)

// Graph is a directed graph over ordered nodes. The zero value is empty and
// ready to use. It is not safe for concurrent use.
type Graph[N cmp.Ordered] struct {
	edges map[N]map[N]bool
}

// AddNode makes sure that n is in the graph.
func (g *Graph[N]) AddNode(n N) {
	if g.edges == nil {
		g.edges = map[N]map[N]bool{}
	}
	if g.edges[n] == nil {
		g.edges[n] = map[N]bool{}
	}
}

// AddEdge makes sure that both nodes and the edge between them are in the
// graph.
func (g *Graph[N]) AddEdge(from, to N) {
	g.AddNode(from)
	g.AddNode(to)
	g.edges[from][to] = true
}

// Nodes returns all nodes in ascending order.
func (g *Graph[N]) Nodes() []N { return sortedKeys(g.edges) }

// Successors returns the nodes that n has edges to, in ascending order.
func (g *Graph[N]) Successors(n N) []N { return sortedKeys(g.edges[n]) }

// Reach returns every node that can be reached from the given ones, those
// included as far as they are in the graph, in ascending order.
func (g *Graph[N]) Reach(from ...N) []N {
	seen := map[N]bool{}
	stack := slices.Clone(from)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, ok := g.edges[n]; !ok || seen[n] {
			continue
		}
		seen[n] = true
		for m := range g.edges[n] {
			stack = append(stack, m)
		}
	}
	return sortedKeys(seen)
}

// Cycles returns the strongly connected components that hold a cycle (more
// than one node, or a node with an edge to itself), each in ascending order,
// ordered by their first node.
func (g *Graph[N]) Cycles() [][]N {
	// Tarjan's algorithm with an explicit stack: hostile input nests deeply.
	type frame struct {
		n    N
		succ []N
	}
	index, low := map[N]int{}, map[N]int{}
	on := map[N]bool{}
	var stack []N
	var out [][]N
	for _, root := range g.Nodes() {
		if _, ok := index[root]; ok {
			continue
		}
		push := func(n N) frame {
			index[n], low[n] = len(index), len(index)
			stack, on[n] = append(stack, n), true
			return frame{n, g.Successors(n)}
		}
		work := []frame{push(root)}
		for len(work) > 0 {
			f := &work[len(work)-1]
			if len(f.succ) > 0 {
				m := f.succ[0]
				f.succ = f.succ[1:]
				if _, ok := index[m]; !ok {
					work = append(work, push(m))
				} else if on[m] {
					low[f.n] = min(low[f.n], index[m])
				}
				continue
			}
			n := f.n
			work = work[:len(work)-1]
			if len(work) > 0 {
				p := work[len(work)-1].n
				low[p] = min(low[p], low[n])
			}
			if low[n] != index[n] {
				continue
			}
			var comp []N
			for {
				m := stack[len(stack)-1]
				stack, on[m] = stack[:len(stack)-1], false
				comp = append(comp, m)
				if m == n {
					break
				}
			}
			if len(comp) > 1 || g.edges[n][n] {
				slices.Sort(comp)
				out = append(out, comp)
			}
		}
	}
	slices.SortFunc(out, func(a, b []N) int { return cmp.Compare(a[0], b[0]) })
	return out
}

func sortedKeys[N cmp.Ordered, V any](m map[N]V) []N {
	keys := make([]N, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

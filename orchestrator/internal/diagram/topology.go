// Package diagram draws the topology of a census: clusters, who reconciles
// whom, and how many placements flow where. Collect it with Collector; DOT and
// Mermaid write it down for other programs, the HTML report draws it itself.
package diagram

import (
	"cmp"
	"slices"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Topology is what a census says about clusters and what flows between them.
type Topology struct {
	// Repository is its name in the report.
	Repository string
	// Nodes by level, then name.
	Nodes []Node
	// Flows by From, To and class, the repository first.
	Flows []Flow
	// Uncovered and Unplaced count placements that reach no cluster: nothing
	// covers the path, or nobody knows which cluster it is.
	Uncovered, Unplaced int
}

// Node is a cluster.
type Node struct {
	Name, Role string
	// Parent is the cluster whose controllers reach it, "" for one that
	// reconciles itself.
	Parent string
	// Level is 0 for a cluster that reconciles itself, else one more than that
	// of the cluster whose controllers reach it.
	Level int
}

// Flow is what one cluster's controllers put on a cluster.
type Flow struct {
	// From is the name of the cluster whose controllers apply, or "" when a
	// cluster reconciles itself straight from the repository.
	From, To string
	Class    string
	Count    int
}

// classes in the order in which they are drawn.
var classes = []string{"local", "remote_direct", "remote_hub_render", "unresolved"}

// Collector is a report.Handler that has filled in Topology when its End
// returns.
type Collector struct {
	report.Ignore
	Topology Topology
	flows    map[Flow]int
}

// Begin starts anew.
func (c *Collector) Begin(h *report.Header) error {
	c.Topology, c.flows = Topology{Repository: h.Repository}, map[Flow]int{}
	return nil
}

// Placement counts one.
func (c *Collector) Placement(p *report.Placement) error {
	switch {
	case p.Class == "uncovered":
		c.Topology.Uncovered++
	case p.Cluster == "":
		c.Topology.Unplaced++
	default:
		f := Flow{From: p.ControllerCluster, To: p.Cluster, Class: p.Class}
		if f.From == f.To {
			f.From = ""
		}
		c.flows[f]++
	}
	return nil
}

// End sorts.
func (c *Collector) End(census *report.Census) error {
	t := &c.Topology
	parent, role := map[string]string{}, map[string]string{}
	for _, cluster := range census.Clusters {
		parent[cluster.Name], role[cluster.Name] = cluster.ControllerCluster, cluster.Role
	}
	for f, n := range c.flows {
		f.Count = n
		t.Flows = append(t.Flows, f)
		for _, name := range []string{f.From, f.To} {
			// A cluster that no record describes is drawn all the same.
			if _, ok := parent[name]; !ok && name != "" {
				parent[name], role[name] = "", "cluster"
			}
		}
	}
	for name := range parent {
		n := Node{Name: name, Role: role[name], Parent: parent[name], Level: level(parent, name)}
		if n.Parent == name {
			n.Parent = ""
		}
		t.Nodes = append(t.Nodes, n)
	}
	slices.SortFunc(t.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(t.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
			cmp.Compare(slices.Index(classes, a.Class), slices.Index(classes, b.Class)), cmp.Compare(a.Class, b.Class))
	})
	return nil
}

// level counts the clusters above name; a circle ends where it closes.
func level(parent map[string]string, name string) int {
	seen := map[string]bool{}
	n := 0
	for !seen[name] {
		seen[name] = true
		up := parent[name]
		if up == "" || up == name {
			break
		}
		name = up
		n++
	}
	return n
}

// arrow is all flows between two ends.
type arrow struct {
	from, to string
	flows    []Flow
}

// arrows joins flows with the same ends; Flows are sorted.
func (t *Topology) arrows() []arrow {
	var out []arrow
	for _, f := range t.Flows {
		if n := len(out); n > 0 && out[n-1].from == f.From && out[n-1].to == f.To {
			out[n-1].flows = append(out[n-1].flows, f)
			continue
		}
		out = append(out, arrow{f.From, f.To, []Flow{f}})
	}
	return out
}

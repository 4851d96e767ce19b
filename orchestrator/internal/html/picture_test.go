package html

import (
	"fmt"
	"testing"

	"github.com/gitops-reach/reach/orchestrator/internal/diagram"
)

// TestPicture: every cluster has a box, no two boxes overlap, and each line ends
// at the box that it is for, however clusters hang together.
func TestPicture(t *testing.T) {
	wide := &diagram.Topology{Repository: "r"}
	for i := range 60 {
		parent, level := "", 0
		if i >= 4 {
			parent, level = fmt.Sprint("c", i%4), 1
		}
		wide.Nodes = append(wide.Nodes, diagram.Node{Name: fmt.Sprint("c", i), Parent: parent, Level: level})
		wide.Flows = append(wide.Flows, diagram.Flow{From: parent, To: fmt.Sprint("c", i), Class: "local", Count: i})
	}
	chain := &diagram.Topology{Nodes: []diagram.Node{{Name: "a"}, {Name: "b", Parent: "a", Level: 1}, {Name: "c", Parent: "b", Level: 2}}}
	circle := &diagram.Topology{Nodes: []diagram.Node{{Name: "a", Parent: "b", Level: 1}, {Name: "b", Parent: "a", Level: 1}}}
	beside := &diagram.Topology{
		Nodes: []diagram.Node{{Name: "a"}, {Name: "b"}, {Name: "c", Parent: "a", Level: 1}},
		Flows: []diagram.Flow{{From: "a", To: "c", Class: "remote_direct", Count: 1}, {From: "b", To: "c", Class: "remote_direct", Count: 2}},
	}
	for name, topology := range map[string]*diagram.Topology{"wide": wide, "chain": chain, "circle": circle, "beside": beside} {
		p := draw(topology, nil)
		if len(p.Boxes) != len(topology.Nodes)+1 {
			t.Errorf("%s: %d boxes for %d clusters", name, len(p.Boxes), len(topology.Nodes))
		}
		ends := map[[2]int]bool{}
		for i, a := range p.Boxes {
			ends[[2]int{a.X, a.Y + a.Height/2}] = true
			if a.X < 0 || a.Y < 0 || a.X+a.Width > p.Width || a.Y+a.Height > p.Height {
				t.Errorf("%s: %+v lies outside of %d×%d", name, a, p.Width, p.Height)
			}
			for _, b := range p.Boxes[:i] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Errorf("%s: %s covers %s", name, a.Name, b.Name)
				}
			}
		}
		for _, c := range p.Curves {
			if !ends[[2]int{c.X, c.Y}] {
				t.Errorf("%s: a line ends at %d,%d, where no box is", name, c.X, c.Y)
			}
		}
	}
	if p := draw(&diagram.Topology{}, nil); p != nil {
		t.Error("nothing is drawn as something")
	}
	if got := len(draw(beside, nil).Curves); got != 4 {
		t.Errorf("%d lines, want one to each hub and two to the spoke", got)
	}
}

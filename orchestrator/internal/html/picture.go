package html

import (
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/diagram"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// picture is the topology as boxes and lines, in user units of the SVG.
type picture struct {
	Width, Height int
	Boxes         []box
	Curves        []curve
	// Summary says in words what the picture shows.
	Summary string
	// More counts clusters that are not drawn.
	More int
}

type box struct {
	X, Y, Width, Height int
	// Kind is "repository" or the role of the cluster.
	Kind, Name, Title, Role string
	Lines                   []string
}

type curve struct {
	Path string
	// Kind is the class of the first flow.
	Kind   string
	X, Y   int
	Labels []label
}

type label struct {
	X, Y int
	Text string
	Kind string
}

// Measures of the picture.
const (
	boxWidth    = 200
	gapWidth    = 176
	lineHeight  = 15
	rowGap      = 16
	margin      = 8
	mostDrawn   = 400
	nameColumns = 22
)

// drawing lays out a tree: the repository, the clusters that reconcile
// themselves, and to the right of each the clusters that it reaches.
type drawing struct {
	topology *diagram.Topology
	landed   map[string]map[string]int
	children map[string][]string
	node     map[string]diagram.Node
	flows    map[[2]string][]diagram.Flow
	seen     map[string]bool
	boxes    map[string]box
	// beside are flows that are no line of the tree, by where they go.
	beside     map[string][]diagram.Flow
	picture    *picture
	y, columns int
}

// draw returns the picture of a topology; landed counts placements by cluster
// and class. It is nil when no cluster is known.
func draw(t *diagram.Topology, landed map[string]map[string]int) *picture {
	if len(t.Nodes) == 0 {
		return nil
	}
	d := &drawing{
		topology: t, landed: landed, children: map[string][]string{}, node: map[string]diagram.Node{},
		flows: map[[2]string][]diagram.Flow{}, seen: map[string]bool{}, boxes: map[string]box{}, beside: map[string][]diagram.Flow{}, picture: &picture{}, y: margin,
	}
	for i, n := range t.Nodes {
		if i == mostDrawn {
			d.picture.More = len(t.Nodes) - mostDrawn
			break
		}
		d.node[n.Name] = n
		d.children[n.Parent] = append(d.children[n.Parent], n.Name)
	}
	for _, f := range t.Flows {
		key := [2]string{f.From, f.To}
		d.flows[key] = append(d.flows[key], f)
		if n, ok := d.node[f.To]; ok && f.From != n.Parent && f.From != "" {
			d.beside[f.To] = append(d.beside[f.To], f)
		}
	}
	var middles []int
	for _, name := range d.children[""] {
		middles = append(middles, d.cluster(name, 1))
	}
	// Clusters that only a circle reaches.
	for _, n := range t.Nodes {
		if _, drawn := d.node[n.Name]; drawn && !d.seen[n.Name] {
			middles = append(middles, d.cluster(n.Name, 1))
		}
	}
	for _, n := range t.Nodes {
		if b, ok := d.boxes[n.Name]; ok {
			for _, f := range d.beside[n.Name] {
				if from, ok := d.boxes[f.From]; ok && from.X < b.X {
					d.picture.Curves = append(d.picture.Curves, connect(from, b, []diagram.Flow{f}).bare())
				}
			}
		}
	}
	d.repository(middles)
	d.picture.Width = 2*margin + boxWidth + d.columns*(gapWidth+boxWidth)
	d.picture.Height = d.y - rowGap + margin
	d.summary()
	return d.picture
}

// cluster draws a cluster in a column and all that hangs from it to the right,
// and returns the height of its middle.
func (d *drawing) cluster(name string, column int) int {
	d.seen[name] = true
	d.columns = max(d.columns, column)
	n := d.node[name]
	b := box{
		X: margin + column*(boxWidth+gapWidth), Width: boxWidth,
		Kind: n.Role, Name: middle(report.Printable(name), nameColumns), Title: report.Printable(name), Role: n.Role,
	}
	if local := d.landed[name]["local"]; local > 0 && n.Parent != "" {
		b.Lines = append(b.Lines, number(local)+" local")
	}
	if n.Parent == "" {
		if unknown := d.landed[name]["unresolved"]; unknown > 0 && len(d.flows[[2]string{"", name}]) == 0 {
			b.Lines = append(b.Lines, number(unknown)+" unresolved")
		}
	}
	for _, f := range d.beside[name] {
		b.Lines = append(b.Lines, middle(number(f.Count)+" "+words(f.Class)+" from "+report.Printable(f.From), nameColumns+8))
	}
	labels := d.flows[[2]string{n.Parent, name}]
	b.Height = 14 + lineHeight*max(2+len(b.Lines), len(labels))
	top := d.y
	var below []int
	for _, child := range d.children[name] {
		if !d.seen[child] {
			below = append(below, d.cluster(child, column+1))
		}
	}
	b.Y = top
	if len(below) > 0 {
		b.Y = max(top, (below[0]+below[len(below)-1])/2-b.Height/2)
	}
	d.y = max(d.y, b.Y+b.Height+rowGap)
	d.boxes[name] = b
	d.picture.Boxes = append(d.picture.Boxes, b)
	for _, child := range d.children[name] {
		d.line(b, child)
	}
	return b.Y + b.Height/2
}

// line draws from a box to that of a cluster, which is drawn unless they are a
// circle.
func (d *drawing) line(from box, to string) {
	if b, ok := d.boxes[to]; ok {
		flows := d.flows[[2]string{d.node[to].Parent, to}]
		d.picture.Curves = append(d.picture.Curves, connect(from, b, flows))
	}
}

func connect(from, to box, flows []diagram.Flow) curve {
	x1, y1 := from.X+from.Width, from.Y+from.Height/2
	x2, y2 := to.X, to.Y+to.Height/2
	// The line bends early, so that it runs straight below its labels.
	bend := x1 + 28
	c := curve{Path: fmt.Sprintf("M%d %dC%d %d %d %d %d %dH%d", x1, y1, bend, y1, x1+8, y2, x1+40, y2, x2-7), X: x2, Y: y2}
	c.Kind = "none"
	for i, f := range flows {
		if i == 0 {
			c.Kind = f.Class
		}
		// Two above the line, the rest below it.
		y := y2 - 5 - lineHeight*(min(len(flows), 2)-1-i)
		if i >= 2 {
			y = y2 + 13 + lineHeight*(i-2)
		}
		c.Labels = append(c.Labels, label{x2 - 12, y, number(f.Count) + " " + words(f.Class), f.Class})
	}
	return c
}

// bare leaves the labels out.
func (c curve) bare() curve {
	c.Labels = nil
	return c
}

func (d *drawing) repository(middles []int) {
	t := d.topology
	b := box{
		X: margin, Width: boxWidth, Kind: "repository", Role: "repository",
		Name: middle(report.Printable(t.Repository), nameColumns), Title: report.Printable(t.Repository),
	}
	if t.Uncovered > 0 {
		b.Lines = append(b.Lines, number(t.Uncovered)+" uncovered")
	}
	if t.Unplaced > 0 {
		b.Lines = append(b.Lines, number(t.Unplaced)+" cluster unknown")
	}
	b.Height = 14 + lineHeight*(2+len(b.Lines))
	b.Y = max(margin, (middles[0]+middles[len(middles)-1])/2-b.Height/2)
	d.y = max(d.y, b.Y+b.Height+rowGap)
	for _, name := range d.children[""] {
		d.line(b, name)
	}
	d.picture.Boxes = append(d.picture.Boxes, b)
}

func (d *drawing) summary() {
	hubs, spokes := 0, 0
	for _, n := range d.topology.Nodes {
		switch n.Role {
		case "hub":
			hubs++
		case "spoke":
			spokes++
		}
	}
	var parts []string
	for _, p := range []struct {
		count int
		noun  string
	}{{hubs, "hub"}, {spokes, "spoke"}, {len(d.topology.Nodes) - hubs - spokes, "cluster"}} {
		if p.count > 0 {
			parts = append(parts, many(p.count, p.noun))
		}
	}
	d.picture.Summary = "The repository is on the left, then " + strings.Join(parts, ", ") + ". The numbers are placements."
}

// middle shortens s to width runes by leaving out its middle.
func middle(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	head := width / 2
	return string(r[:head]) + "…" + string(r[len(r)-(width-1-head):])
}

package kustomize

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Cause is the step of a build that set a value.
type Cause struct {
	Kind StepKind
	// What is the field of the kustomization file or of the Flux object that
	// asked for the step ("patches", "images", "namespace", "substitute"), or
	// "name reference", "hash".
	What string
	// Pos is the line that set the value: in the patch, in the kustomization
	// file, or in the spec of the Flux object. For a substitution it is where
	// the variable is used.
	Pos position.Pos
	// Variables are those that a substitution used, sorted.
	Variables []string
	// Secret reports a value that the step took from a Secret.
	Secret bool
}

// Record says that a step set a value and what it overrode. Records form the
// history of one value, the last one first; they are immutable and shared.
type Record struct {
	Cause
	// Old is the value that was overridden, with its line; nil when there was
	// none.
	Old *yaml.Node
	// Before is how Old came about; nil when its own document says so.
	Before *Record
}

// Removed is a value that a step took away for good.
type Removed struct {
	Path fieldpath.Path
	*Record
}

// History is what the steps of a traced build did to an object.
type History struct {
	// Values are the leaves (see fieldpath.Leaves) of the object that its own
	// document did not write as they are.
	Values map[*yaml.Node]*Record
	// Removed in the order in which it happened.
	Removed []Removed
}

// Follow is the history of to, which a step made of from: leaves that say the
// same keep the record that h has of them, the others get one with the cause
// that is asked for them. old or new is nil when there is none. A nil h is the
// history of an object as it is written.
func (h *History) Follow(from, to *yaml.Node, cause func(path fieldpath.Path, old, new *yaml.Node) Cause) *History {
	f := &follower{old: h, cause: cause, out: &History{Values: map[*yaml.Node]*Record{}}}
	if h != nil {
		f.out.Removed = slices.Clip(h.Removed)
	}
	f.pair(from, to, nil)
	return f.out
}

// follower compares two states of an object.
type follower struct {
	old   *History
	out   *History
	cause func(fieldpath.Path, *yaml.Node, *yaml.Node) Cause
	// patched also counts a value that was written again, on another line.
	patched bool
	changed bool
}

func (f *follower) record(n *yaml.Node) *Record {
	if f.old == nil {
		return nil
	}
	return f.old.Values[n]
}

func isLeaf(n *yaml.Node) bool { return len(n.Content) == 0 }

func (f *follower) pair(from, to *yaml.Node, p fieldpath.Path) {
	switch {
	case isLeaf(from) && isLeaf(to):
		same := from.Kind == to.Kind && from.Value == to.Value
		if same && f.patched && identifies(p) {
			to.Line = from.Line // a patch repeats it to say what it patches
		}
		if !same || f.patched && to.Line != 0 && to.Line != from.Line {
			f.set(p, from, to)
		} else if r := f.record(from); r != nil {
			f.out.Values[to] = r
		}
	case from.Kind == to.Kind && from.Kind == yaml.MappingNode:
		f.mapping(from, to, p)
	case from.Kind == to.Kind && from.Kind == yaml.SequenceNode:
		f.sequence(from, to, p)
	default:
		f.remove(from, p)
		f.add(to, p)
	}
}

// identifies reports a field by which a patch names the object or the element of
// a list that it is for.
func identifies(p fieldpath.Path) bool {
	switch last := len(p) - 1; {
	case last == 0:
		return p[0].Key == "apiVersion" || p[0].Key == "kind"
	case last == 1:
		return p[0].Key == "metadata" && (p[1].Key == "name" || p[1].Key == "namespace")
	default:
		return last > 1 && p[last-1].Element && p[last-1].Key == p[last].Key
	}
}

// set records that a leaf became another.
func (f *follower) set(p fieldpath.Path, from, to *yaml.Node) {
	f.changed = true
	f.out.Values[to] = &Record{Cause: f.cause(p, from, to), Old: from, Before: f.record(from)}
}

// add records the leaves of what was not there.
func (f *follower) add(to *yaml.Node, p fieldpath.Path) {
	fieldpath.Leaves(to, func(q fieldpath.Path, _, n *yaml.Node) bool {
		if q = slices.Concat(p, q); !internal(q) {
			f.changed = true
			f.out.Values[n] = &Record{Cause: f.cause(q, nil, n)}
		}
		return true
	})
}

// remove records the leaves of what is gone.
func (f *follower) remove(from *yaml.Node, p fieldpath.Path) {
	fieldpath.Leaves(from, func(q fieldpath.Path, _, n *yaml.Node) bool {
		// An empty mapping that is filled has lost nothing.
		if q = slices.Concat(p, q); !internal(q) && (n.Kind == yaml.ScalarNode || len(q) > len(p)) {
			f.changed = true
			f.out.Removed = append(f.out.Removed, Removed{q, &Record{Cause: f.cause(q, n, nil), Old: n, Before: f.record(n)}})
		}
		return true
	})
}

func (f *follower) mapping(from, to *yaml.Node, p fieldpath.Path) {
	at := make(map[string]*yaml.Node, len(from.Content)/2)
	for i := 0; i+1 < len(from.Content); i += 2 {
		at[from.Content[i].Value] = from.Content[i+1]
	}
	for i := 0; i+1 < len(to.Content); i += 2 {
		key := to.Content[i].Value
		q := append(p[:len(p):len(p)], fieldpath.Step{Key: key})
		old, ok := at[key]
		delete(at, key)
		switch {
		case internal(q):
		case ok:
			f.pair(old, to.Content[i+1], q)
		default:
			f.add(to.Content[i+1], q)
		}
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		if key := from.Content[i].Value; at[key] == from.Content[i+1] {
			f.remove(from.Content[i+1], append(p[:len(p):len(p)], fieldpath.Step{Key: key}))
		}
	}
}

// sequence pairs elements by the key that tells them apart, or else equal ones
// in order. What is left between two pairs is paired in order too, as far as
// both sides have as many.
func (f *follower) sequence(from, to *yaml.Node, p fieldpath.Path) {
	partner := f.partners(from, to)
	used := make([]bool, len(from.Content))
	for _, j := range partner {
		if j >= 0 {
			used[j] = true
		}
	}
	for i, c := range to.Content {
		q := append(p[:len(p):len(p)], fieldpath.Element(to, i))
		if j := partner[i]; j >= 0 {
			f.pair(from.Content[j], c, q)
		} else {
			f.add(c, q)
		}
	}
	for j, c := range from.Content {
		if !used[j] {
			f.remove(c, append(p[:len(p):len(p)], fieldpath.Element(from, j)))
		}
	}
}

// partners gives each element of to its index in from, or -1.
func (f *follower) partners(from, to *yaml.Node) []int {
	partner := make([]int, len(to.Content))
	if by := fieldpath.KeyOf(to); by != "" && by == fieldpath.KeyOf(from) {
		at := make(map[string]int, len(from.Content))
		for j := range from.Content {
			at[fieldpath.Element(from, j).Value] = j
		}
		for i := range to.Content {
			j, ok := at[fieldpath.Element(to, i).Value]
			if partner[i] = j; !ok {
				partner[i] = -1
			}
		}
		if !slices.Contains(partner, -1) || len(from.Content) != len(to.Content) {
			return partner
		}
	} else {
		next := 0
		for i, n := range to.Content {
			partner[i] = -1
			if j := indexEqual(from.Content[next:], n); j >= 0 {
				partner[i] = next + j
				next += j + 1
			}
		}
	}
	return fillGaps(partner, len(from.Content))
}

// fillGaps pairs what is unpaired between two pairs, where both sides have as
// many elements in between.
func fillGaps(partner []int, n int) []int {
	used := make([]bool, n)
	for _, j := range partner {
		if j >= 0 {
			used[j] = true
		}
	}
	var freeTo, freeFrom []int
	flush := func() {
		if len(freeTo) == len(freeFrom) {
			for k := range freeTo {
				partner[freeTo[k]] = freeFrom[k]
			}
		}
		freeTo, freeFrom = nil, nil
	}
	j := 0
	for i := range partner {
		if partner[i] < 0 {
			freeTo = append(freeTo, i)
			continue
		}
		for ; j < partner[i]; j++ {
			if !used[j] {
				freeFrom = append(freeFrom, j)
			}
		}
		flush()
		j = max(j, partner[i]+1)
	}
	for ; j < n; j++ {
		if !used[j] {
			freeFrom = append(freeFrom, j)
		}
	}
	flush()
	return partner
}

// internal reports an annotation that kustomize writes for itself.
func internal(p fieldpath.Path) bool {
	return len(p) == 3 && p[0].Key == "metadata" && p[1].Key == "annotations" &&
		(strings.HasPrefix(p[2].Key, "internal.config.kubernetes.io/") || slices.Contains(resource.BuildAnnotations, p[2].Key))
}

// traced is the history of an entry up to a copy of it.
type traced struct {
	node *yaml.Node
	*History
}

// trace starts the history of an entry that is as its document wrote it.
func (e *entry) trace() { e.traced = &traced{e.res.YNode(), &History{}} }

// note says that a step is done with the entry. What it made gets the line of
// the step where a library gave it none, and in a traced build all that the
// step changed is recorded. It must be called before the next step starts.
func (e *entry) note(c Cause) { e.noteEach(c, nil) }

// noteEach is note with the cause of each value; nil for the same for all.
func (e *entry) noteEach(c Cause, each func(path fieldpath.Path, old, new *yaml.Node) Cause) {
	if e.shared || e.res.IsNil() {
		return
	}
	n := e.res.YNode()
	if n == nil {
		return
	}
	if e.traced == nil {
		if c.Pos != 0 {
			setLines(n, int(c.Pos))
		}
		return
	}
	if each == nil {
		each = func(fieldpath.Path, *yaml.Node, *yaml.Node) Cause { return c }
	}
	f := &follower{
		old: e.traced.History, out: &History{Values: map[*yaml.Node]*Record{}, Removed: slices.Clip(e.traced.Removed)},
		patched: c.Kind == StepPatch || c.Kind == StepGenerator,
		cause: func(p fieldpath.Path, old, value *yaml.Node) Cause {
			c := each(p, old, value)
			switch {
			case value == nil:
			case c.Kind == StepTransformer && c.Pos != 0:
				// A replacement copies its source, line and all.
				value.Line, value.Column = int(c.Pos), 0
			case value.Line != 0 && value.Column == 0 && (old == nil || value.Line != old.Line):
				c.Pos = position.Pos(value.Line) // the step has more than one line
			case c.Pos != 0:
				value.Line, value.Column = int(c.Pos), 0
			}
			return c
		},
	}
	f.pair(e.traced.node, n, nil)
	if c.Pos != 0 {
		setLines(n, int(c.Pos))
	}
	if !f.changed {
		return
	}
	e.traced = &traced{History: &History{Values: map[*yaml.Node]*Record{}, Removed: f.out.Removed}}
	e.traced.node = copyWith(n, func(from, to *yaml.Node) {
		if r := f.out.Values[from]; r != nil {
			e.traced.Values[to] = r
		}
	})
}

// copyWith copies a tree and tells of each leaf and its copy.
func copyWith(n *yaml.Node, each func(from, to *yaml.Node)) *yaml.Node {
	c := *n
	if isLeaf(n) {
		each(n, &c)
		return &c
	}
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = copyWith(n.Content[i], each)
	}
	return &c
}

// history is that of the finished object at n; nil when nothing was traced.
func (e *entry) history(n *yaml.Node) *History {
	if e.traced == nil {
		return nil
	}
	f := &follower{
		old: e.traced.History, out: &History{Values: map[*yaml.Node]*Record{}, Removed: slices.Clip(e.traced.Removed)},
		cause: func(_ fieldpath.Path, old, _ *yaml.Node) Cause {
			pos := e.origin
			if old != nil && old.Line != 0 {
				pos = position.Pos(old.Line)
			}
			return Cause{Kind: StepTransformer, What: "written as YAML", Pos: pos}
		},
	}
	f.pair(e.traced.node, n, nil)
	return f.out
}

// Package template evaluates the templates of ResourceSets the way
// flux-operator does: Go's text/template between "<<" and ">>" with the
// functions of slim-sprig that depend on nothing but their arguments, slugify,
// toYaml and inputs (upstream: flux-operator internal/builder, newTemplate).
//
// The grammar is Go's own parser. The evaluator is ours, over the values that
// JSON has: text/template itself cannot be linked, since it finds methods by
// name, which keeps every method of the program alive. What it does not
// evaluate (some functions, some types) it says with ErrNotEvaluated; it never
// gives another text than the real one.
package template

import (
	"errors"
	"fmt"
	"strings"
	"text/template/parse"
)

// ErrNotEvaluated is wrapped by errors about what only the real tool evaluates.
var ErrNotEvaluated = errors.New("is not evaluated")

// ErrLimit is wrapped by errors about our own bounds.
var ErrLimit = errors.New("the templates render too much")

const (
	// maxText bounds a template, a rendered text and every value in between.
	maxText = 4 << 20
	// maxActions bounds the actions of one template: the parser and the
	// evaluator are recursive.
	maxActions = 10_000
	// maxDepth bounds templates that call each other.
	maxDepth = 200
)

// Budget bounds what several templates cost together: it counts steps and bytes.
type Budget struct{ left int }

// NewBudget is enough for any honest ResourceSet.
func NewBudget() *Budget { return &Budget{left: 16 << 20} }

func (b *Budget) spend(n int) error {
	if b.left -= n; b.left < 0 || n > maxText {
		return ErrLimit
	}
	return nil
}

// Text is what a template renders.
type Text struct {
	string
	// lines are the lines of the template, from 0, that wrote each line of the
	// text.
	lines []int
}

func (t *Text) String() string { return t.string }

// Line is the line of the template, from 0, that wrote line i of the text, from
// 0: where the line's first character that is no space stands.
func (t *Text) Line(i int) int {
	if i < 0 || len(t.lines) == 0 {
		return 0
	}
	return t.lines[min(i, len(t.lines)-1)]
}

// Render evaluates a template. An error that wraps neither ErrNotEvaluated nor
// ErrLimit is the template's own: the operator fails as well. No error repeats a
// value of the inputs.
func Render(text string, inputs map[string]any, budget *Budget) (*Text, error) {
	trees, err := read(text, budget)
	if err != nil {
		return nil, err
	}
	e := &evaluator{trees: trees, inputs: inputs, budget: budget, text: text}
	e.vars = []variable{{"$", nil}}
	if err := e.run(trees[root].Root); err != nil {
		return nil, err
	}
	return &Text{e.out.String(), e.lines}, nil
}

const root = "resourceset"

// read parses a template.
func read(text string, budget *Budget) (map[string]*parse.Tree, error) {
	if err := budget.spend(len(text)); err != nil {
		return nil, err
	}
	if strings.Count(text, "<<") > maxActions || strings.Count(text, "(") > maxActions {
		return nil, ErrLimit
	}
	trees, err := parse.Parse(root, text, "<<", ">>", names)
	if err != nil {
		return nil, errors.New("the template is no Go template: " + reason(err))
	}
	return trees, nil
}

// reason is the parser's error without its prefix and without what it quotes
// but names of functions.
func reason(err error) string {
	_, s, _ := strings.Cut(err.Error(), "template: "+root+":")
	line, s, _ := strings.Cut(s, ": ")
	if !strings.HasPrefix(s, "function ") && strings.ContainsAny(s, "\"`<") {
		s = s[:strings.IndexAny(s, "\"`<")] + "..."
	}
	return "line " + line + ": " + s
}

// Outlines are the texts that a template may render for inputs of which nothing
// is known, with mark in place of what an action writes: one for each way
// through its conditions, the bodies of its loops taken once. ok is false when
// they cannot be told.
func Outlines(text, mark string, budget *Budget) (texts []*Text, ok bool) {
	trees, err := read(text, budget)
	if err != nil {
		return nil, false
	}
	o := &outliner{trees: trees, text: text, mark: mark, budget: budget}
	conditions := o.conditions(trees[root].Root, 0)
	if conditions > maxConditions {
		return nil, false
	}
	seen := map[string]bool{}
	for choice := range 1 << conditions {
		o.choice, o.met, o.ok = choice, 0, true
		o.out = writer{text: text}
		o.list(trees[root].Root, 0)
		if !o.ok {
			return nil, false
		}
		if s := o.out.out.String(); !seen[s] {
			seen[s] = true
			texts = append(texts, &Text{s, o.out.lines})
		}
	}
	return texts, true
}

const maxConditions = 8

// outliner writes one way through a template.
type outliner struct {
	trees  map[string]*parse.Tree
	text   string
	mark   string
	budget *Budget
	out    writer
	// choice has a bit for each condition in the order in which they are met,
	// also those of the branches not taken.
	choice, met int
	ok          bool
}

// conditions counts the conditions of a list.
func (o *outliner) conditions(l *parse.ListNode, depth int) int {
	if l == nil || depth > maxConditions {
		return 0
	}
	n := 0
	for _, node := range l.Nodes {
		switch node := node.(type) {
		case *parse.IfNode:
			n += 1 + o.conditions(node.List, depth) + o.conditions(node.ElseList, depth)
		case *parse.WithNode:
			n += 1 + o.conditions(node.List, depth) + o.conditions(node.ElseList, depth)
		case *parse.RangeNode:
			n += 1 + o.conditions(node.List, depth) + o.conditions(node.ElseList, depth)
		case *parse.TemplateNode:
			if t := o.trees[node.Name]; t != nil {
				n += o.conditions(t.Root, depth+1)
			}
		}
	}
	return n
}

func (o *outliner) list(l *parse.ListNode, depth int) {
	if l == nil || !o.ok {
		return
	}
	if depth > maxConditions || o.budget.spend(len(l.Nodes)) != nil {
		o.ok = false
		return
	}
	branch := func(list, other *parse.ListNode) {
		taken := o.choice>>o.met&1 == 0
		o.met++
		if taken {
			o.list(list, depth)
			o.met += o.conditions(other, depth)
		} else {
			o.met += o.conditions(list, depth)
			o.list(other, depth)
		}
	}
	for _, node := range l.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			o.write(string(node.Text), int(node.Pos))
		case *parse.ActionNode:
			if len(node.Pipe.Decl) == 0 {
				o.write(o.mark, int(node.Pos))
			}
		case *parse.IfNode:
			branch(node.List, node.ElseList)
		case *parse.WithNode:
			branch(node.List, node.ElseList)
		case *parse.RangeNode:
			branch(node.List, node.ElseList)
		case *parse.TemplateNode:
			if t := o.trees[node.Name]; t != nil {
				o.list(t.Root, depth+1)
			}
		}
	}
}

func (o *outliner) write(s string, pos int) {
	if o.budget.spend(len(s)) != nil || o.out.out.Len() > maxText {
		o.ok = false
		return
	}
	o.out.write(s, pos)
}

// writer keeps which line of a template wrote each line of a text.
type writer struct {
	text  string
	out   strings.Builder
	lines []int
	// blank reports that the last line holds nothing but spaces so far.
	blank bool
	// known is the line of the template at the offset at.
	at, known int
}

// write writes s, which stands at an offset of the template when it is part of
// it.
func (w *writer) write(s string, pos int) {
	w.out.WriteString(s)
	line := w.line(pos)
	literal := pos+len(s) <= len(w.text) && w.text[pos:pos+len(s)] == s
	for first := true; ; first = false {
		part, rest, more := strings.Cut(s, "\n")
		if !first || len(w.lines) == 0 {
			w.lines, w.blank = append(w.lines, line), true
		}
		if w.blank && strings.TrimSpace(part) != "" {
			w.lines[len(w.lines)-1], w.blank = line, false
		}
		if !more {
			break
		}
		if s = rest; literal {
			line++
		}
	}
}

// line is the line of the template at an offset.
func (w *writer) line(pos int) int {
	pos = min(max(pos, 0), len(w.text))
	if pos < w.at {
		w.at, w.known = 0, 0
	}
	w.known += strings.Count(w.text[w.at:pos], "\n")
	w.at = pos
	return w.known
}

func failf(format string, args ...any) error { return fmt.Errorf("the template "+format, args...) }

func notEvaluated(what string) error {
	return fmt.Errorf("the template uses %s, which %w", what, ErrNotEvaluated)
}

package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// The values of an evaluation are nil, bool, string, int, int64, float64,
// []any, []string, []int, map[string]any and map[string]string: what JSON
// decodes to, and what the functions make of it.

type variable struct {
	name  string
	value any
}

// evaluator runs one template (upstream: text/template exec.go, with data nil
// and the option missingkey=error).
type evaluator struct {
	writer
	trees  map[string]*parse.Tree
	inputs map[string]any
	budget *Budget
	text   string
	vars   []variable
	depth  int
}

var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

func (e *evaluator) run(l *parse.ListNode) error {
	e.writer.text = e.text
	return e.list(nil, l)
}

func (e *evaluator) list(dot any, l *parse.ListNode) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := e.node(dot, n); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluator) print(s string, pos parse.Pos) error {
	if err := e.budget.spend(len(s)); err != nil {
		return err
	}
	if e.out.Len()+len(s) > maxText {
		return ErrLimit
	}
	e.write(s, int(pos))
	return nil
}

func (e *evaluator) node(dot any, n parse.Node) error {
	if err := e.budget.spend(1); err != nil {
		return err
	}
	switch n := n.(type) {
	case *parse.TextNode:
		return e.print(string(n.Text), n.Pos)
	case *parse.ActionNode:
		v, err := e.pipeline(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		s, err := printed(v)
		if err != nil {
			return err
		}
		return e.print(s, n.Pos)
	case *parse.IfNode:
		return e.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return e.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return e.loop(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.TemplateNode:
		return e.template(dot, n)
	case *parse.CommentNode:
		return nil
	}
	return notEvaluated(fmt.Sprintf("a node of kind %d", n.Type()))
}

// printed is what an action writes.
func printed(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "<no value>", nil
	case string:
		return v, nil
	case unordered:
		return "", errUnordered
	}
	return fmt.Sprint(v), nil
}

func (e *evaluator) branch(dot any, n *parse.BranchNode, with bool) error {
	defer e.pop(len(e.vars))
	v, err := e.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	switch {
	case !truth(v):
		return e.list(dot, n.ElseList)
	case with:
		return e.list(v, n.List)
	}
	return e.list(dot, n.List)
}

func (e *evaluator) pop(n int) { e.vars = e.vars[:n] }

func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int:
		return v != 0
	case int64:
		return v != 0
	case float64:
		return v != 0
	}
	n, _ := length(v)
	return n > 0
}

// length of what has one.
func length(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return len(v), true
	case map[string]any:
		return len(v), true
	case map[string]string:
		return len(v), true
	}
	l, ok := elements(v)
	return len(l), ok
}

// elements are those of a list.
func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		return anys(v), true
	case unordered:
		return anys(v), true
	case []int:
		return anys(v), true
	}
	return nil, false
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func (e *evaluator) loop(dot any, n *parse.RangeNode) error {
	defer e.pop(len(e.vars))
	v, err := e.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	mark, ran, decl := len(e.vars), false, n.Pipe.Decl
	one := func(index, elem any) (stop bool, err error) {
		ran = true
		defer e.pop(mark)
		if err := e.budget.spend(1); err != nil {
			return true, err
		}
		switch {
		case len(decl) > 1 && n.Pipe.IsAssign:
			_ = e.assign(decl[0].Ident[0], index) // the pipeline has set both before
			_ = e.assign(decl[1].Ident[0], elem)
		case len(decl) > 1:
			e.vars[mark-2].value, e.vars[mark-1].value = index, elem
		case len(decl) == 1 && n.Pipe.IsAssign:
			_ = e.assign(decl[0].Ident[0], elem)
		case len(decl) == 1:
			e.vars[mark-1].value = elem
		}
		switch err := e.list(elem, n.List); {
		case err == errBreak:
			return true, nil
		case err == errContinue || err == nil:
			return false, nil
		default:
			return true, err
		}
	}
	switch v := v.(type) {
	case nil:
	case int, int64:
		count, _ := integer(v)
		if len(decl) > 1 {
			return failf("ranges over a number with two variables")
		}
		for i := range count {
			var elem any = i
			if _, ok := v.(int); ok {
				elem = int(i)
			}
			if stop, err := one(nil, elem); stop {
				return err
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if stop, err := one(k, v[k]); stop {
				return err
			}
		}
	case map[string]string:
		for _, k := range sortedKeys(v) {
			if stop, err := one(k, v[k]); stop {
				return err
			}
		}
	case unordered:
		return errUnordered
	default:
		list, ok := elements(v)
		if !ok {
			return failf("ranges over something that is no list, object or number")
		}
		for i, elem := range list {
			if stop, err := one(i, elem); stop {
				return err
			}
		}
	}
	if ran {
		return nil
	}
	return e.list(dot, n.ElseList)
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (e *evaluator) template(dot any, n *parse.TemplateNode) error {
	t := e.trees[n.Name]
	if t == nil {
		return failf("calls a template that is not defined")
	}
	if e.depth++; e.depth > maxDepth {
		return ErrLimit
	}
	v, err := e.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	vars := e.vars
	e.vars = []variable{{"$", v}}
	err = e.list(v, t.Root)
	e.vars = vars
	e.depth--
	if err == errBreak || err == errContinue {
		return notEvaluated("break out of a template")
	}
	return err
}

func (e *evaluator) assign(name string, v any) error {
	for i := len(e.vars) - 1; i >= 0; i-- {
		if e.vars[i].name == name {
			e.vars[i].value = v
			return nil
		}
	}
	return failf("sets an undefined variable")
}

func (e *evaluator) variable(name string) (any, error) {
	for i := len(e.vars) - 1; i >= 0; i-- {
		if e.vars[i].name == name {
			return e.vars[i].value, nil
		}
	}
	return nil, failf("uses an undefined variable")
}

// none stands for the piped argument of a command that has none.
type none struct{}

func (e *evaluator) pipeline(dot any, p *parse.PipeNode) (any, error) {
	if p == nil {
		return nil, nil
	}
	var v any = none{}
	for _, c := range p.Cmds {
		var err error
		if v, err = e.command(dot, c, v); err != nil {
			return nil, err
		}
	}
	for _, d := range p.Decl {
		if p.IsAssign {
			if err := e.assign(d.Ident[0], v); err != nil {
				return nil, err
			}
		} else {
			e.vars = append(e.vars, variable{d.Ident[0], v})
		}
	}
	return v, nil
}

func (e *evaluator) command(dot any, c *parse.CommandNode, final any) (any, error) {
	if err := e.budget.spend(1); err != nil {
		return nil, err
	}
	first := c.Args[0]
	if n, ok := first.(*parse.IdentifierNode); ok {
		return e.call(dot, n.Ident, c.Args[1:], final)
	}
	if _, piped := final.(none); len(c.Args) > 1 || !piped {
		return nil, failf("gives arguments to something that is no function")
	}
	switch n := first.(type) {
	case *parse.NilNode:
		return nil, failf("has nil as a command")
	case *parse.NumberNode, *parse.StringNode, *parse.BoolNode:
		return e.argument(dot, n, anything)
	}
	return e.value(dot, first)
}

// value is that of a node that is no constant.
func (e *evaluator) value(dot any, n parse.Node) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fields(dot, "", n.Ident)
	case *parse.VariableNode:
		v, err := e.variable(n.Ident[0])
		if err != nil {
			return nil, err
		}
		return fields(v, n.Ident[0], n.Ident[1:])
	case *parse.PipeNode:
		return e.pipeline(dot, n)
	case *parse.IdentifierNode:
		return e.call(dot, n.Ident, nil, none{})
	case *parse.ChainNode:
		if _, isNil := n.Node.(*parse.NilNode); isNil {
			return nil, failf("asks nil for a field")
		}
		v, err := e.argument(dot, n.Node, anything)
		if err != nil {
			return nil, err
		}
		of := ""
		if i, ok := n.Node.(*parse.IdentifierNode); ok {
			of = i.Ident
		}
		return fields(v, of, n.Field)
	}
	return nil, notEvaluated(fmt.Sprintf("an operand of kind %d", n.Type()))
}

// fields follows a chain of fields of what the template calls of.
func fields(v any, of string, chain []string) (any, error) {
	for _, name := range chain {
		ok := false
		switch m := v.(type) {
		case map[string]any:
			v, ok = m[name]
		case map[string]string:
			v, ok = m[name]
		}
		if !ok {
			return nil, failf("asks for %s.%s, and there is no such field", of, strings.Join(chain, "."))
		}
	}
	return v, nil
}

package flux

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
)

// Limits of one text that is substituted. The parser recurses once per
// expression and copies the text at each escape, and nested replacements grow
// exponentially: none of it can be interrupted.
const (
	maxExpressions = 100_000
	maxEscapeCost  = 2 << 30 // bytes copied
	maxExpansion   = 64 << 20
	maxTrimCost    = 2 << 30
)

var (
	errLimit      = errors.New("the substitution is too large to evaluate")
	errUndeclared = errors.New("a variable is not declared")
	errMalformed  = errors.New("a variable expression is malformed")
)

// expression is a text with variables, parsed by envsubst's own parser.
type expression struct {
	text  string
	parts []parse.Node // *parse.TextNode and *parse.FuncNode, in order
}

// parseExpression parses a text. The error is errMalformed or errLimit.
func parseExpression(text string) (*expression, error) {
	if strings.Count(text, "${") > maxExpressions ||
		strings.Count(text, "$$")*len(text) > maxEscapeCost {
		return nil, errLimit
	}
	tree, err := parse.Parse(text)
	if err != nil {
		return nil, errMalformed
	}
	e := &expression{text: text}
	// The list leans to the right: take it apart without recursion.
	for n := tree.Root; n != nil; {
		list, ok := n.(*parse.ListNode)
		if !ok {
			e.parts = append(e.parts, n)
			break
		}
		e.parts = append(e.parts, list.Nodes[0])
		n = nil
		if len(list.Nodes) > 1 {
			n = list.Nodes[1]
		}
	}
	return e, nil
}

// uses calls f for each variable that the text uses, in order; defaulted
// reports an operator that provides for a variable that is not set.
func (e *expression) uses(f func(name string, defaulted bool)) {
	for _, p := range e.parts {
		walkUses(p, f)
	}
}

func walkUses(n parse.Node, f func(string, bool)) {
	fn, ok := n.(*parse.FuncNode)
	if !ok {
		return
	}
	f(fn.Param, providesDefault(fn.Name))
	for _, a := range fn.Args {
		walkUses(a, f)
	}
}

// providesDefault reports the operators that strict mode leaves alone
// (upstream: envsubst template.go isDefaultOp).
func providesDefault(op string) bool {
	switch op {
	case "-", "+", "=", "?", ":-", ":+", ":=", ":?":
		return true
	}
	return false
}

// evaluate replaces all variables. The error is errUndeclared in strict mode,
// or errLimit.
func (e *expression) evaluate(vars map[string]string, strict bool) (string, error) {
	if !e.affordable(vars) {
		return "", errLimit
	}
	return eval(e.text, vars, strict)
}

// eval is envsubst's Eval. A panic is its answer to some offsets out of range;
// the controller then fails to reconcile.
func eval(text string, vars map[string]string, strict bool) (out string, err error) {
	defer func() {
		if recover() != nil {
			out, err = "", errMalformed
		}
	}()
	undeclared := false
	out, err = envsubst.Eval(text, func(name string) (string, bool) {
		v, ok := vars[name]
		undeclared = undeclared || !ok
		return v, ok || !strict
	})
	switch {
	case err == nil:
		return out, nil
	case strict && undeclared:
		return "", errUndeclared
	}
	return "", errMalformed
}

// partial replaces what is known. Each top-level expression that depends on a
// variable without a value becomes mark(name). The second result reports that
// there was one.
func (e *expression) partial(vars map[string]string, mark func(name string) string) (string, bool, error) {
	if !e.affordable(vars) {
		return "", false, errLimit
	}
	var b strings.Builder
	marked := false
	for _, p := range e.parts {
		fn, ok := p.(*parse.FuncNode)
		if !ok {
			b.WriteString(p.(*parse.TextNode).Value)
			continue
		}
		if name := depends(fn, vars); name != "" {
			b.WriteString(mark(name))
			marked = true
			continue
		}
		text, ok := written(fn)
		if !ok {
			b.WriteString(mark(fn.Param))
			marked = true
			continue
		}
		s, err := eval(text, vars, false)
		if err != nil {
			return "", false, err
		}
		b.WriteString(s)
	}
	return b.String(), marked, nil
}

// depends is the first variable without a value on which the result of an
// expression depends; "" when it is known.
func depends(n parse.Node, vars map[string]string) string {
	fn, ok := n.(*parse.FuncNode)
	if !ok {
		return ""
	}
	v, known := vars[fn.Param]
	if !known {
		return fn.Param
	}
	if v != "" && providesDefault(fn.Name) {
		return ""
	}
	for _, a := range fn.Args {
		if name := depends(a, vars); name != "" {
			return name
		}
	}
	return ""
}

// written is an expression as text that parses to the same; ok is false when
// there is none.
func written(fn *parse.FuncNode) (text string, ok bool) {
	var b strings.Builder
	write(&b, fn)
	tree, err := parse.Parse(b.String())
	return b.String(), err == nil && reflect.DeepEqual(tree.Root, parse.Node(fn))
}

func write(b *strings.Builder, n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		b.WriteString(n.Value)
	case *parse.FuncNode:
		if n.Name == "#" && len(n.Args) == 0 {
			fmt.Fprintf(b, "${#%s}", n.Param)
			return
		}
		b.WriteString("${" + n.Param + n.Name)
		replaces := strings.HasPrefix(n.Name, "/")
		for i, a := range n.Args {
			if i > 0 && n.Name == ":" {
				b.WriteByte(':')
			}
			if t, ok := a.(*parse.TextNode); ok && replaces {
				b.WriteString(escapeReplacement.Replace(t.Value))
			} else {
				write(b, a)
			}
			if i == 0 && replaces {
				b.WriteByte('/')
			}
		}
		b.WriteByte('}')
	}
}

var escapeReplacement = strings.NewReplacer(`\`, `\\`, `/`, `\/`, `$$`, `$$$$`)

// affordable bounds what evaluating costs, before it is done.
func (e *expression) affordable(vars map[string]string) bool {
	total, ok := 0.0, true
	for _, p := range e.parts {
		n, cheap := bound(p, vars)
		total += n
		ok = ok && cheap
	}
	return ok && total <= maxExpansion
}

// bound is an upper bound of the length of what a node yields.
func bound(n parse.Node, vars map[string]string) (float64, bool) {
	switch n := n.(type) {
	case *parse.TextNode:
		return float64(len(n.Value)), true
	case *parse.FuncNode:
		v := float64(len(vars[n.Param]))
		args, last, ok := 0.0, 0.0, true
		for _, a := range n.Args {
			l, cheap := bound(a, vars)
			args, last, ok = args+l, l, ok && cheap
		}
		switch {
		case strings.HasPrefix(n.Name, "/"):
			v += (v + 1) * last
		case strings.HasPrefix(n.Name, "#"), strings.HasPrefix(n.Name, "%"):
			ok = ok && v*v*math.Max(args, 1) <= maxTrimCost
		case strings.HasPrefix(n.Name, ","), strings.HasPrefix(n.Name, "^"):
			v *= 3 // a letter and its other case differ in length
		default:
			v = math.Max(v, args) + 20
		}
		return v, ok && v+args <= maxExpansion
	}
	return 0, true
}

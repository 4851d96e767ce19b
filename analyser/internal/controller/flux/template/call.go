package template

import (
	"strings"
	"text/template/parse"
)

// param is the type of a parameter.
type param int

const (
	anything param = iota
	text
	number  // int, not int64
	decimal // float64
	boolean
	object // map[string]any
)

// function is one that templates may call. Its arguments have the types of its
// parameters; what it panics with is an error of the template.
type function struct {
	params   []param
	variadic bool // the last parameter may be given any number of times
	call     func(args []any) (any, error)
}

func (f *function) param(i int) param { return f.params[min(i, len(f.params)-1)] }

// call calls a function. The piped argument comes last.
func (e *evaluator) call(dot any, name string, args []parse.Node, final any) (any, error) {
	if name == "and" || name == "or" {
		return e.logic(dot, name == "or", args, final)
	}
	if name == "inputs" {
		if _, piped := final.(none); len(args) > 0 || !piped {
			return nil, failf("gives arguments to inputs")
		}
		return e.inputs, nil
	}
	f := functions[name]
	if f == nil {
		return nil, notEvaluated("the function " + name)
	}
	_, alone := final.(none)
	count := len(args)
	if !alone {
		count++
	}
	if f.variadic && count < len(f.params)-1 || !f.variadic && count != len(f.params) {
		return nil, failf("calls %s with a wrong number of arguments", name)
	}
	values := make([]any, 0, count)
	for i, a := range args {
		v, err := e.argument(dot, a, f.param(i))
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if !alone {
		v, err := typed(final, f.param(count-1))
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	v, err := guarded(name, f, values)
	if err != nil {
		return nil, err
	}
	if n, ok := length(v); ok {
		err = e.budget.spend(n)
	}
	return v, err
}

// guarded turns a panic into an error, as upstream does.
func guarded(name string, f *function, args []any) (v any, err error) {
	defer func() {
		if recover() != nil {
			v, err = nil, failf("calls %s with what it cannot work on", name)
		}
	}()
	return f.call(args)
}

// logic is "and" and "or", which stop at the first argument that decides.
func (e *evaluator) logic(dot any, or bool, args []parse.Node, final any) (any, error) {
	_, alone := final.(none)
	if alone && len(args) == 0 {
		return nil, failf("calls and, or without arguments")
	}
	var v any
	for _, a := range args {
		var err error
		if v, err = e.argument(dot, a, anything); err != nil {
			return nil, err
		}
		if truth(v) == or {
			return v, nil
		}
	}
	if !alone {
		v = final
	}
	return v, nil
}

// argument evaluates a node as an argument.
func (e *evaluator) argument(dot any, n parse.Node, p param) (any, error) {
	switch n := n.(type) {
	case *parse.NilNode:
		if p != anything && p != object {
			return nil, failf("has nil where a function wants something else")
		}
		return nil, nil
	case *parse.StringNode:
		if p != anything && p != text {
			return nil, failf("has a string where a function wants something else")
		}
		return n.Text, nil
	case *parse.BoolNode:
		if p != anything && p != boolean {
			return nil, failf("has a boolean where a function wants something else")
		}
		return n.True, nil
	case *parse.NumberNode:
		return constant(n, p)
	}
	v, err := e.value(dot, n)
	if err != nil {
		return nil, err
	}
	return typed(v, p)
}

// constant is a number of the template.
func constant(n *parse.NumberNode, p param) (any, error) {
	switch p {
	case anything:
		switch {
		case n.IsComplex && !n.IsFloat:
			return nil, notEvaluated("complex numbers")
		case n.IsFloat && !hexadecimal(n.Text) && !strings.HasPrefix(n.Text, "'") && strings.ContainsAny(n.Text, ".eEpP"):
			return n.Float64, nil
		case n.IsInt:
			return int(n.Int64), nil
		}
		return nil, failf("has a number that is too large")
	case number:
		if n.IsInt {
			return int(n.Int64), nil
		}
	case decimal:
		if n.IsFloat {
			return n.Float64, nil
		}
	}
	return nil, failf("has a number where a function wants something else")
}

func hexadecimal(s string) bool {
	return len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && !strings.ContainsAny(s, "pP")
}

// typed is a value as an argument of a type. No type is converted.
func typed(v any, p param) (any, error) {
	ok := true
	switch p {
	case text:
		_, ok = v.(string)
	case number:
		_, ok = v.(int)
	case decimal:
		_, ok = v.(float64)
	case boolean:
		_, ok = v.(bool)
	case object:
		if v == nil {
			return nil, notEvaluated("nothing as an object")
		}
		_, ok = v.(map[string]any)
	}
	if !ok {
		return nil, failf("gives a function an argument of another type than it takes")
	}
	return v, nil
}

package flux

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"
)

// render evaluates the part of a ResourceSet's template language that most
// templates keep to: actions "<< inputs.a.b | function argument >>" with the
// trim markers "<<-" and "->>", comments, and the functions that the
// ResourceSet's documentation names. (Go's text/template itself cannot be
// linked: it finds methods by name, which keeps every method of the program
// alive.) Anything else is an error that says what was met.
func render(text string, inputs map[string]any) (string, error) {
	var b strings.Builder
	for trim := false; ; {
		before, rest, ok := strings.Cut(text, "<<")
		if trim {
			before = strings.TrimLeft(before, " \t\r\n")
		}
		if !ok {
			b.WriteString(before)
			return b.String(), nil
		}
		if len(rest) > 1 && rest[0] == '-' && isSpace(rest[1]) {
			before, rest = strings.TrimRight(before, " \t\r\n"), rest[1:]
		}
		b.WriteString(before)
		action, after, ok := cutAction(rest)
		if !ok {
			return "", errors.New("an action << is not closed")
		}
		trim = false
		if n := len(action); n > 1 && action[n-1] == '-' && isSpace(action[n-2]) {
			action, trim = action[:n-1], true
		}
		text = after
		if a := strings.TrimSpace(action); strings.HasPrefix(a, "/*") && strings.HasSuffix(a, "*/") {
			continue
		}
		v, err := pipeline(action, inputs)
		if err != nil {
			return "", err
		}
		s, err := printed(v)
		if err != nil {
			return "", err
		}
		if b.WriteString(s); b.Len() > maxTemplate {
			return "", errors.New("a rendered template is too large")
		}
	}
}

// renderUnknown is a template with "${inputs}" in place of every action. ok is
// false when an action decides which text there is.
func renderUnknown(text string) (string, bool) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "<<")
		b.WriteString(before)
		if !ok {
			return b.String(), true
		}
		action, after, ok := cutAction(rest)
		word := strings.TrimSpace(strings.Trim(action, "-"))
		if first, _, _ := strings.Cut(word, " "); !ok || word == "else" || word == "end" ||
			slices.Contains([]string{"if", "range", "with", "define", "block", "template", "break", "continue"}, first) {
			return "", false
		}
		if !strings.HasPrefix(word, "/*") && !strings.Contains(word, ":=") {
			b.WriteString("${" + externalInputs + "}")
		}
		text = after
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// cutAction cuts text after the ">>" that closes an action, quoted ones
// skipped.
func cutAction(s string) (action, after string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '`':
			for i++; i < len(s) && s[i] != '`'; i++ {
			}
		case '>':
			if strings.HasPrefix(s[i:], ">>") {
				return s[:i], s[i+2:], true
			}
		}
	}
	return "", "", false
}

// words splits an action into words, quoted strings and pipes.
func words(s string) ([]string, error) {
	var out []string
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		switch {
		case s == "":
			return out, nil
		case s[0] == '|':
			out, s = append(out, "|"), s[1:]
			continue
		case s[0] == '"' || s[0] == '`':
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, errors.New("a string in a template is not closed")
			}
			out, s = append(out, q), s[len(q):]
			continue
		}
		n := strings.IndexAny(s, " \t\r\n|\"`")
		if n < 0 {
			n = len(s)
		}
		out, s = append(out, s[:n]), s[n:]
	}
}

func pipeline(action string, inputs map[string]any) (any, error) {
	ws, err := words(action)
	if err != nil {
		return nil, err
	}
	var last any
	piped := false
	for len(ws) > 0 {
		n := len(ws)
		for i, w := range ws {
			if w == "|" {
				n = i
				break
			}
		}
		cmd := ws[:n]
		if ws = ws[min(n+1, len(ws)):]; len(cmd) == 0 {
			return nil, errors.New("a pipeline in a template has an empty command")
		}
		if last, err = command(cmd, last, piped, inputs); err != nil {
			return nil, err
		}
		piped = true
	}
	if !piped {
		return nil, errors.New("an action in a template is empty")
	}
	return last, nil
}

func command(ws []string, last any, piped bool, inputs map[string]any) (any, error) {
	if len(ws) == 1 && !piped {
		if v, ok, err := operand(ws[0], inputs); ok || err != nil {
			return v, err
		}
	}
	var args []any
	for _, w := range ws[1:] {
		v, ok, err := operand(w, inputs)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("the template uses %q, which is not evaluated", w)
		}
		args = append(args, v)
	}
	if piped {
		args = append(args, last)
	}
	f, ok := templateFunctions[ws[0]]
	if !ok {
		return nil, fmt.Errorf("the template uses %q, which is not evaluated", ws[0])
	}
	return f(args)
}

// operand is a literal or a chain of fields of inputs.
func operand(w string, inputs map[string]any) (any, bool, error) {
	switch {
	case w[0] == '"' || w[0] == '`':
		s, err := strconv.Unquote(w)
		return s, err == nil, nil
	case w == "true" || w == "false":
		return w == "true", true, nil
	case w == "inputs" || strings.HasPrefix(w, "inputs."):
		var v any = inputs
		for _, k := range strings.Split(w, ".")[1:] {
			m, ok := v.(map[string]any)
			if !ok || k == "" {
				return nil, false, fmt.Errorf("the template uses %s, and there is no such input", w)
			}
			if v, ok = m[k]; !ok {
				return nil, false, fmt.Errorf("the template uses %s, and there is no such input", w)
			}
		}
		return v, true, nil
	}
	if i, err := strconv.ParseInt(w, 10, 64); err == nil {
		return i, true, nil
	}
	return nil, false, nil
}

// printed is what an action writes for a value.
func printed(v any) (string, error) {
	switch v := v.(type) {
	case string, bool, int64, float64:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("the template prints a list, an object or nothing, which is not evaluated")
}

var errArguments = errors.New("a function in a template has arguments that are not evaluated")

// texts are arguments that are all strings.
func allTexts(args []any, n int) ([]string, error) {
	if len(args) != n {
		return nil, errArguments
	}
	out := make([]string, n)
	for i, a := range args {
		s, ok := a.(string)
		if !ok {
			return nil, errArguments
		}
		out[i] = s
	}
	return out, nil
}

func textFunction(n int, f func([]string) string) func([]any) (any, error) {
	return func(args []any) (any, error) {
		s, err := allTexts(args, n)
		if err != nil {
			return nil, err
		}
		return f(s), nil
	}
}

// templateFunctions are slim-sprig functions; the argument of a pipe comes
// last.
var templateFunctions = map[string]func([]any) (any, error){
	"lower":      textFunction(1, func(a []string) string { return strings.ToLower(a[0]) }),
	"upper":      textFunction(1, func(a []string) string { return strings.ToUpper(a[0]) }),
	"trim":       textFunction(1, func(a []string) string { return strings.TrimSpace(a[0]) }),
	"trimPrefix": textFunction(2, func(a []string) string { return strings.TrimPrefix(a[1], a[0]) }),
	"trimSuffix": textFunction(2, func(a []string) string { return strings.TrimSuffix(a[1], a[0]) }),
	"trimAll":    textFunction(2, func(a []string) string { return strings.Trim(a[1], a[0]) }),
	"replace":    textFunction(3, func(a []string) string { return strings.ReplaceAll(a[2], a[0], a[1]) }),
	"quote":      quoted(`"`),
	"squote":     quoted(`'`),
	"toString": func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, errArguments
		}
		return printed(args[0])
	},
	"int": func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, errArguments
		}
		switch v := args[0].(type) {
		case int64:
			return v, nil
		case string:
			// Numbers in other notations are left to the real function.
			if i, err := strconv.ParseInt(v, 10, 64); err == nil && strconv.FormatInt(i, 10) == v {
				return i, nil
			}
		}
		return nil, errArguments
	},
	"default": func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, errArguments
		}
		switch v := args[1].(type) {
		case string, bool, int64, float64, nil:
			if v == nil || v == "" || v == false || v == int64(0) || v == 0.0 {
				return args[0], nil
			}
			return v, nil
		}
		return nil, errArguments
	},
	"toYaml": func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, errArguments
		}
		out, err := sigsyaml.Marshal(args[0])
		return string(out), err
	},
	"indent":  indented(""),
	"nindent": indented("\n"),
}

func quoted(q string) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, errArguments
		}
		s, err := printed(args[0])
		if err != nil {
			return nil, errArguments
		}
		if q == `"` {
			return strconv.Quote(s), nil
		}
		return q + s + q, nil
	}
}

func indented(prefix string) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, errArguments
		}
		n, ok := args[0].(int64)
		s, ok2 := args[1].(string)
		if !ok || !ok2 || n < 0 || n > 1000 {
			return nil, errArguments
		}
		pad := strings.Repeat(" ", int(n))
		return prefix + pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
	}
}

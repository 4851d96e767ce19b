// Package fieldpath names fields of objects the way people write them:
//
//	spec.template.spec.containers[name=app].image
//	metadata.annotations["example.com/owner"]
//	spec.rules[0].host
//
// A path that was read with Parse or made by Leaves is written by String so
// that Parse reads the same path again.
package fieldpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Step is one step down: into the value of a key, or into an element of a
// list.
type Step struct {
	// Key of a mapping; of a list's element, the key that tells it from the
	// others, with Value, or "" when only the index does.
	Key, Value string
	// Element is true for a step into a list.
	Element bool
	// Index in the list; -1 when it is not known.
	Index int
}

// Path leads from an object to a field. The empty path is the object itself.
type Path []Step

// ErrMalformed is what every error of Parse wraps.
var ErrMalformed = errors.New("not a field path, such as spec.containers[name=app].image")

// maxLength bounds what Parse reads.
const maxLength = 4096

// Parse reads a path. A leading dot is allowed. Names that hold dots, brackets
// or quotes stand in brackets and quotes: metadata.labels["app.kubernetes.io/name"].
func Parse(s string) (Path, error) {
	if len(s) > maxLength {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrMalformed, maxLength)
	}
	return parse(s)
}

func parse(s string) (Path, error) {
	rest := strings.TrimPrefix(s, ".")
	var p Path
	for first := true; rest != ""; first = false {
		var step Step
		var err error
		switch {
		case rest[0] == '[':
			step, rest, err = bracket(rest[1:])
		case first || rest[0] == '.':
			if !first {
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[]\"")
			if end < 0 {
				end = len(rest)
			}
			step, rest = Step{Key: rest[:end]}, rest[end:]
			if step.Key == "" {
				err = errors.New("a name is missing")
			}
		default:
			err = fmt.Errorf("%q cannot stand there", rest[:1])
		}
		if err != nil {
			return nil, fmt.Errorf("%w: after %q: %w", ErrMalformed, s[:len(s)-len(rest)], err)
		}
		p = append(p, step)
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	return p, nil
}

// bracket reads what follows an opening bracket, and the closing one.
func bracket(s string) (step Step, rest string, err error) {
	if quoted, err := strconv.QuotedPrefix(s); err == nil {
		key, err := strconv.Unquote(quoted)
		if err != nil || quoted[0] != '"' {
			return Step{}, s, errors.New("a name in brackets stands in double quotes")
		}
		rest, closed := strings.CutPrefix(s[len(quoted):], "]")
		if !closed {
			return Step{}, s, errors.New("the bracket is not closed")
		}
		return Step{Key: key}, rest, nil
	}
	end := strings.IndexAny(s, "]=")
	switch {
	case end < 0:
		return Step{}, s, errors.New("the bracket is not closed")
	case s[end] == ']':
		i, err := strconv.Atoi(s[:end])
		if err != nil || i < 0 || s[:end] != strconv.Itoa(i) {
			return Step{}, s, errors.New(`brackets hold an index, key=value, or a name in quotes`)
		}
		return Step{Element: true, Index: i}, s[end+1:], nil
	case end == 0:
		return Step{}, s, errors.New("the key before = is missing")
	}
	step = Step{Element: true, Index: -1, Key: s[:end]}
	s = s[end+1:]
	if quoted, err := strconv.QuotedPrefix(s); err == nil && quoted[0] == '"' {
		if step.Value, err = strconv.Unquote(quoted); err != nil {
			return Step{}, s, errors.New("the value is not well quoted")
		}
		s = s[len(quoted):]
	} else {
		end := max(strings.IndexByte(s, ']'), 0)
		step.Value, s = s[:end], s[end:]
	}
	rest, closed := strings.CutPrefix(s, "]")
	if !closed {
		return Step{}, s, errors.New("the bracket is not closed")
	}
	return step, rest, nil
}

// String writes the path; an element by its key where it has one.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Element && s.Key != "":
			value := s.Value
			if value == "" || strings.ContainsAny(value, "]\"\\'`") || strconv.Quote(value) != `"`+value+`"` {
				value = strconv.Quote(value)
			}
			fmt.Fprintf(&b, "[%s=%s]", s.Key, value)
		case s.Element:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case s.Key == "" || strings.ContainsAny(s.Key, ".[]\"=' `") || strconv.Quote(s.Key) != `"`+s.Key+`"`:
			fmt.Fprintf(&b, "[%s]", strconv.Quote(s.Key))
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Key)
		}
	}
	return b.String()
}

// Covers reports that q is p or lies below it. Elements match by index or by
// key, whichever p names.
func (p Path) Covers(q Path) bool {
	i, j := 0, 0
	for i < len(p) {
		if j >= len(q) {
			return false
		}
		if n := p[i:].keys(q[j]); n > 0 {
			i, j = i+n, j+1
			continue
		}
		if !p[i].element(q[j]) {
			return false
		}
		i, j = i+1, j+1
	}
	return true
}

// keys is how many steps of p make up the key of s: names that hold dots may
// be written without quotes. It is 0 when they do not.
func (p Path) keys(s Step) int {
	if s.Element {
		return 0
	}
	name := ""
	for i, k := range p {
		if k.Element {
			return 0
		}
		if i > 0 {
			name += "."
		}
		name += k.Key
		if name == s.Key {
			return i + 1
		}
		if len(name) > len(s.Key) {
			return 0
		}
	}
	return 0
}

// element reports that a step of a question means this element.
func (s Step) element(of Step) bool {
	switch {
	case !s.Element || !of.Element:
		return false
	case s.Key != "":
		return s.Key == of.Key && s.Value == of.Value
	}
	return s.Index == of.Index
}

// leaf reports a node that holds no other.
func leaf(n *yaml.Node) bool { return len(n.Content) == 0 }

// Leaves calls visit for each scalar and each empty mapping or list at and
// below n, in the order of the text, until it returns false. key is the node of
// the key that holds the leaf, nil in a list. The path is only good during the
// call.
func Leaves(n *yaml.Node, visit func(p Path, key, leaf *yaml.Node) bool) {
	descend(n, nil, nil, visit)
}

func descend(n, key *yaml.Node, p Path, visit func(Path, *yaml.Node, *yaml.Node) bool) bool {
	if leaf(n) {
		return visit(p, key, n)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !descend(n.Content[i+1], n.Content[i], append(p, Step{Key: n.Content[i].Value}), visit) {
				return false
			}
		}
	case yaml.SequenceNode:
		by := KeyOf(n)
		for i, c := range n.Content {
			if !descend(c, nil, append(p, element(c, i, by)), visit) {
				return false
			}
		}
	default:
		for _, c := range n.Content {
			if !descend(c, nil, p, visit) {
				return false
			}
		}
	}
	return true
}

// Element is the step into element i of a list.
func Element(list *yaml.Node, i int) Step { return element(list.Content[i], i, KeyOf(list)) }

func element(c *yaml.Node, i int, by string) Step {
	s := Step{Element: true, Index: i}
	if by != "" {
		s.Key, s.Value = by, value(c, by).Value
	}
	return s
}

// elementKeys are the keys that tell the elements of a list apart, most telling
// first (upstream: kyaml's associative keys).
var elementKeys = []string{"name", "mountPath", "devicePath", "ip", "type", "topologyKey", "key", "containerPort", "port"}

// KeyOf is the key by which the elements of a list of mappings can be told
// apart, or "".
func KeyOf(list *yaml.Node) string {
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return ""
	}
next:
	for _, key := range elementKeys {
		seen := make(map[string]bool, len(list.Content))
		for _, c := range list.Content {
			v := value(c, key)
			if v == nil || v.Kind != yaml.ScalarNode || seen[v.Value] {
				continue next
			}
			seen[v.Value] = true
		}
		return key
	}
	return ""
}

func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

package flux

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// reader reads the fields of one object and remembers what is wrong with them.
type reader struct {
	obj     *kustomize.Object
	content *packed.Content     // of obj
	invalid *controller.Problem // the first field that the API server refuses
	unknown *controller.Problem // the first field whose value is not known
}

func newReader(o *kustomize.Object) *reader {
	r := &reader{obj: o, content: o.Tree.Open()}
	switch r.content.Unknown[r.content.Node] {
	case externalInputs:
		r.unknown = &controller.Problem{
			Code: "external_inputs", Pos: o.Origin,
			Message: "the object is made for inputs that are not in the repository, and nobody knows how often",
		}
	case notEvaluated:
		r.unknown = &controller.Problem{
			Code: "template_not_evaluated", Pos: o.Origin,
			Message: "the object comes from a template that is not evaluated, and nobody knows how often it is made",
		}
	}
	return r
}

// problem is what is wrong with the object; nil when nothing is.
func (r *reader) problem() *controller.Problem {
	if r.invalid != nil {
		return r.invalid
	}
	return r.unknown
}

// fail records that the API server refuses the object.
func (r *reader) fail(code string, pos position.Pos, format string, args ...any) {
	if r.invalid == nil {
		r.invalid = &controller.Problem{Code: code, Message: fmt.Sprintf(format, args...), Pos: r.or(pos), Refused: true}
	}
}

// stall records what the API server accepts and the controller does not.
func (r *reader) stall(code string, pos position.Pos, format string, args ...any) {
	if r.invalid == nil {
		r.invalid = &controller.Problem{Code: code, Message: fmt.Sprintf(format, args...), Pos: r.or(pos)}
	}
}

func (r *reader) or(pos position.Pos) position.Pos {
	if pos == 0 {
		return r.obj.Origin
	}
	return pos
}

// root is the object as a whole.
func (r *reader) root() field { return field{r: r, node: r.content.Node} }

// spec is the object's spec.
func (r *reader) spec() field { return r.root().get("spec") }

// annotation is the value of an annotation; "" when there is none.
func (r *reader) annotation(key string) string {
	a := r.root().get("metadata").get("annotations")
	if a.node == nil || a.node.Kind != yaml.MappingNode {
		return ""
	}
	if v := a.lookup(key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// field is a place in the object: a node, or the place where none is.
type field struct {
	r      *reader
	path   string
	node   *yaml.Node // nil when the field is absent or null
	parent *yaml.Node // what would hold it
}

// pos is the line of the field, or of what would hold it.
func (f field) pos() position.Pos {
	switch {
	case f.node != nil && f.node.Line != 0:
		return position.Pos(f.node.Line)
	case f.parent != nil && f.parent.Line != 0:
		return position.Pos(f.parent.Line)
	}
	return f.r.obj.Origin
}

func (f field) set() bool { return f.node != nil }

// get is a field of a mapping. The API server prunes nulls that are not
// declared nullable, and no field that is read here is: null is absent.
func (f field) get(key string) field {
	out := field{r: f.r, path: f.path + "." + key, parent: f.node}
	if f.node == nil {
		out.parent = f.parent
		return out
	}
	if !f.is(yaml.MappingNode, "an object") {
		return out
	}
	if n := f.lookup(key); n != nil && n.ShortTag() != "!!null" {
		out.node = n
	}
	return out
}

func (f field) lookup(key string) *yaml.Node { return lookup(f.node, key) }

// lookup is the value of a key of a mapping node; nil when there is none.
func lookup(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func (f field) is(kind yaml.Kind, what string) bool {
	if f.node.Kind == kind {
		return true
	}
	f.wrong(what)
	return false
}

func (f field) name() string { return strings.TrimPrefix(f.path, ".") }

// wrong records that the field is not what the API says. Values are not
// quoted: they may be secret.
func (f field) wrong(what string) {
	f.r.fail("invalid_spec", f.pos(), "%s must be %s", f.name(), what)
}

// required records a missing field.
func (f field) required() field {
	if f.node == nil {
		f.r.fail("invalid_spec", f.pos(), "%s is required", f.name())
	}
	return f
}

// note records that the value of the field is not known.
func (f field) note() {
	switch v, ok := f.r.content.Unknown[f.node]; {
	case !ok || f.r.unknown != nil:
	case v == kustomize.Concealed:
		f.r.unknown = &controller.Problem{
			Code: "secret_value", Pos: f.pos(),
			Message: f.name() + " holds a value from a Secret, which is not shown",
		}
	default:
		f.r.unknown = &controller.Problem{
			Code:    "substitution_unknown",
			Message: fmt.Sprintf("%s depends on the variable %s, whose value is not known", f.name(), v),
			Pos:     f.pos(),
		}
	}
}

// text is a string field; "" when it is absent.
func (f field) text() string {
	if f.node == nil {
		return ""
	}
	if f.node.Kind == yaml.ScalarNode {
		switch f.node.ShortTag() {
		case "!!str":
			f.note()
			return f.node.Value
		case "!!timestamp":
			// Goes through JSON, where a date is a string.
			return f.node.Value
		}
	}
	f.wrong("a string")
	return ""
}

// between is text of a length between minimum and maximum, in characters, when
// it is set.
func (f field) between(minimum, maximum int) string {
	s := f.text()
	if f.node == nil || f.node.Kind != yaml.ScalarNode {
		return s
	}
	if n := len([]rune(s)); n < minimum || n > maximum {
		f.wrong(fmt.Sprintf("between %d and %d characters long", minimum, maximum))
	}
	return s
}

// oneOf is text that must be one of the values when it is set.
func (f field) oneOf(values ...string) string {
	s := f.text()
	if f.node != nil && f.node.Kind == yaml.ScalarNode && !slices.Contains(values, s) {
		if _, ok := f.r.content.Unknown[f.node]; !ok {
			f.wrong("one of " + strings.Join(values, ", "))
		}
	}
	return s
}

// matching is text that must match a pattern when it is set; what says it for
// people.
func (f field) matching(re func() *regexp.Regexp, what string) string {
	s := f.text()
	if f.node != nil && f.node.Kind == yaml.ScalarNode && !re().MatchString(s) {
		if _, ok := f.r.content.Unknown[f.node]; !ok {
			f.wrong(what)
		}
	}
	return s
}

var durationPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`) })

// duration checks a duration as the CRDs do; its value means nothing here.
func (f field) duration() { f.matching(durationPattern, `a duration such as "10m"`) }

// boolean is a boolean field; false when it is absent.
func (f field) boolean() bool {
	if f.node == nil {
		return false
	}
	if f.node.Kind == yaml.ScalarNode {
		if _, ok := f.r.content.Unknown[f.node]; ok {
			f.note()
			return false
		}
		if f.node.ShortTag() == "!!bool" {
			if v, err := strconv.ParseBool(strings.ToLower(f.node.Value)); err == nil {
				return v
			}
		}
	}
	f.wrong("true or false")
	return false
}

// list is the elements of a sequence.
func (f field) list() []field {
	if f.node == nil || !f.is(yaml.SequenceNode, "a list") {
		return nil
	}
	out := make([]field, len(f.node.Content))
	for i, n := range f.node.Content {
		out[i] = field{r: f.r, path: fmt.Sprintf("%s[%d]", f.path, i), node: n, parent: f.node}
	}
	return out
}

// texts is a list of strings.
func (f field) texts() []string {
	var out []string
	for _, e := range f.list() {
		out = append(out, e.text())
	}
	return out
}

// textMap is a map of strings; nil when it is absent. Entries that depend on
// an unknown variable are left out of it: unknown lists their keys.
func (f field) textMap() (m map[string]string, unknown []string) {
	if f.node == nil || !f.is(yaml.MappingNode, "an object") {
		return nil, nil
	}
	m = make(map[string]string, len(f.node.Content)/2)
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		k := f.node.Content[i].Value
		e := field{r: f.r, path: f.path + "." + k, node: f.node.Content[i+1], parent: f.node}
		if !e.known() {
			unknown = append(unknown, k)
			continue
		}
		m[k] = e.text()
	}
	slices.Sort(unknown)
	return m, unknown
}

// known reports that the text of the field does not depend on an unknown
// variable. Fields that do not decide what lands where ask for it, so as not
// to become a Problem.
func (f field) known() bool {
	_, unknown := f.r.content.Unknown[f.node]
	return !unknown
}

// detail is text that may be unknown: it then keeps its "${NAME}".
func (f field) detail() string {
	if f.node != nil && !f.known() {
		return f.node.Value
	}
	return f.text()
}

// scalarStart is the line on which the text of a scalar starts.
func scalarStart(n *yaml.Node) position.Pos {
	if n.Line != 0 && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return position.Pos(n.Line) + 1
	}
	return position.Pos(n.Line)
}

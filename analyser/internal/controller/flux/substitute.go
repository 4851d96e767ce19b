package flux

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// variableName is what a variable must be called; one that is not fails the
// whole build (upstream: fluxcd/pkg/kustomize varSubstitution).
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[_[:alpha:]][_[:alpha:][:digit:]]*$") })

// optOut is the label or annotation that keeps an object as it is when it is
// exactly "disabled".
const optOut = groupKustomize + "/substitute"

// substitution replaces the variables in the objects of one build.
type substitution struct {
	vars             map[string]string
	complete, strict bool
	always           bool
	// hidden are variables whose values must not be shown.
	hidden []string
	// byText takes no shortcuts.
	byText bool
	// illegal is the name of a variable that is none.
	illegal string
}

// certain reports that text is substituted at all: some variable has a value,
// or the object asks for it always.
func (s *substitution) certain() bool { return len(s.vars) > 0 || s.always }

// run substitutes object by object and records in res what is undeclared,
// unknown or fails. The real tool stops at the first object that fails; here
// the first failure is kept and the undeclared variables of all objects are
// still collected.
func (s *substitution) run(in []*kustomize.Object, res *controller.Result) []*kustomize.Object {
	if !s.certain() && s.complete {
		return in
	}
	var illegal bool
	s.illegal, illegal = illegalName(s.vars)
	out := slices.Clone(in)
	ids := map[resid.ResId]int{}
	for _, o := range in {
		ids[idOf(o)]++
	}
	var failure *kustomize.Failure
	fail := func(f *kustomize.Failure) {
		if f != nil && failure == nil {
			failure = f
		}
	}
	for i, o := range in {
		if optedOut(o.Node()) {
			continue
		}
		if illegal && s.certain() {
			fail(s.illegalNameFailure(o))
		}
		if !hasDollar(o.Node()) {
			continue
		}
		n, f := s.object(o, res)
		if f != nil {
			fail(f)
			continue
		}
		ids[idOf(o)]--
		ids[idOf(n)]++
		if ids[idOf(n)] > 1 && !n.UnknownIdentity {
			fail(&kustomize.Failure{
				Code: "duplicate_id", Pos: o.Origin,
				Message: "after substitution two objects of the build have one identity",
			})
		}
		out[i] = s.hide(o, n, res)
	}
	sortUses(res.Undeclared)
	sortUses(res.Unknown)
	switch {
	case failure != nil && (s.certain() || failure.Code == "limit"):
		if failure.Code == "limit" {
			res.Unresolved = failure
		} else {
			res.Failure = failure
		}
	case failure != nil:
		// Whether anything is substituted depends on what could not be read.
		res.Unresolved = &kustomize.Failure{
			Code: "substitution_unknown", Pos: failure.Pos,
			Message: "the build fails if any of the variables that could not be read has a value: " + failure.Message,
		}
	}
	return out
}

// illegalName is the first variable, by name, that is not called as one must be.
func illegalName(vars map[string]string) (first string, found bool) {
	for k := range vars {
		if (!found || k < first) && !variableName().MatchString(k) {
			first, found = k, true
		}
	}
	return first, found
}

func (s *substitution) illegalNameFailure(o *kustomize.Object) *kustomize.Failure {
	return &kustomize.Failure{
		Code: "bad_variable_name", Pos: o.Origin,
		Message: "the variable " + quoteName(s.illegal) + " is not a legal name: letters, digits and underscores, no digit first",
	}
}

// hide returns an object as it is when the hidden variables that it uses cannot
// be read, or n, what it really becomes, when it uses none.
func (s *substitution) hide(o, n *kustomize.Object, res *controller.Result) *kustomize.Object {
	if len(s.hidden) == 0 {
		return n
	}
	text, err := asText(o.Node())
	if err != nil {
		return n
	}
	e, err := parseExpression(text)
	if err != nil {
		return n
	}
	uses := false
	e.uses(func(name string, _ bool) {
		_, set := s.vars[name]
		uses = uses || set && slices.Contains(s.hidden, name)
	})
	if !uses {
		return n
	}
	blind := &substitution{vars: maps.Clone(s.vars), strict: s.strict, always: true}
	if s.complete {
		// What nothing declares is known: it is empty.
		e.uses(func(name string, _ bool) {
			if _, set := s.vars[name]; !set {
				blind.vars[name] = ""
			}
		})
	}
	for _, name := range s.hidden {
		delete(blind.vars, name)
	}
	seen := controller.Result{Build: &kustomize.Build{}}
	hidden, failure := blind.object(o, &seen)
	if failure != nil {
		// It cannot even be written without the value.
		hidden = &kustomize.Object{}
		*hidden = *o
		hidden.UnknownIdentity = true
	}
	if hidden.UnknownIdentity && res.Unresolved == nil {
		res.Unresolved = &kustomize.Failure{
			Code: "substitution_unknown", Pos: o.Origin,
			Message: "the identity of an object depends on a variable whose value stands in a Secret, and is not shown",
		}
	}
	return hidden
}

// object substitutes one object.
func (s *substitution) object(o *kustomize.Object, res *controller.Result) (*kustomize.Object, *kustomize.Failure) {
	if out := s.shortcut(o, res); out != nil {
		return out, nil
	}
	return s.objectByText(o, res)
}

// objectByText substitutes one object as upstream does.
func (s *substitution) objectByText(o *kustomize.Object, res *controller.Result) (*kustomize.Object, *kustomize.Failure) {
	before, err := asText(o.Node())
	if err != nil {
		return nil, &kustomize.Failure{Code: "bad_yaml", Pos: o.Origin, Message: "the object cannot be written as YAML"}
	}
	e, err := parseExpression(before)
	if err != nil {
		return nil, s.failure(o, err)
	}
	missing := s.collect(o, e, res)
	if missing && s.complete && s.strict {
		return nil, s.failure(o, errUndeclared)
	}
	var after string
	marks := newMarks(before)
	if s.complete || !missing && s.certain() {
		after, err = e.evaluate(s.vars, s.strict && s.complete)
	} else if s.certain() {
		after, _, err = e.partial(s.vars, marks.mark)
	} else {
		after, err = before, nil
	}
	if err != nil {
		return nil, s.failure(o, err)
	}
	node, err := asNode(after)
	if err != nil {
		return nil, &kustomize.Failure{
			Code: "bad_yaml", Pos: o.Origin,
			Message: "the object is not YAML any more after its variables are substituted",
		}
	}
	carryLines(o.Node(), node, func(key string) string { return s.key(key) })
	out := *o
	unknown := o.Tree.Open().Unknown // a history has the old nodes
	if !s.complete {
		unknown = s.markUnknown(node, marks)
		out.UnknownIdentity = unknownIdentity(node, unknown)
	}
	out.Tree = packed.Of(node, unknown)
	s.identify(&out, res)
	return &out, nil
}

// identify reads the identity of a substituted object.
func (s *substitution) identify(o *kustomize.Object, res *controller.Result) {
	o.MarkConcealed()
	o.Ref = refOf(o.Node())
	if o.UnknownIdentity && res.Unresolved == nil {
		res.Unresolved = &kustomize.Failure{
			Code: "substitution_unknown", Pos: o.Origin,
			Message: "the identity of an object depends on a variable whose value could not be read",
		}
	}
}

// key is what a key of a mapping becomes.
func (s *substitution) key(key string) string {
	e, err := parseExpression(key)
	if err != nil {
		return key
	}
	if out, err := e.evaluate(s.vars, false); err == nil {
		return out
	}
	return key
}

// failure names what is wrong and the line where it stands, as far as it
// stands in one scalar.
func (s *substitution) failure(o *kustomize.Object, err error) *kustomize.Failure {
	f := &kustomize.Failure{Pos: o.Origin}
	switch err {
	case errLimit:
		f.Code, f.Message = "limit", "the variables of an object are too many or expand too far to be evaluated"
	case errUndeclared:
		f.Code, f.Message = "substitution_undeclared", "an object uses a variable that is not declared"
		eachScalar(o.Node(), func(n *yaml.Node) bool {
			e, err := parseExpression(n.Value)
			if err != nil {
				return true
			}
			e.uses(func(name string, defaulted bool) {
				if _, ok := s.vars[name]; !ok && !defaulted && !strings.Contains(f.Message, "${") {
					f.Message = "the variable ${" + name + "} is not declared"
					f.Pos = useLine(n, name, o.Origin)
				}
			})
			return !strings.Contains(f.Message, "${")
		})
	default:
		f.Code, f.Message = "bad_substitution", "a variable expression is malformed; write $${ for a literal ${"
		eachScalar(o.Node(), func(n *yaml.Node) bool {
			if _, err := parseExpression(n.Value); err != nil {
				f.Pos = positionOr(n, o.Origin)
				return false
			}
			return true
		})
	}
	return f
}

// collect records the variables that the object uses without a value and
// without a default: undeclared ones, or unknown ones while not everything
// could be read. It reports whether the object depends on any, and then also
// on one with a default while not everything could be read.
func (s *substitution) collect(o *kustomize.Object, whole *expression, res *controller.Result) (missing bool) {
	absent := map[string]bool{}
	s.absent(whole, absent)
	if len(absent) == 0 && (s.certain() || s.complete) {
		return false
	}
	s.record(o, absent, res)
	return true
}

// absent adds the variables of an expression that have no value, and need one.
func (s *substitution) absent(e *expression, to map[string]bool) {
	e.uses(func(name string, defaulted bool) {
		if _, ok := s.vars[name]; !ok && (!defaulted || !s.complete) {
			to[name] = true
		}
	})
}

// record notes where an object uses variables.
func (s *substitution) record(o *kustomize.Object, absent map[string]bool, res *controller.Result) {
	found := map[string]bool{}
	record := func(name string, pos position.Pos) {
		found[name] = true
		u := controller.Undeclared{Name: name, Object: o.Ref, Pos: pos}
		if s.complete {
			res.Undeclared = append(res.Undeclared, u)
		} else {
			res.Unknown = append(res.Unknown, u)
		}
	}
	eachScalar(o.Node(), func(n *yaml.Node) bool {
		e, err := parseExpression(n.Value)
		if err != nil {
			return true
		}
		e.uses(func(name string, defaulted bool) {
			if !absent[name] || defaulted && s.complete {
				return
			}
			record(name, useLine(n, name, o.Origin))
		})
		return true
	})
	// Expressions that reach over several scalars.
	for _, name := range sortedKeys(absent) {
		if !found[name] {
			record(name, o.Origin)
		}
	}
}

func sortUses(us []controller.Undeclared) {
	slices.SortStableFunc(us, func(a, b controller.Undeclared) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Object.Compare(b.Object)
	})
}

// useLine is the line of the first use of a variable in a scalar.
func useLine(n *yaml.Node, name string, origin position.Pos) position.Pos {
	if n.Line == 0 {
		return origin
	}
	if n.Style&yaml.LiteralStyle == 0 {
		return position.Pos(n.Line)
	}
	i := strings.Index(n.Value, "${"+name)
	if i < 0 {
		i = strings.Index(n.Value, "${#"+name)
	}
	return scalarStart(n) + position.Pos(strings.Count(n.Value[:max(i, 0)], "\n"))
}

// eachScalar calls f for each scalar, keys included, that holds a dollar sign,
// until f returns false.
func eachScalar(n *yaml.Node, f func(*yaml.Node) bool) bool {
	if n.Kind == yaml.ScalarNode {
		return !strings.Contains(n.Value, "$") || f(n)
	}
	for _, c := range n.Content {
		if !eachScalar(c, f) {
			return false
		}
	}
	return true
}

func hasDollar(n *yaml.Node) bool {
	return !eachScalar(n, func(*yaml.Node) bool { return false })
}

func optedOut(n *yaml.Node) bool {
	for _, m := range []string{"labels", "annotations"} {
		v := lookup(lookup(lookup(n, "metadata"), m), optOut)
		if v != nil && v.Kind == yaml.ScalarNode && v.Value == "disabled" {
			return true
		}
	}
	return false
}

// idOf is the identity by which kustomize tells objects apart: the version is
// part of it, no namespace means "default", and a name that is no string
// counts as its text.
func idOf(o *kustomize.Object) resid.ResId {
	n := kyaml.NewRNode(o.Node())
	id := resid.NewResIdWithNamespace(resid.GvkFromNode(n), n.GetName(), n.GetNamespace())
	id.Namespace = id.EffectiveNamespace()
	return id
}

// quoteName shows a name without letting it break the line.
func quoteName(s string) string {
	if len(s) > 100 {
		end := 100
		for end > 100-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	// Byte by byte, so that what is not UTF-8 stays as it is.
	out := []byte(`"` + s + `"`)
	for i, b := range out {
		if b < ' ' || b == 0x7f {
			out[i] = '?'
		}
	}
	return string(out)
}

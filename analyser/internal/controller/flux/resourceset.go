package flux

import (
	"encoding/json"
	"fmt"
	"hash/adler32"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Limits of one ResourceSet.
const (
	maxRenders  = 100_000
	maxTemplate = 4 << 20
)

// readResourceSet expands a ResourceSet with static inputs into the objects
// that the operator creates (upstream: flux-operator BuildResourceSet). Of the
// templates only pipelines over inputs are evaluated; what uses more of Go's
// template language, or inputs that are not in the object, is a Problem, and
// the objects that can be told are returned beside it.
func readResourceSet(r *reader, d *controller.Declared) {
	if strings.EqualFold(r.annotation(groupOperator+"/reconcile"), "disabled") {
		d.Problem = &controller.Problem{Code: "reconcile_disabled", Message: "the ResourceSet is not reconciled", Pos: r.obj.Origin}
		return
	}
	set := &resourceSet{r: r, seen: map[object.Key]bool{}}
	spec := r.spec().required()
	inputs := set.inputs(spec)
	set.expand(spec, inputs)
	for _, step := range spec.get("steps").list() {
		set.expand(step, inputs)
	}
	common := spec.get("commonMetadata")
	labels, _ := common.get("labels").textMap()
	annotations, _ := common.get("annotations").textMap()
	d.Objects = set.objects
	if len(labels)+len(annotations) > 0 {
		d.Objects = withMetadata(d.Objects, labels, annotations)
	}
	if d.Problem = r.problem(); d.Problem != nil {
		d.Objects = nil
	} else {
		d.Problem = set.problem
	}
}

// external stands for the input sets that are not in the repository, of which
// there may be none.
var external = map[string]any{"external": true}

func isExternal(in map[string]any) bool { return len(in) == 1 && in["external"] == true }

type resourceSet struct {
	r       *reader
	objects []*kustomize.Object
	seen    map[object.Key]bool
	problem *controller.Problem
	renders int
}

func (s *resourceSet) note(code string, pos position.Pos, format string, args ...any) {
	if s.problem == nil {
		s.problem = &controller.Problem{Code: code, Message: fmt.Sprintf(format, args...), Pos: s.r.or(pos)}
	}
}

// inputs are the input sets that the templates are rendered with. One nil set
// stands for a ResourceSet without inputs.
func (s *resourceSet) inputs(spec field) []map[string]any {
	list := spec.get("inputs").list()
	from := spec.get("inputsFrom")
	if len(from.list()) > 0 {
		s.note("external_inputs", from.pos(), "spec.inputsFrom names providers whose inputs are not in the repository")
	}
	strategy := spec.get("inputStrategy").get("name").oneOf("Flatten", "Permute")
	var sets []map[string]any
	for i, e := range list {
		set, ok := value(e.node).(map[string]any)
		if !ok {
			e.wrong("an object")
			continue
		}
		for n, v := range s.r.obj.Unknown {
			if within(e.node, n) {
				s.note("substitution_unknown", e.pos(), "an input depends on the variable %s, whose value is not known", v)
			}
		}
		ref := s.r.obj.Ref
		set["provider"] = map[string]any{
			"apiVersion": ref.APIVersion(), "kind": ref.Kind, "name": ref.Name, "namespace": ref.Namespace,
		}
		if strategy == "Permute" {
			name := templateKey(ref.Name)
			if strings.Contains(ref.Name, ".") {
				s.note("template_not_evaluated", e.pos(), "versions of the operator differ in the name under which these inputs are known")
			}
			set = map[string]any{name: set, "id": fmt.Sprint(adler32.Checksum([]byte(fmt.Sprintf("%s=%d", name, i))))}
		}
		sets = append(sets, set)
	}
	switch {
	case len(from.list()) > 0 && strategy == "Permute":
		return []map[string]any{external} // every set holds something external
	case len(from.list()) > 0:
		return append(sets, external)
	case len(list) == 0:
		return []map[string]any{nil}
	}
	return sets
}

// templateKey is a name as a key of inputs: lower case, words joined by "_".
func templateKey(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "_")
}

func within(n, inner *yaml.Node) bool {
	if n == inner {
		return true
	}
	for _, c := range n.Content {
		if within(c, inner) {
			return true
		}
	}
	return false
}

// value is a node as decoded JSON: integers are int64, other numbers float64.
func value(n *yaml.Node) any {
	b, err := kyaml.NewRNode(n).MarshalJSON()
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return plainNumbers(v)
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for k, e := range v {
			v[k] = plainNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainNumbers(e)
		}
	}
	return v
}

// expand renders resources and then resourcesTemplate of the spec or a step.
func (s *resourceSet) expand(spec field, inputs []map[string]any) {
	for _, e := range spec.get("resources").list() {
		if !e.is(yaml.MappingNode, "an object") {
			continue
		}
		text, err := asText(e.node)
		if err != nil {
			e.wrong("YAML")
			continue
		}
		for _, in := range inputs {
			out, ok := s.render(text, in, e.pos())
			if !ok {
				break
			}
			n, err := asNode(out)
			if err != nil {
				s.note("template_not_evaluated", e.pos(), "%s is not YAML after it is rendered", e.name())
				break
			}
			carryLines(e.node, n, func(k string) string { return k })
			if isExternal(in) {
				s.addUnknown(n, e.pos())
				continue
			}
			s.add(n, e.pos(), in != nil)
		}
	}
	e := spec.get("resourcesTemplate")
	text := e.text()
	if text == "" {
		return
	}
	for _, in := range inputs {
		out, ok := s.render(text, in, e.pos())
		if !ok {
			break
		}
		for _, doc := range splitDocuments(out) {
			n, err := asNode(doc)
			if err != nil {
				s.note("template_not_evaluated", e.pos(), "%s is not YAML after it is rendered", e.name())
				return
			}
			if len(n.Content) > 0 {
				setLines(n, int(e.pos()))
				if isExternal(in) {
					s.addUnknown(n, e.pos())
					continue
				}
				s.add(n, e.pos(), true)
			}
		}
	}
}

func (s *resourceSet) render(text string, in map[string]any, pos position.Pos) (string, bool) {
	if s.renders++; s.renders > maxRenders || len(text) > maxTemplate {
		s.note("limit", pos, "the ResourceSet renders too much")
		return "", false
	}
	if isExternal(in) {
		return renderUnknown(text)
	}
	out, err := render(text, in)
	if err != nil {
		s.note("template_not_evaluated", pos, "%s", err)
		return "", false
	}
	return out, true
}

// addUnknown records a Kustomization or HelmRelease that is made for inputs
// which are not in the repository: there may be any number of it, and what it
// says is known as far as it does not depend on them. Of other objects nothing
// follows, so they are left to the note.
func (s *resourceSet) addUnknown(n *yaml.Node, pos position.Pos) {
	ref := refOf(n)
	if ref.Group != groupKustomize && ref.Group != groupHelm {
		return
	}
	o := *s.r.obj
	o.Node, o.Ref, o.Origin, o.UnknownName, o.UnknownIdentity = n, ref, s.r.or(pos), false, true
	o.Unknown = map[*yaml.Node]string{n: externalInputs}
	markUnknown(n, o.Unknown)
	s.objects = append(s.objects, &o)
}

// externalInputs is the name of what an unknown input set holds.
const externalInputs = "inputs"

func markUnknown(n *yaml.Node, unknown map[*yaml.Node]string) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${"+externalInputs+"}") {
		unknown[n] = externalInputs
	}
	for _, c := range n.Content {
		markUnknown(c, unknown)
	}
}

// splitDocuments splits rendered text at its document separators.
func splitDocuments(text string) []string {
	var out []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "---") {
			out = append(out, b.String())
			b.Reset()
			continue
		}
		b.WriteString(line)
	}
	out = append(out, b.String())
	kept := out[:0]
	for _, d := range out {
		if strings.TrimSpace(d) != "" {
			kept = append(kept, d)
		}
	}
	return kept
}

// add records a rendered object, unless it excludes itself or was rendered
// before.
func (s *resourceSet) add(n *yaml.Node, pos position.Pos, dedup bool) {
	ref := refOf(n)
	if ref.Kind == "" || ref.Version == "" || ref.Name == "" {
		s.note("template_not_evaluated", pos, "a rendered resource has no apiVersion, kind or name")
		return
	}
	a := lookup(lookup(lookup(n, "metadata"), "annotations"), groupOperator+"/reconcile")
	if a != nil && a.Value == "disabled" {
		return
	}
	if dedup && s.seen[ref.Key()] {
		return
	}
	s.seen[ref.Key()] = true
	o := *s.r.obj
	o.Node, o.Ref, o.Origin, o.UnknownName, o.Unknown, o.UnknownIdentity = n, ref, s.r.or(pos), false, nil, false
	s.objects = append(s.objects, &o)
}

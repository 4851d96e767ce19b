package flux

import (
	"encoding/json"
	"fmt"
	"hash/adler32"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux/template"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// readResourceSet expands a ResourceSet with static inputs into the objects
// that the operator creates (upstream: flux-operator BuildResourceSetFromSpec).
// A template that fails is a Problem of code "template_failed", and the operator
// makes nothing; inputs that are not in the object, and what of the template
// language is not evaluated, are a Problem too: beside it stand the objects that
// can be told, and those that may be made.
func readResourceSet(r *reader, d *controller.Declared) {
	if strings.EqualFold(r.annotation(groupOperator+"/reconcile"), "disabled") {
		d.Problem = &controller.Problem{Code: "reconcile_disabled", Message: "the ResourceSet is not reconciled", Pos: r.obj.Origin}
		return
	}
	set := &resourceSet{r: r, budget: template.NewBudget()}
	spec := r.spec().required()
	set.unknownVariables(spec.node)
	inputs := set.inputs(spec)
	set.expand(spec, inputs)
	set.steps(spec, inputs)
	common := spec.get("commonMetadata")
	labels, _ := common.get("labels").textMap()
	annotations, _ := common.get("annotations").textMap()
	d.Objects = set.objects
	if len(labels)+len(annotations) > 0 {
		d.Objects = withMetadata(set.objects, labels, annotations)
		labelled(set.objects, d.Objects, r.obj.Tree)
	}
	if d.Problem = r.problem(); d.Problem != nil || set.failed != nil {
		d.Objects = nil
	}
	if d.Problem == nil {
		d.Problem = set.problem
	}
}

// steps are resources in an order. An object of one step must not stand in
// another.
func (s *resourceSet) steps(spec field, inputs []map[string]any) {
	steps := spec.get("steps")
	if !steps.set() {
		return
	}
	for _, key := range []string{"resources", "resourcesTemplate"} {
		if spec.get(key).set() {
			steps.wrong("absent beside " + key)
		}
	}
	stepOf := map[object.Key]int{}
	for i, step := range steps.list() {
		first := len(s.objects)
		s.expand(step, inputs)
		for _, o := range s.objects[first:] {
			if o.UnknownIdentity {
				continue
			}
			if j, ok := stepOf[o.Ref.Key()]; ok && j != i {
				s.fail(step, "%s makes an object that an earlier step makes", step.name())
			}
			stepOf[o.Ref.Key()] = i
		}
	}
}

// unknownVariables collects the variables in the ResourceSet that are not known.
func (s *resourceSet) unknownVariables(spec *yaml.Node) {
	for n, name := range s.r.content.Unknown {
		if spec != nil && within(spec, n) && !slices.Contains(s.unknown, name) {
			s.unknown = append(s.unknown, name)
		}
	}
	slices.Sort(s.unknown)
}

// external stands for the input sets that are not in the repository, of which
// there may be none.
var external = map[string]any{"external": true}

func isExternal(in map[string]any) bool { return len(in) == 1 && in["external"] == true }

type resourceSet struct {
	r       *reader
	objects []*kustomize.Object
	seen    map[object.Key]bool
	// problem is the first; failed is the one for which nothing is made.
	problem, failed *controller.Problem
	budget          *template.Budget
	// unknown are variables in the spec whose values are not known.
	unknown []string
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
		for n, v := range s.r.content.Unknown {
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

package flux

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux/template"
	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// expand renders resources and then resourcesTemplate of the spec or a step.
func (s *resourceSet) expand(spec field, inputs []map[string]any) {
	s.seen = map[object.Key]bool{}
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
			out, unknown := s.render(text, in, e)
			for _, t := range out {
				s.resource(e, t.String(), in, unknown)
			}
		}
	}
	e := spec.get("resourcesTemplate")
	text := e.text()
	if text == "" {
		return
	}
	for _, in := range inputs {
		out, unknown := s.render(text, in, e)
		for _, t := range out {
			s.documents(e, t, unknown)
		}
	}
}

// render renders a template. When it is not certain what comes out of it, unknown
// says why and the texts are all that may.
func (s *resourceSet) render(text string, in map[string]any, at field) (out []*template.Text, unknown string) {
	if unknown = externalInputs; !isExternal(in) {
		unknown = notEvaluated
		t, err := template.Render(text, in, s.budget)
		switch {
		case err == nil:
			return []*template.Text{t}, ""
		case errors.Is(err, template.ErrLimit):
			s.note("limit", at.pos(), "%s", err)
			return nil, ""
		case errors.Is(err, template.ErrNotEvaluated):
			s.note("template_not_evaluated", at.pos(), "%s", err)
		default:
			s.fail(at, "%s", err)
			return nil, ""
		}
	}
	out, ok := template.Outlines(text, "${"+unknown+"}", s.budget)
	if !ok {
		s.note("template_not_evaluated", at.pos(), "%s has more than can be followed: nobody can tell what it makes", at.name())
	}
	return out, unknown
}

// fail records that the operator cannot build the ResourceSet, of which it then
// makes nothing. What depends on variables that are not known may still work.
func (s *resourceSet) fail(at field, format string, args ...any) {
	if len(s.unknown) > 0 {
		s.note("template_not_evaluated", at.pos(), format, args...)
		return
	}
	if s.failed == nil {
		s.failed = &controller.Problem{Code: "template_failed", Message: fmt.Sprintf(format, args...), Pos: s.r.or(at.pos())}
		s.problem = s.failed
	}
}

// resource is what an entry of resources became.
func (s *resourceSet) resource(e field, text string, in map[string]any, unknown string) {
	n, err := asNode(text)
	if err != nil {
		if unknown == "" {
			s.fail(e, "%s is not YAML after it is rendered", e.name())
		}
		return
	}
	carryLines(e.node, n, func(k string) string { return k })
	if unknown != "" {
		s.addUnknown(n, e.pos(), unknown)
		return
	}
	if identityText(n, "kind") == "" {
		s.fail(e, "%s has no kind after it is rendered", e.name())
		return
	}
	// An object without inputs is taken as it is.
	if in != nil && (excluded(n) || s.seen[refOf(n).Key()]) {
		return
	}
	s.add(n, e.pos(), s.history(e.node, n))
}

// documents are what a resourcesTemplate became.
func (s *resourceSet) documents(e field, t *template.Text, unknown string) {
	line := func(i int) int { return int(e.pos()) }
	if e.node.Style&yaml.LiteralStyle != 0 {
		line = func(i int) int { return int(scalarStart(e.node)) + t.Line(i) }
	}
	for _, doc := range splitDocuments(t.String()) {
		n, err := asNode(doc.text)
		if err != nil {
			if unknown == "" {
				s.fail(e, "%s is not YAML after it is rendered", e.name())
			}
			continue
		}
		if len(n.Content) == 0 {
			continue
		}
		pos := line(doc.line)
		setLines(n, pos)
		if written, err := kyaml.Parse(doc.text); err == nil && written.YNode() != nil {
			from := written.YNode()
			eachNode(from, func(n *yaml.Node) {
				// The parser counts from 1.
				n.Line = line(doc.line + n.Line - 1)
			})
			pos = from.Line
			carryLines(from, n, func(k string) string { return k })
		}
		switch {
		case unknown != "":
			s.addUnknown(n, position.Pos(pos), unknown)
		case identityText(n, "kind") == "":
			s.fail(e, "a document of %s has no kind after it is rendered", e.name())
		default:
			s.document(e, n, position.Pos(pos))
		}
	}
}

// document is one document of a resourcesTemplate: a list is taken apart, and
// what is no object of Kubernetes is left out (upstream: fluxcd/pkg/ssa/utils
// ReadObjects).
func (s *resourceSet) document(e field, n *yaml.Node, pos position.Pos) {
	all := []*yaml.Node{n}
	if items := lookup(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
		all = items.Content
	} else if skipped(n, false) != "" {
		return
	}
	for _, n := range all {
		if n.Kind != yaml.MappingNode {
			s.fail(e, "an element of items is not an object")
			return
		}
		if !excluded(n) && !s.seen[refOf(n).Key()] {
			s.add(n, positionOr(n, pos), s.historyOfText(e.node, n))
		}
	}
}

// excluded reports that an object asks not to be made.
func excluded(n *yaml.Node) bool {
	return identityText(n, "metadata", "annotations", groupOperator+"/reconcile") == "disabled"
}

// add records a rendered object.
func (s *resourceSet) add(n *yaml.Node, pos position.Pos, h *kustomize.History) {
	ref := refOf(n)
	s.seen[ref.Key()] = true
	o := *s.r.obj
	o.Ref, o.Origin, o.UnknownName, o.History = ref, s.r.or(pos), false, h
	var unknown map[*yaml.Node]string
	eachNode(n, func(n *yaml.Node) {
		for _, name := range s.unknown {
			if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${"+name+"}") {
				if unknown == nil {
					unknown = map[*yaml.Node]string{}
				}
				unknown[n] = name
			}
		}
	})
	o.Tree, o.UnknownIdentity = packed.Of(n, unknown), unknownIdentity(n, unknown)
	s.objects = append(s.objects, &o)
}

// addUnknown records a Kustomization or HelmRelease that may be made, nobody
// knows how often: for inputs that are not in the repository, or by a template
// that is not evaluated. What it says is known as far as it does not depend on
// them. Of other objects nothing follows, so they are left to the note.
func (s *resourceSet) addUnknown(n *yaml.Node, pos position.Pos, why string) {
	ref := refOf(n)
	if ref.Group != groupKustomize && ref.Group != groupHelm {
		return
	}
	o := *s.r.obj
	o.Ref, o.Origin, o.UnknownName, o.UnknownIdentity, o.History = ref, s.r.or(pos), false, true, nil
	unknown := map[*yaml.Node]string{n: why}
	eachNode(n, func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${"+why+"}") {
			unknown[n] = why
		}
	})
	o.Tree = packed.Of(n, unknown)
	s.objects = append(s.objects, &o)
}

// The names of what stands for the unknown in an object that may be made.
const (
	externalInputs = "inputs"   // what an input set from elsewhere holds
	notEvaluated   = "template" // what a template writes that is not evaluated
)

// history is that of an object which an entry of resources became: the template
// wrote what is not as it stands there. nil when the build is not traced.
func (s *resourceSet) history(from, to *yaml.Node) *kustomize.History {
	h := s.r.obj.History
	if h == nil {
		return nil
	}
	h = &kustomize.History{Values: h.Values}
	return h.Follow(from, to, func(_ fieldpath.Path, old, _ *yaml.Node) kustomize.Cause {
		c := kustomize.Cause{Kind: kustomize.StepSubstitution, What: "inputs", Pos: s.r.obj.Origin}
		c.Pos = positionOr(from, c.Pos)
		if old != nil {
			c.Pos = positionOr(old, c.Pos)
		}
		return c
	})
}

// historyOfText is that of an object which a resourcesTemplate became: its lines
// are the template's, and what set the template as a whole set all of it.
func (s *resourceSet) historyOfText(from, to *yaml.Node) *kustomize.History {
	h := s.r.obj.History
	if h == nil {
		return nil
	}
	out := &kustomize.History{Values: map[*yaml.Node]*kustomize.Record{}}
	if r := h.Values[from]; r != nil {
		fieldpath.Leaves(to, func(_ fieldpath.Path, _, n *yaml.Node) bool {
			out.Values[n] = &kustomize.Record{Cause: r.Cause}
			return true
		})
	}
	return out
}

func eachNode(n *yaml.Node, f func(*yaml.Node)) {
	f(n)
	for _, c := range n.Content {
		eachNode(c, f)
	}
}

type textDocument struct {
	text string
	// line of its first line, from 0.
	line int
}

// splitDocuments splits rendered text at its document separators.
func splitDocuments(text string) []textDocument {
	var out []textDocument
	var b strings.Builder
	start, i := 0, 0
	end := func() {
		if s := b.String(); strings.TrimSpace(s) != "" {
			out = append(out, textDocument{s, start})
		}
		b.Reset()
	}
	for line := range strings.Lines(text) {
		i++
		if strings.HasPrefix(line, "---") {
			end()
			start = i
			continue
		}
		b.WriteString(line)
	}
	end()
	return out
}

package flux

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// target is what kustomize builds for a Kustomization.
func target(s *controller.Sync) kustomize.Target {
	return kustomize.Target{Dir: Directory(s.Path), Flux: &s.Overlay, Declared: s.Declared}
}

// postBuild turns what kustomize builds into what kustomize-controller
// applies. It changes neither k nor the objects in it: other builds share
// them. byText substitutes without shortcuts.
func postBuild(k *kustomize.Build, s *controller.Sync, vars map[string]string, complete, strict, byText bool) *controller.Result {
	out := *k
	res := &controller.Result{Build: &out}
	defer func() {
		if res.Failure != nil {
			res.Built = slices.DeleteFunc(slices.Concat(k.Objects, k.Unwritten), func(o *kustomize.Object) bool { return o.Unwritable != nil })
		}
	}()
	if out.Failure != nil && len(out.Unwritten) == 0 {
		return res
	}
	// Upstream checks, writes and substitutes object by object and stops at the
	// first that fails. Without substitution it writes all at the end.
	end := out.Failure
	if end != nil {
		out.Objects, out.Unwritten, out.Failure = out.Unwritten, nil, nil
	}
	for i, o := range out.Objects {
		if o.Ref.Kind == "" || o.Ref.Version == "" && o.Ref.Group == "" || o.Ref.Name == "" && !o.UnknownName {
			end = &kustomize.Failure{
				Code: "not_an_object", Pos: o.Origin,
				Message: "an object of the build has no apiVersion, kind or name",
			}
			out.Objects = out.Objects[:i]
			break
		}
		if s.Variables.Declared && o.Unwritable != nil {
			out.Objects = out.Objects[:i]
			break
		}
	}
	if s.Variables.Declared {
		values := withoutNewlines(vars)
		for _, name := range s.Variables.Unknown {
			delete(values, name)
			complete = false
		}
		sub := &substitution{vars: values, complete: complete, strict: strict, always: s.Variables.Always, hidden: s.Variables.Hidden, byText: byText}
		built := out.Objects
		out.Objects = sub.run(built, res)
		substituted(built, out.Objects)
		if res.Failure != nil {
			return failed(res, res.Failure)
		}
	}
	if end != nil {
		return failed(res, end)
	}
	out.Objects = readObjects(out.Objects, res)
	if res.Failure != nil {
		return failed(res, res.Failure)
	}
	if len(s.CommonLabels)+len(s.CommonAnnotations) > 0 {
		built := out.Objects
		out.Objects = withMetadata(built, s.CommonLabels, s.CommonAnnotations)
		labelled(built, out.Objects, s.Declared)
	}
	return res
}

func failed(res *controller.Result, f *kustomize.Failure) *controller.Result {
	res.Failure, res.Objects, res.Dropped = f, nil, nil
	return res
}

// readObjects is the way of the build's text back into objects (upstream:
// fluxcd/pkg/ssa/utils ReadObjects): an object with a top-level list "items"
// is replaced by its items, and what is no Kubernetes object or is a
// kustomization file is left out without an error. Only a missing kind fails.
func readObjects(in []*kustomize.Object, res *controller.Result) []*kustomize.Object {
	var out []*kustomize.Object
	for i, o := range in {
		content := o.Tree.Open()
		items := lookup(content.Node, "items")
		if identityText(content.Node, "kind") == "" {
			res.Failure = &kustomize.Failure{
				Code: "not_an_object", Pos: o.Origin,
				Message: "the kind of an object is no string any more after its variables are substituted",
			}
			return nil
		}
		reason := skipped(content.Node, o.UnknownName)
		switch {
		case items != nil && items.Kind == yaml.SequenceNode:
			if out == nil {
				out = append(make([]*kustomize.Object, 0, len(in)), in[:i]...)
			}
			for _, n := range items.Content {
				if n.Kind != yaml.MappingNode {
					res.Failure = &kustomize.Failure{
						Code: "not_an_object", Pos: positionOr(n, o.Origin),
						Message: "an element of items is not an object",
					}
					return nil
				}
				out = append(out, item(o, n, content.Unknown))
			}
		case reason != "":
			if out == nil {
				out = append(make([]*kustomize.Object, 0, len(in)), in[:i]...)
			}
			res.Dropped = append(res.Dropped, controller.Dropped{Object: o.Ref, Pos: o.Origin, Reason: reason})
		case out != nil:
			out = append(out, o)
		}
	}
	if out == nil {
		return in
	}
	return out
}

// skipped is why an object is left out; "" when it is not.
func skipped(n *yaml.Node, unknownName bool) string {
	apiVersion, kind := identityText(n, "apiVersion"), identityText(n, "kind")
	name := identityText(n, "metadata", "name")
	if apiVersion == "" || name == "" && !unknownName {
		return "not_a_kubernetes_object"
	}
	if strings.EqualFold(kind, "kustomization") && strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") {
		return "kustomize_config"
	}
	return ""
}

func item(list *kustomize.Object, n *yaml.Node, unknown map[*yaml.Node]string) *kustomize.Object {
	o := *list
	o.Tree, o.Ref = packed.Of(n, unknown), refOf(n)
	o.UnknownIdentity = unknownIdentity(n, unknown)
	if n.Line != 0 {
		o.Origin = position.Pos(n.Line)
	}
	return &o
}

// identityText is a string below a node; "" when there is none or when it is
// no string, as the accessors of unstructured objects have it.
func identityText(n *yaml.Node, path ...string) string {
	for _, key := range path {
		n = lookup(n, key)
	}
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return ""
	}
	return n.Value
}

// refOf reads the identity of an object.
func refOf(n *yaml.Node) object.Ref {
	group, version := object.SplitAPIVersion(identityText(n, "apiVersion"))
	return object.Ref{
		Group: group, Version: version, Kind: identityText(n, "kind"),
		Namespace: identityText(n, "metadata", "namespace"), Name: identityText(n, "metadata", "name"),
	}
}

// withMetadata sets spec.commonMetadata on copies of the objects. The
// controller does so right before it applies them: the values are not subject
// to substitution, and they win over what the objects say.
func withMetadata(in []*kustomize.Object, labels, annotations map[string]string) []*kustomize.Object {
	out := make([]*kustomize.Object, len(in))
	for i, o := range in {
		c := *o
		content := o.Tree.Open()
		n := shallow(content.Node)
		meta := child(n, "metadata")
		setAll(meta, "labels", labels)
		setAll(meta, "annotations", annotations)
		c.Tree = packed.Of(n, content.Unknown)
		out[i] = &c
	}
	return out
}

// shallow copies a node without its children, and gives it its own slice.
func shallow(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = append([]*yaml.Node(nil), n.Content...)
	return &c
}

// child replaces the mapping at a key of n by a copy, or adds an empty one.
func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			c := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			if n.Content[i+1].Kind == yaml.MappingNode {
				c = shallow(n.Content[i+1])
			}
			n.Content[i+1] = c
			return c
		}
	}
	c := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	n.Content = append(n.Content, text(key), c)
	return c
}

// setAll adds to a map of strings. Where it holds anything that is no string the
// controller finds nothing in it, and the values take the place of all of it
// (upstream: unstructured GetLabels, GetAnnotations).
func setAll(meta *yaml.Node, key string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	m := child(meta, key)
	for i := 1; i < len(m.Content); i += 2 {
		if m.Content[i].Kind != yaml.ScalarNode || m.Content[i].ShortTag() != "!!str" {
			m.Content = nil
			break
		}
	}
	for _, k := range sortedKeys(values) {
		set(m, k, text(values[k]))
	}
}

func set(m *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = v
			return
		}
	}
	m.Content = append(m.Content, text(key), v)
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func positionOr(n *yaml.Node, fallback position.Pos) position.Pos {
	if n != nil && n.Line != 0 {
		return position.Pos(n.Line)
	}
	return fallback
}

package kustomize

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/packed"
)

// Concealed stands in the place of a value that a step of the build took from a
// Secret, and is its name among the Unknown of an object. No name and no path of Kubernetes holds
// parentheses.
const Concealed = "(secret)"

// shortSecret is the length up to which a value is concealed only in the objects that
// a step gave a secret, and there as a word of its own: "1" says little and is
// everywhere.
const shortSecret = 6

// secrets are values that a build took from Secrets and gave to other objects.
type secrets map[string]bool

func (s *secrets) add(values ...string) {
	for _, v := range values {
		if v == "" {
			continue
		}
		if *s == nil {
			*s = secrets{}
		}
		(*s)[v] = true
	}
}

// sorted are the values, the longest first: one may be part of another.
func (s secrets) sorted() []string {
	out := make([]string, 0, len(s))
	for v := range s {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return out
}

// secretPath reports that a field path of a Secret, as replacements and vars write it,
// leads to what a Secret hides. The default is metadata.name.
func secretPath(path string) bool {
	if path == "" {
		return false
	}
	for _, plain := range []string{"metadata.name", "metadata.labels", "apiVersion", "kind", "type", "immutable"} {
		if strings.HasPrefix(path, plain) {
			return false // metadata.namespace is one of metadata.name
		}
	}
	return true
}

// hidden are the scalars in the data of a Secret.
func hidden(n *yaml.Node) []string {
	var out []string
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if n == nil {
			return
		}
		if n.Kind == yaml.ScalarNode {
			out = append(out, n.Value)
		}
		for i, c := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				walk(c)
			}
		}
	}
	walk(lookup(n, "data"))
	walk(lookup(n, "stringData"))
	walk(lookup(lookup(n, "metadata"), "annotations"))
	return out
}

// taken are the values that a replacement can take from Secrets among the objects.
func (m *resources) taken(r types.Replacement) []string {
	s := r.Source
	if s == nil || !secretPath(s.FieldPath) {
		return nil
	}
	var out []string
	for _, e := range m.list {
		if e.res.GetKind() != "Secret" || s.Kind != "" && s.Kind != "Secret" ||
			s.Name != "" && s.Name != e.res.OrgId().Name && s.Name != e.res.GetName() {
			continue
		}
		for _, v := range hidden(e.res.YNode()) {
			out = append(out, v)
			if s.Options != nil && s.Options.Delimiter != "" {
				out = append(out, strings.Split(v, s.Options.Delimiter)...)
			}
		}
	}
	return out
}

// gained are those of the values that scalars of after hold and those of before do not.
func gained(before, after *yaml.Node, values []string) []string {
	had := map[string]bool{}
	var out []string
	eachValue(before, func(n *yaml.Node) { had[n.Value] = true })
	eachValue(after, func(n *yaml.Node) {
		if had[n.Value] {
			return
		}
		for _, v := range values {
			if v != "" && strings.Contains(n.Value, v) {
				out = append(out, v)
			}
		}
	})
	return out
}

func eachValue(n *yaml.Node, f func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode {
		f(n)
	}
	for _, c := range n.Content {
		eachValue(c, f)
	}
}

// conceal puts Concealed in the place of the values in an object; touched reports that
// a step gave it one. What a Secret hides itself stays: that is never shown.
func (o *Object) conceal(values []string, touched bool) {
	secret := o.Ref.Kind == "Secret" && o.Ref.Group == ""
	holds := func(n *yaml.Node) bool { return conceal(n.Value, values, touched) != n.Value }
	found := false
	root := o.Node()
	walk := func(f func(*yaml.Node)) {
		for i := 0; i+1 < len(root.Content); i += 2 {
			if key := root.Content[i].Value; !secret || key != "data" && key != "stringData" {
				eachValue(root.Content[i+1], f)
			}
		}
	}
	walk(func(n *yaml.Node) { found = found || holds(n) })
	if !found {
		return
	}
	if o.History == nil {
		root = copyNode(root) // others may share it
		o.Tree = packed.Of(root, nil)
	}
	walk(func(n *yaml.Node) {
		if holds(n) {
			n.Value, n.Tag, n.Style = conceal(n.Value, values, touched), "!!str", 0
		}
	})
	o.Ref.Name = conceal(o.Ref.Name, values, touched)
	o.Ref.Namespace = conceal(o.Ref.Namespace, values, touched)
	o.Ref.Kind = conceal(o.Ref.Kind, values, touched)
	o.Ref.Group = conceal(o.Ref.Group, values, touched)
	o.Ref.Version = conceal(o.Ref.Version, values, touched)
	o.Conceals = true
	o.MarkConcealed()
}

// MarkConcealed notes the scalars of an object that hold Concealed in Unknown, again
// after a step that wrote the object anew.
func (o *Object) MarkConcealed() {
	if !o.Conceals {
		return
	}
	content := o.Tree.Open()
	unknown := make(map[*yaml.Node]string, len(content.Unknown)+1)
	maps.Copy(unknown, content.Unknown)
	eachValue(content.Node, func(n *yaml.Node) {
		if strings.Contains(n.Value, Concealed) {
			unknown[n] = Concealed
		}
	})
	o.Tree = packed.Of(content.Node, unknown)
	meta := lookup(content.Node, "metadata")
	for _, n := range []*yaml.Node{lookup(content.Node, "apiVersion"), lookup(content.Node, "kind"), lookup(meta, "name"), lookup(meta, "namespace")} {
		o.UnknownIdentity = o.UnknownIdentity || n != nil && unknown[n] != ""
	}
}

// conceal replaces the values in a text, the longest first. Short ones are replaced only
// when loose is set, and as words.
func conceal(text string, values []string, loose bool) string {
	for _, v := range values {
		switch {
		case len(v) >= shortSecret:
			text = strings.ReplaceAll(text, v, Concealed)
		case loose:
			text = replaceWord(text, v)
		}
	}
	return text
}

// replaceWord replaces a word that no letter or digit goes on with.
func replaceWord(text, word string) string {
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return b.String() + text[from:]
		}
		i += from
		end := i + len(word)
		if i > 0 && wordByte(text[i-1]) || end < len(text) && wordByte(text[end]) {
			b.WriteString(text[from:end])
		} else {
			b.WriteString(text[from:i] + Concealed)
		}
		from = end
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// conceal conceals the values in what a build yields and says. The objects were made of
// the entries, in their order.
func (out *Build) conceal(entries []*entry, s secrets) {
	if len(s) == 0 {
		return
	}
	values := s.sorted()
	for _, f := range []**Failure{&out.Failure, &out.Unresolved} {
		if *f != nil {
			c := **f // layers share it
			c.Message = conceal(c.Message, values, true)
			*f = &c
		}
	}
	objects := out.Objects
	if len(objects) == 0 {
		objects = out.Unwritten
	}
	for i, o := range objects {
		if f := o.Unwritable; f != nil {
			c := *f
			c.Message = conceal(c.Message, values, true)
			o.Unwritable = &c
		}
		was := o.UnknownIdentity
		o.conceal(values, entries[i].touched)
		if o.UnknownIdentity && !was && out.Unresolved == nil {
			out.Unresolved = fail(codeSecretIdentity, o.Origin, "the identity of an object holds a value from a Secret, which is not shown")
		}
	}
}

package kustomize

import (
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// placedReplacement is a replacement and where it is written.
type placedReplacement struct {
	types.Replacement
	pos position.Pos
}

// replacements configures `replacements` (upstream: ReplacementTransformer).
func (t *target) replacements(*accumulation) ([]transformer, error) {
	if len(t.k.Replacements) == 0 {
		return nil, nil
	}
	var list []placedReplacement
	for i, r := range t.k.Replacements {
		pos := t.file.at("replacements", i)
		if r.Path == "" {
			list = append(list, placedReplacement{r.Replacement, pos})
			continue
		}
		if r.Source != nil || len(r.Targets) != 0 {
			return nil, fail(codeBadReplacement, pos, "a replacement has either a path or a source and targets, not both")
		}
		more, err := t.replacementFile(r.Path, pos)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	tr := t.builtin("ReplacementTransformer", "replacements", func(m *resources) error {
		for _, r := range list {
			taken, err := m.replace(r)
			t.secrets.add(taken...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	tr.code, tr.what = codeBadReplacement, "a replacement cannot be applied"
	return []transformer{tr}, nil
}

// replacementFile reads one replacement or a list of them.
func (t *target) replacementFile(path string, pos position.Pos) ([]placedReplacement, error) {
	if isRemoteFile(path) {
		t.outside.external = append(t.outside.external, External{Kind: externalFile, URL: path, Pos: pos})
		t.undecided(pos)
		return nil, nil
	}
	e, f := resolveFile(t.b.view, t.file.dir, path, pos)
	if f != nil {
		return nil, f
	}
	content, err := t.b.view.ReadEntry(e)
	if err != nil {
		return nil, fail(codeNotFound, pos, "cannot read "+e.Origin)
	}
	bad := fail(codeBadReplacement, t.b.base(e), "the file holds neither a replacement nor a list of them")
	var doc any
	if err := k8syaml.Unmarshal(content, &doc); err != nil {
		return nil, bad
	}
	var list []types.Replacement
	switch doc.(type) {
	case []any:
		err = k8syaml.Unmarshal(content, &list)
	case map[string]any:
		list = make([]types.Replacement, 1)
		err = k8syaml.Unmarshal(content, &list[0])
	default:
		return nil, bad
	}
	if err != nil {
		return nil, bad
	}
	out := make([]placedReplacement, len(list))
	nodes := t.b.elements(e)
	for i, r := range list {
		out[i] = placedReplacement{r, t.b.base(e)}
		if i < len(nodes) {
			out[i].pos = position.Pos(nodes[i].Line)
		}
	}
	return out, nil
}

// replace applies one replacement and records what it changed. The filter does
// not tell which objects it selects, so objects are compared. It returns the
// values of Secrets that came into other objects.
func (m *resources) replace(r placedReplacement) (secrets []string, err error) {
	// The filter fills in defaults: it gets a copy.
	c := r.Replacement
	if c.Source != nil {
		source := *c.Source
		c.Source = &source
	}
	c.Targets = nil
	for _, target := range r.Targets {
		if target != nil {
			copied := *target
			target = &copied
		}
		c.Targets = append(c.Targets, target)
	}
	before := make([]*yaml.Node, len(m.list))
	for i, e := range m.list {
		before[i] = e.res.YNode()
		if !e.shared {
			before[i] = copyNode(before[i])
		}
	}
	entries, taken := m.list, m.taken(r.Replacement)
	if err := m.ApplyFilter(replacement.Filter{Replacements: []types.Replacement{c}}); err != nil {
		return taken, wrap(err, codeBadReplacement, r.pos, "the replacement cannot be applied: its source or a target is missing or of the wrong type")
	}
	size, secret := 0, m.mayBeSecret(r.Source)
	for i, e := range entries {
		if e.res.IsNil() || sameValue(before[i], e.res.YNode()) {
			continue
		}
		size += weight(e.res.YNode())
		if got := gained(before[i], e.res.YNode(), taken); len(got) > 0 {
			secrets, e.touched = append(secrets, got...), true
		}
		e.step(StepTransformer, r.pos)
		e.note(Cause{Kind: StepTransformer, What: "replacements", Pos: r.pos, Secret: secret})
	}
	if size > maxWeight {
		return secrets, fail(codeLimit, r.pos, "replacements make the objects larger than the limit")
	}
	return secrets, nil
}

// mayBeSecret reports that the source of a replacement may be a Secret.
func (m *resources) mayBeSecret(s *types.SourceSelector) bool {
	if s == nil || s.Kind != "" {
		return s != nil && s.Kind == "Secret"
	}
	for _, e := range m.list {
		if e.res.GetKind() == "Secret" && (s.Name == "" || s.Name == e.res.OrgId().Name || s.Name == e.res.GetName()) {
			return true
		}
	}
	return false
}

// elements are the nodes of the list in a file, or its one mapping.
func (b *Builder) elements(e snapshot.Entry) []*yaml.Node {
	file, err := b.docs.Read(b.view.files, e)
	if err != nil || len(file.Documents) == 0 {
		return nil
	}
	n := file.Documents[0].Node()
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// maxWeight bounds what replacements may grow the objects of a layer to:
// values that contain themselves double with every replacement.
const maxWeight = 256 << 20

// weight is about the memory of a node.
func weight(n *yaml.Node) int {
	w := 64 + len(n.Value)
	for _, c := range n.Content {
		w += weight(c)
	}
	return w
}

package kustomize

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// mergePatch is a strategic merge patch.
type mergePatch struct {
	// res is the patch as written; it is not changed.
	res *resource.Resource
	// prepared is what is merged into objects that a selector selects.
	prepared *resource.Resource
	pos      position.Pos
}

// newMergePatch prepares a patch for many objects: upstream copies a patch's
// metadata over itself, which writes it anew (resWrangler.ApplySmPatch).
func newMergePatch(patch *resource.Resource) *mergePatch {
	p := &mergePatch{res: patch, prepared: patch.DeepCopy()}
	_ = p.prepared.CopyMergeMetaDataFieldsFrom(patch) // upstream ignores it too
	alignLines(header(patch.YNode()), p.prepared.YNode())
	return p
}

// patchText is a patch in a file or inline.
type patchText struct {
	text string
	// doc are the documents of the text.
	doc *document.File
	// pos is where the patch is: the file, or the first line of the text.
	pos position.Pos
}

// readPatch reads the text of a patch from a path or inline. trim removes the
// white space around an inline text.
func (t *target) readPatch(path, inline string, node *yaml.Node, pos position.Pos) (*patchText, *Failure) {
	if path == "" {
		trimmed := strings.TrimSpace(inline)
		lead := inline[:strings.Index(inline, trimmed)]
		p := &patchText{text: trimmed, pos: pos}
		switch {
		case node != nil && node.Kind == yaml.ScalarNode && node.Value == inline:
			p.pos = textPos(node) + position.Pos(strings.Count(lead, "\n"))
			if node.Style&yaml.LiteralStyle == 0 {
				p.pos = textPos(node)
				c := *node
				c.Value = trimmed
				p.doc = t.b.docs.Scalar(&c)
				break
			}
			p.doc = t.b.docs.Text(trimmed, p.pos)
		default:
			if pos != 0 {
				p.pos += position.Pos(strings.Count(lead, "\n"))
			}
			p.doc = t.b.docs.Text(trimmed, p.pos)
		}
		return p, nil
	}
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
	doc, err := t.b.docs.Read(t.b.view.files, e)
	if err != nil {
		return nil, fail(codeNotFound, pos, "cannot read "+e.Origin)
	}
	if t.overlay != nil && !t.overlay.KeepsEncrypted && t.b.encrypted(e) && t.outside.unresolved == nil {
		t.outside.unresolved = fail(codeEncrypted, doc.Base, "the patch is encrypted; Flux decrypts it before it builds")
	}
	p := &patchText{text: string(content), doc: doc, pos: doc.Base}
	if len(doc.Documents) > 0 {
		p.pos = doc.Documents[0].Pos
	}
	return p, nil
}

// mergePatchesOf reads strategic merge patches from documents.
func mergePatchesOf(docs *templates) []*mergePatch {
	var out []*mergePatch
	for i := range docs.list {
		out = append(out, &mergePatch{res: docs.list[i].res, pos: docs.list[i].pos})
	}
	return out
}

// patches configures the entries of `patches` (upstream: PatchTransformer).
func (t *target) patches(*accumulation) ([]transformer, error) {
	var out []transformer
	for i, p := range t.k.Patches {
		pos := t.file.at("patches", i)
		var node *yaml.Node
		if n := t.file.item("patches", i); n != nil {
			node = lookupFold(n, "patch")
			if v := lookupFold(n, "path"); p.Path != "" && v != nil {
				pos = position.Pos(v.Line)
			}
		}
		if own := len(t.k.Patches) - len(t.file.overlaid); i >= own {
			pos, node = t.file.overlaid[i-own].Pos, nil
		}
		apply, err := t.patch(p, node, pos)
		if err != nil {
			return nil, err
		}
		tr := t.builtin("PatchTransformer", "patches", apply)
		tr.code, tr.pos, tr.what = codeBadPatch, pos, "the patch cannot be applied"
		out = append(out, tr)
	}
	return out, nil
}

func nothing(*resources) error { return nil }

func (t *target) patch(p types.Patch, node *yaml.Node, pos position.Pos) (func(*resources) error, error) {
	switch inline := strings.TrimSpace(p.Patch); {
	case inline == "" && p.Path == "":
		return nil, fail(codeBadPatch, pos, "a patch needs either a path or a text")
	case inline != "" && p.Path != "":
		return nil, fail(codeBadPatch, pos, "a patch has either a path or a text, not both")
	}
	text, f := t.readPatch(p.Path, p.Patch, node, pos)
	if f != nil {
		return nil, f
	}
	if text == nil {
		return nothing, nil
	}
	docs := templatesOf(text.doc)
	if docs.err == nil {
		list := mergePatchesOf(docs)
		if len(list) == 0 {
			return nothing, nil
		}
		if o := p.Options; o != nil {
			for _, m := range list {
				m.res = m.res.DeepCopy()
				if o.AllowNameChange {
					m.res.AllowNameChange()
				}
				if o.AllowKindChange {
					m.res.AllowKindChange()
				}
			}
		}
		return mergeWith(list, p.Target, text.pos), nil
	}
	ops, err := decodeJSONPatch(text.text)
	if err != nil {
		if docs.err.Code == codeLimit {
			return nil, docs.err
		}
		at := docs.err.Pos
		if at == 0 {
			at = text.pos
		}
		return nil, fail(codeBadPatch, at, "the patch is neither an object nor a list of JSON 6902 operations: "+docs.err.Message)
	}
	return func(m *resources) error {
		if p.Target == nil {
			return fail(codeBadPatch, text.pos, "a JSON 6902 patch needs a target")
		}
		return m.patchJSON(ops, *p.Target, text, true)
	}, nil
}

// mergeWith applies strategic merge patches: to what target selects, or to the
// object that each names.
func mergeWith(list []*mergePatch, target *types.Selector, pos position.Pos) func(*resources) error {
	return func(m *resources) error {
		if target == nil {
			for _, p := range list {
				if err := m.patchNamed(p); err != nil {
					return err
				}
			}
			return nil
		}
		if len(list) > 1 {
			return fail(codeBadPatch, pos, "a patch with a target may hold one object only")
		}
		selected, err := m.selected(*target)
		if err != nil {
			return fail(codeBadPatch, 0, "the target of a patch is not a valid selector")
		}
		p := newMergePatch(list[0].res)
		p.pos = pos
		return m.patch(resource.MakeIdSet(resourcesOf(selected)), p, pos)
	}
}

func resourcesOf(list []*entry) []*resource.Resource {
	out := make([]*resource.Resource, len(list))
	for i, e := range list {
		out[i] = e.res
	}
	return out
}

// find returns the one object that a patch names.
func (m *resources) find(p *mergePatch) (*entry, error) {
	id := p.res.OrgId()
	e, n := m.one(id)
	switch {
	case n == 0:
		return nil, fail(codeNoMatch, p.pos, "no object matches the patch for "+idString(id))
	case e == nil:
		return nil, fail(codeNoMatch, p.pos, fmt.Sprintf("%d objects match the patch for %s", n, idString(id)))
	}
	return e, nil
}

// patchNamed merges a patch into the object that it names.
func (m *resources) patchNamed(p *mergePatch) error {
	e, err := m.find(p)
	if err != nil {
		return err
	}
	return m.merge(e, p.res.DeepCopy(), p.res.YNode(), p.pos)
}

// merge merges a patch, which is used up, into an entry. written is the patch
// as it is written.
func (m *resources) merge(e *entry, patch *resource.Resource, written *yaml.Node, pos position.Pos) error {
	r := e.own()
	before, id := header(r.YNode()), r.CurId()
	e.step(StepPatch, pos)
	if err := applyMerge(r, patch, m.long); err != nil {
		return fail(codeBadPatch, pos, "the patch cannot be merged into "+idString(id))
	}
	if !r.IsNil() {
		alignLines(before, r.YNode())
	}
	e.noteEach(Cause{Kind: StepPatch, What: "patches", Pos: pos}, func(p fieldpath.Path, _, value *yaml.Node) Cause {
		c := Cause{Kind: StepPatch, What: "patches", Pos: pos}
		if at := deepest(written, p); value == nil && at != 0 {
			c.Pos = at
		}
		return c
	})
	return nil
}

// patch merges a patch into the entries of which the current id is in the set,
// then checks all ids (upstream: resWrangler.ApplySmPatch).
func (m *resources) patch(set *resource.IdSet, p *mergePatch, pos position.Pos) error {
	var list []*entry
	changed := false
	for _, e := range m.list {
		if set.Contains(e.res.CurId()) {
			changed = true
			patch := p.prepared.DeepCopy()
			patch.SetGvk(e.res.GetGvk())
			patch.SetKind(p.res.GetKind())
			if err := m.merge(e, patch, p.res.YNode(), pos); err != nil {
				return err
			}
		}
		if !e.res.IsNilOrEmpty() {
			list = append(list, e)
		}
	}
	m.list = nil
	if !changed {
		// Nothing can collide that did not before; upstream looks again,
		// and so must we: ids need not be unique after JSON patches.
		return m.add(list...)
	}
	return m.add(list...)
}

// mergePatches configures `patchesStrategicMerge`: each string is a patch, or
// else the path of one (upstream: PatchStrategicMergeTransformer).
func (t *target) mergePatches(*accumulation) ([]transformer, error) {
	if len(t.k.PatchesStrategicMerge) == 0 {
		return nil, nil
	}
	var list []*mergePatch
	for i, p := range t.k.PatchesStrategicMerge {
		pos := t.file.at("patchesStrategicMerge", i)
		docs := t.inlineObjects(string(p), t.file.item("patchesStrategicMerge", i))
		if docs.err != nil {
			text, f := t.readPatch(string(p), "", nil, pos)
			if f != nil {
				return nil, f
			}
			if text == nil {
				continue
			}
			docs = templatesOf(text.doc)
		}
		if docs.err != nil {
			return nil, docs.err
		}
		list = append(list, mergePatchesOf(docs)...)
	}
	if len(list) == 0 && len(t.outside.external) == 0 {
		return nil, fail(codeBadPatch, t.file.field("patchesStrategicMerge"), "the patches are empty")
	}
	tr := t.builtin("PatchStrategicMergeTransformer", "patchesStrategicMerge", func(m *resources) error {
		for _, p := range list {
			e, err := m.find(p)
			if err != nil {
				return err
			}
			q := newMergePatch(p.res)
			if err := m.patch(resource.MakeIdSet([]*resource.Resource{e.res}), q, p.pos); err != nil {
				return err
			}
		}
		return nil
	})
	tr.code, tr.what = codeBadPatch, "the patch cannot be applied"
	return []transformer{tr}, nil
}

// inlineObjects reads a string of a kustomization file as objects.
func (t *target) inlineObjects(text string, node *yaml.Node) *templates {
	if node != nil && node.Kind == yaml.ScalarNode && node.Value == text {
		return templatesOf(t.b.docs.Scalar(node))
	}
	return templatesOf(t.b.docs.Text(text, 0))
}

// jsonPatches configures `patchesJson6902` (upstream: PatchJson6902Transformer).
func (t *target) jsonPatches(*accumulation) ([]transformer, error) {
	var out []transformer
	for i, p := range t.k.PatchesJson6902 {
		pos := t.file.at("patchesJson6902", i)
		var node *yaml.Node
		if n := t.file.item("patchesJson6902", i); n != nil {
			node = lookupFold(n, "patch")
		}
		switch {
		case p.Target == nil:
			return nil, fail(codeBadPatch, pos, "a JSON 6902 patch needs a target")
		case p.Target.Name == "":
			return nil, fail(codeBadPatch, pos, "the target of a patch needs a name")
		case p.Path == "" && p.Patch == "":
			return nil, fail(codeBadPatch, pos, "a patch needs either a path or a text")
		case p.Path != "" && p.Patch != "":
			return nil, fail(codeBadPatch, pos, "a patch has either a path or a text, not both")
		}
		text, f := t.readPatch(p.Path, p.Patch, node, pos)
		if f != nil {
			return nil, f
		}
		if text == nil {
			continue
		}
		if p.Path == "" {
			text.text = p.Patch // upstream trims inline texts of `patches` only
		}
		ops, err := decodeJSONPatch(text.text)
		if err != nil || len(ops) == 0 {
			return nil, fail(codeBadPatch, text.pos, "the patch is not a list of JSON 6902 operations")
		}
		tr := t.builtin("PatchJson6902Transformer", "patchesJson6902", func(m *resources) error {
			return m.patchJSON(ops, *p.Target, text, false)
		})
		tr.code, tr.pos, tr.what = codeBadPatch, pos, "the patch cannot be applied"
		out = append(out, tr)
	}
	return out, nil
}

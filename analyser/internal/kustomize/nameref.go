package kustomize

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/filters/nameref"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// candidates are the objects that a reference may mean. It answers what the
// name reference filter asks of a resmap.ResMap, from lists made once. An
// object whose name never changed is left out of the lists: the filter looks
// at previous names only. It still counts for which namespaces there are.
type candidates struct {
	resmap.ResMap

	all               []*resource.Resource
	original, current map[string][]*resource.Resource
}

func (c *candidates) Resources() []*resource.Resource { return c.all }

func (c *candidates) GroupedByOriginalNamespace() map[string][]*resource.Resource { return c.original }

func (c *candidates) GroupedByCurrentNamespace() map[string][]*resource.Resource { return c.current }

// named is what matters of an object for references to it and from it.
type named struct {
	entry    *entry
	cur, org resid.ResId
	prev     []resid.ResId
	renamed  bool
}

// fixReferences writes the new names of renamed objects into the fields that
// refer to them (upstream: nameReferenceTransformer in
// api/internal/accumulator).
func (m *resources) fixReferences(refs nameRefs) error {
	objects := make([]named, len(m.list))
	for i, e := range m.list {
		o := named{entry: e, cur: e.res.CurId(), prev: e.res.PrevIds()}
		if o.org, o.renamed = o.cur, len(o.prev) > 0; o.renamed {
			o.org = o.prev[0]
		}
		objects[i] = o
		if objects[i].renamed {
			e.own() // references to it are recorded on it
		}
	}
	known := newRenames(objects)
	known.long = m.long
	for i := range objects {
		if err := known.fix(&objects[i], refs); err != nil {
			return err
		}
	}
	return nil
}

// fix writes new names into the fields of one object.
func (r *renames) fix(o *named, refs nameRefs) error {
	var fields []nameref.Filter
	for _, ref := range refs {
		for _, spec := range ref.Referrers {
			if o.org.IsSelected(&spec.Gvk) && mayHold(o.entry.res.YNode(), spec.Path) {
				fields = append(fields, nameref.Filter{NameFieldToUpdate: spec, ReferralTarget: ref.Gvk})
			}
		}
	}
	if len(fields) == 0 && o.cur.Kind != roleBinding {
		// Upstream looks at the subjects of a RoleBinding nevertheless.
		return nil
	}
	also, err := subjectNamespaces(o.entry.res)
	if err != nil {
		return err
	}
	confirmed := upright(o.entry.res)
	for _, f := range fields {
		path := f.NameFieldToUpdate.Path
		if path == "" {
			return fail(codeNameReference, o.entry.origin,
				"a name reference configuration that selects "+idString(o.cur)+" has no path")
		}
		m := mentioned(o.entry.res.YNode(), path)
		m.known = m.known && !r.long
		plain := m.known && m.plain && confirmed
		if plain && !r.mention(m.values) {
			continue
		}
		settled := false
		if plain {
			var changed bool
			if changed, settled = r.settle(o, &f, also, m.values); settled && !changed {
				continue
			}
		}
		if !settled {
			if err := r.filter(o, f, also, &m); err != nil {
				return err
			}
		}
		o.entry.noteEach(Cause{Kind: StepTransformer, What: "name reference"}, func(_ fieldpath.Path, _, value *yaml.Node) Cause {
			return renamedBy(r.objects, f.ReferralTarget, value)
		})
		confirmed = upright(o.entry.res)
	}
	return nil
}

// filter leaves a field to kustomize.
func (r *renames) filter(o *named, f nameref.Filter, also map[string]bool, m *mention) error {
	if m.known {
		f.ReferralCandidates = r.narrow(o, also, m.values)
	} else {
		f.ReferralCandidates = r.all(o, also)
	}
	res := o.entry.own()
	f.Referrer = res
	line := res.YNode().Line // a filter that fails leaves no node
	if err := res.ApplyFilter(f); err != nil {
		return fail(codeNameReference, position.Pos(line),
			"the reference in "+f.NameFieldToUpdate.Path+" of "+idString(o.cur)+" cannot be followed: it is malformed or means several objects")
	}
	return nil
}

// renamedBy is the cause of a new value of a reference: whatever gave an object
// of the kind that is referred to this name or namespace.
func renamedBy(objects []named, target resid.Gvk, value *yaml.Node) Cause {
	c := Cause{Kind: StepTransformer, What: "name reference"}
	if value == nil {
		return c
	}
	for _, o := range objects {
		r := o.entry.res
		if !o.renamed || !o.cur.IsSelected(&target) || r.GetName() != value.Value && r.GetNamespace() != value.Value || o.entry.traced == nil {
			continue
		}
		meta := lookup(o.entry.traced.node, "metadata")
		for _, field := range []string{"name", "namespace"} {
			n := lookup(meta, field)
			if n == nil || n.Value != value.Value {
				continue
			}
			if rec := o.entry.traced.Values[n]; rec != nil {
				c.Pos = rec.Pos
				return c
			}
		}
	}
	return c
}

const roleBinding = "RoleBinding"

// subjectNamespaces are the namespaces of the service accounts of a
// RoleBinding. Upstream panics on subjects that are no mappings, and fails on
// one whose namespace is no string; both fail the build.
func subjectNamespaces(r *resource.Resource) (map[string]bool, error) {
	if r.GetKind() != roleBinding {
		return nil, nil
	}
	list, err := r.GetSlice("subjects")
	if err != nil || list == nil {
		return nil, nil
	}
	bad := fail(codeNameReference, position.Pos(r.YNode().Line), "the subjects of "+idString(r.CurId())+" are malformed")
	out := map[string]bool{}
	for _, s := range list {
		subject, ok := s.(map[string]any)
		if !ok {
			return nil, bad
		}
		ns, ok := subject["namespace"]
		if !ok {
			continue
		}
		k, ok := subject["kind"]
		if !ok {
			continue
		}
		kind, ok := k.(string)
		if !ok {
			return nil, bad
		}
		if kind != "ServiceAccount" {
			continue
		}
		name, ok := ns.(string)
		if !ok {
			return nil, bad
		}
		out[name] = true
	}
	return out, nil
}

// mayHold reports whether the filter would find anything, or anything wrong,
// at a path: false only when nothing is there.
func mayHold(n *yaml.Node, path string) bool {
	if strings.Contains(path, `\`) || strings.HasPrefix(path, "/") {
		return true // escapes are upstream's to understand
	}
	for {
		if n.Tag == "!!null" {
			return false
		}
		switch n.Kind {
		case yaml.SequenceNode:
			for _, c := range n.Content {
				if mayHold(c, path) {
					return true
				}
			}
			return false
		case yaml.MappingNode:
		default:
			return true
		}
		name, rest, more := strings.Cut(path, "/")
		name, list := strings.CutSuffix(name, "[]")
		if name == "" {
			return true // upstream fails on an element without a name
		}
		var v *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				v = n.Content[i+1]
				break
			}
		}
		if v == nil {
			return false
		}
		if !more || list && v.Tag == "!!null" {
			return true // upstream makes a list of nothing
		}
		n, path = v, rest
	}
}

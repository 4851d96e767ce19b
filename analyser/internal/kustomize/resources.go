package kustomize

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// entry is one object on its way through the layers.
type entry struct {
	// res holds the node. While shared, it belongs to a document or to a
	// finished layer and must not be changed: see own.
	res    *resource.Resource
	shared bool
	// base is what res was copied from, to which settle puts back what is the same.
	base *yaml.Node

	origin  position.Pos
	written object.Ref
	steps   []Step
	// unknownName: the name gets a hash that cannot be known.
	unknownName bool
	// touched: a step gave the object a value from a Secret.
	touched bool
	// traced is the history so far; nil unless the build is traced.
	traced *traced
}

// own makes the resource of the entry its own to change.
func (e *entry) own() *resource.Resource {
	if e.shared {
		e.base = e.res.YNode()
		e.res = e.res.DeepCopy()
		e.shared = false
	}
	return e.res
}

// share returns an entry for another layer that uses the same resource.
func (e *entry) share() *entry {
	c := *e
	c.shared = true
	c.steps = slices.Clip(e.steps)
	return &c
}

// step adds a contribution unless it is already the last one.
func (e *entry) step(kind StepKind, pos position.Pos) {
	s := Step{kind, pos}
	if pos == 0 || len(e.steps) > 0 && e.steps[len(e.steps)-1] == s {
		return
	}
	e.steps = append(e.steps, s)
}

// resources is the list of entries that a layer works on. It implements the
// part of resmap.ResMap that kustomize's plugins use on the map they are
// given, with the semantics of upstream's (api/resmap/reswrangler.go);
// everything else panics, and the build that asked for it fails.
type resources struct {
	resmap.ResMap // not set: methods that no plugin calls

	list []*entry
	// long leaves to kustomize what a shortcut would do.
	long bool
}

// idKey is equal for ids that upstream's ResId.Equals says are equal.
type idKey struct {
	group, version, kind, namespace, name string
}

func keyOf(id resid.ResId) idKey {
	return idKey{id.Group, id.Version, id.Kind, id.EffectiveNamespace(), id.Name}
}

// ids returns the keys of all current ids.
func (m *resources) ids() map[idKey]bool {
	ids := make(map[idKey]bool, len(m.list))
	for _, e := range m.list {
		ids[keyOf(e.res.CurId())] = true
	}
	return ids
}

// add appends entries; an id that is already taken is an error.
func (m *resources) add(entries ...*entry) error {
	return m.addTo(m.ids(), entries...)
}

// addTo is add with the ids of the list at hand, which it extends.
func (m *resources) addTo(ids map[idKey]bool, entries ...*entry) error {
	for _, e := range entries {
		id := e.res.CurId()
		k := keyOf(id)
		if ids[k] {
			return duplicateID(e, id)
		}
		ids[k] = true
		m.list = append(m.list, e)
	}
	return nil
}

func duplicateID(e *entry, id resid.ResId) *Failure {
	return &Failure{
		Code: codeDuplicateID, Pos: e.origin,
		Message: fmt.Sprintf("%s is in the build already: two objects of one build cannot have the same group, kind, namespace and name", idString(id)),
	}
}

func (m *resources) Size() int { return len(m.list) }

// Resources hands out all resources for change.
func (m *resources) Resources() []*resource.Resource {
	out := make([]*resource.Resource, len(m.list))
	for i, e := range m.list {
		out[i] = e.own()
	}
	return out
}

func (m *resources) GetByIndex(i int) *resource.Resource {
	if i < 0 || i >= len(m.list) {
		return nil
	}
	return m.list[i].own()
}

// Append adds a resource that a plugin made.
func (m *resources) Append(r *resource.Resource) error {
	return m.add(&entry{res: r})
}

func (m *resources) DropEmpties() {
	m.list = slices.DeleteFunc(m.list, func(e *entry) bool { return e.res.IsNilOrEmpty() })
}

// byAnyID returns the entries of which a current or previous id matches.
func (m *resources) byAnyID(matches resmap.IdMatcher) []*entry {
	var out []*entry
	for _, e := range m.list {
		if e.res.IsNilOrEmpty() {
			continue
		}
		if matches(e.res.CurId()) || slices.ContainsFunc(e.res.PrevIds(), matches) {
			out = append(out, e)
		}
	}
	return out
}

func (m *resources) GetMatchingResourcesByAnyId(matches resmap.IdMatcher) []*resource.Resource {
	return owned(m.byAnyID(matches))
}

func (m *resources) GetMatchingResourcesByCurrentId(matches resmap.IdMatcher) []*resource.Resource {
	var out []*entry
	for _, e := range m.list {
		if matches(e.res.CurId()) {
			out = append(out, e)
		}
	}
	return owned(out)
}

func owned(list []*entry) []*resource.Resource {
	var out []*resource.Resource
	for _, e := range list {
		out = append(out, e.own())
	}
	return out
}

// one returns the only entry of which a current or previous id equals id.
func (m *resources) one(id resid.ResId) (*entry, int) {
	found := m.byAnyID(id.Equals)
	if len(found) != 1 {
		return nil, len(found)
	}
	return found[0], 1
}

func (m *resources) GetById(id resid.ResId) (*resource.Resource, error) {
	e, n := m.one(id)
	if e == nil {
		return nil, fmt.Errorf("%d objects match %s", n, idString(id))
	}
	return e.own(), nil
}

// selected returns the entries that a selector selects, in order.
func (m *resources) selected(s types.Selector) ([]*entry, error) {
	sr, err := types.NewSelectorRegex(&s)
	if err != nil {
		return nil, err
	}
	var out []*entry
	for _, e := range m.list {
		r := e.res
		cur, org := r.CurId(), r.OrgId()
		if !sr.MatchNamespace(org.EffectiveNamespace()) && !sr.MatchNamespace(cur.EffectiveNamespace()) {
			continue
		}
		if !sr.MatchName(org.Name) && !sr.MatchName(cur.Name) {
			continue
		}
		if !sr.MatchGvk(r.GetGvk()) {
			continue
		}
		if ok, err := r.MatchesLabelSelector(s.LabelSelector); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if ok, err := r.MatchesAnnotationSelector(s.AnnotationSelector); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		out = append(out, e)
	}
	return out, nil
}

func (m *resources) Select(s types.Selector) ([]*resource.Resource, error) {
	found, err := m.selected(s)
	return owned(found), err
}

// ApplySmPatch applies a strategic merge patch to the resources of which the
// current id is in the set.
func (m *resources) ApplySmPatch(set *resource.IdSet, patch *resource.Resource) error {
	return m.patch(set, newMergePatch(patch), 0)
}

// ApplyFilter applies a filter that works on all nodes at once.
func (m *resources) ApplyFilter(f kio.Filter) error {
	byNode := make(map[*kyaml.RNode]*entry, len(m.list))
	nodes := make([]*kyaml.RNode, len(m.list))
	for i, e := range m.list {
		nodes[i] = &e.own().RNode
		byNode[nodes[i]] = e
	}
	filtered, err := f.Filter(nodes)
	if err != nil {
		return err
	}
	m.list = make([]*entry, 0, len(filtered))
	for _, rn := range filtered {
		if rn.IsNilOrEmpty() {
			continue
		}
		e := byNode[rn]
		if e == nil {
			e = &entry{res: &resource.Resource{RNode: *rn}}
		}
		m.list = append(m.list, e)
	}
	return nil
}

// AnnotateAll sets an annotation on all resources.
func (m *resources) AnnotateAll(key, value string) error {
	return m.ApplyFilter(annotate(key, value))
}

// AddOriginAnnotation marks the resources that have no origin yet.
func (m *resources) AddOriginAnnotation(origin *resource.Origin) error {
	if origin == nil {
		return nil
	}
	for _, e := range m.list {
		if or, err := e.res.GetOrigin(); or != nil || err != nil {
			continue
		}
		if err := e.own().SetOrigin(origin); err != nil {
			return err
		}
	}
	return nil
}

// AddTransformerAnnotation records a transformer on all resources, or an
// origin on those that have none.
func (m *resources) AddTransformerAnnotation(origin *resource.Origin) error {
	for _, e := range m.list {
		or, err := e.res.GetOrigin()
		if err != nil {
			return err
		}
		if or == nil {
			err = e.own().SetOrigin(origin)
		} else {
			err = e.own().AddTransformation(origin)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

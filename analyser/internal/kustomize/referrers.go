package kustomize

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/filters/nameref"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// The name reference filter goes through every object that a reference may mean,
// for every field that may be one: the square of the objects of a large build. Here
// renamed objects are found by the names that they had, and a field in which no such
// name stands is not touched. What upstream would decide, the errors included, stays
// the same: whatever is not plain goes to the filter as it is, with all candidates.

// renames are the objects of a build as references look at them.
type renames struct {
	objects []named
	// byName are the renamed objects by each name that they had.
	byName map[string][]int
	// spaces are the namespaces there are among the objects of a namespace, under
	// that namespace; clusterScoped those of objects without one; everywhere all.
	spaces        map[string]*spaces
	rawSpaces     map[string]*spaces
	clusterScoped *spaces
	everywhere    *spaces
	whole         map[string]*candidates
	// long leaves every field to the filter, with all candidates.
	long bool
}

// spaces are objects, with the namespaces that they had first and have now.
type spaces struct {
	objects           []int
	original, current map[string]bool
}

func newSpaces() *spaces { return &spaces{original: map[string]bool{}, current: map[string]bool{}} }

func (s *spaces) add(i int, o *named) {
	s.objects = append(s.objects, i)
	if ns := o.org.EffectiveNamespace(); ns != resid.TotallyNotANamespace {
		s.original[ns] = true
	}
	if ns := o.cur.EffectiveNamespace(); ns != resid.TotallyNotANamespace {
		s.current[ns] = true
	}
}

func newRenames(objects []named) *renames {
	r := &renames{
		objects: objects, byName: map[string][]int{}, whole: map[string]*candidates{},
		spaces: map[string]*spaces{}, rawSpaces: map[string]*spaces{}, clusterScoped: newSpaces(), everywhere: newSpaces(),
	}
	in := func(sets map[string]*spaces, ns string) *spaces {
		s := sets[ns]
		if s == nil {
			s = newSpaces()
			sets[ns] = s
		}
		return s
	}
	for i := range objects {
		o := &objects[i]
		r.everywhere.add(i, o)
		if o.cur.IsClusterScoped() {
			r.clusterScoped.add(i, o)
		} else {
			in(r.spaces, o.cur.EffectiveNamespace()).add(i, o)
			in(r.rawSpaces, o.cur.Namespace).add(i, o)
		}
		if !o.renamed {
			continue
		}
		for _, id := range o.prev {
			if list := r.byName[id.Name]; len(list) == 0 || list[len(list)-1] != i {
				r.byName[id.Name] = append(list, i)
			}
		}
	}
	return r
}

// mention reports whether any of the values is a name that an object had.
func (r *renames) mention(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return len(r.byName[v]) > 0 })
}

// visible reports whether an object may refer to another at all (upstream:
// resWrangler.SubsetThatCouldBeReferencedByResource).
func visible(from, to *named, also map[string]bool) bool {
	return from.cur.IsClusterScoped() || to.cur.IsClusterScoped() || to.cur.IsNsEquals(from.cur) || also[to.cur.Namespace]
}

// narrow returns the candidates for a field of an object that holds the values: those
// that had one of them as their name. The filter looks at no others.
func (r *renames) narrow(from *named, also map[string]bool, values []string) *candidates {
	var found []int
	for _, v := range values {
		found = append(found, r.byName[v]...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	c := &candidates{original: map[string][]*resource.Resource{}, current: map[string][]*resource.Resource{}}
	for _, v := range values {
		original, current := r.space(from, also, v)
		if original {
			c.original[v] = nil
		}
		if current {
			c.current[v] = nil
		}
	}
	for _, i := range found {
		o := &r.objects[i]
		if !visible(from, o, also) {
			continue
		}
		c.all = append(c.all, o.entry.res)
		if ns := o.org.EffectiveNamespace(); ns != resid.TotallyNotANamespace {
			c.original[ns] = append(c.original[ns], o.entry.res)
		}
		if ns := o.cur.EffectiveNamespace(); ns != resid.TotallyNotANamespace {
			c.current[ns] = append(c.current[ns], o.entry.res)
		}
	}
	return c
}

// space reports whether any object that is visible had first, and has now, a
// namespace.
func (r *renames) space(from *named, also map[string]bool, ns string) (original, current bool) {
	for _, s := range r.seen(from, also) {
		original, current = original || s.original[ns], current || s.current[ns]
	}
	return original, current
}

// seen are the objects that are visible to one, some perhaps twice.
func (r *renames) seen(from *named, also map[string]bool) []*spaces {
	if from.cur.IsClusterScoped() {
		return []*spaces{r.everywhere}
	}
	out := []*spaces{r.clusterScoped}
	if s := r.spaces[from.cur.EffectiveNamespace()]; s != nil {
		out = append(out, s)
	}
	for raw := range also {
		if s := r.rawSpaces[raw]; s != nil {
			out = append(out, s)
		}
	}
	return out
}

// all returns all candidates of an object.
func (r *renames) all(from *named, also map[string]bool) *candidates {
	ns := from.cur.EffectiveNamespace()
	if c := r.whole[ns]; c != nil && len(also) == 0 {
		return c
	}
	c := &candidates{original: map[string][]*resource.Resource{}, current: map[string][]*resource.Resource{}}
	add := func(group map[string][]*resource.Resource, ns string, o *named) {
		if ns == resid.TotallyNotANamespace {
			return
		}
		list := group[ns]
		if o.renamed {
			list = append(list, o.entry.res)
		}
		group[ns] = list
	}
	var found []int
	for _, s := range r.seen(from, also) {
		found = append(found, s.objects...)
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		o := &r.objects[i]
		if o.renamed {
			c.all = append(c.all, o.entry.res)
		}
		add(c.original, o.org.EffectiveNamespace(), o)
		add(c.current, o.cur.EffectiveNamespace(), o)
	}
	if len(also) == 0 {
		r.whole[ns] = c
	}
	return c
}

// mentioned are the values below what the field spec filter finds at a path. plain
// reports that each is a scalar at its end, in which case the name reference filter
// changes nothing, and fails at nothing, where none is a name that an object had.
// known is false when only the filter can tell what it finds.
func mentioned(n *yaml.Node, path string) mention {
	m := mention{plain: true, known: plainPath(path)}
	if m.known {
		m.at(n, path)
	}
	return m
}

type mention struct {
	values []string
	// ends are the scalars at the end of the path.
	ends         []*yaml.Node
	plain, known bool
}

func (m *mention) at(n *yaml.Node, path string) {
	switch {
	case n.Kind == yaml.SequenceNode && n.Tag != nullTag:
		for _, c := range n.Content {
			m.at(c, path)
		}
		return
	case n.Kind != yaml.MappingNode || n.Tag == nullTag:
		m.known = false
		return
	}
	name, rest, more := strings.Cut(path, "/")
	v := lookup(n, strings.TrimSuffix(name, "[]"))
	switch {
	case v == nil:
	case more:
		m.at(v, rest)
	case v.Kind == yaml.ScalarNode && v.Tag != nullTag:
		m.values = append(m.values, v.Value)
		m.ends = append(m.ends, v)
	default:
		m.plain = false
		m.below(v)
	}
}

func (m *mention) below(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		m.known = false
	}
	if n.Kind == yaml.ScalarNode {
		m.values = append(m.values, n.Value)
	}
	for _, c := range n.Content {
		m.below(c)
	}
}

const nullTag = "!!null"

// plainPath reports a path of which every part is a word.
func plainPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		part = strings.TrimSuffix(part, "[]")
		if part == "" {
			return false
		}
		for i := range len(part) {
			c := part[i] | 0x20
			if (c < 'a' || c > 'z') && (i == 0 || part[i] < '0' || part[i] > '9') {
				return false
			}
		}
	}
	return true
}

// upright reports that an object is what the filter confirms before it does
// anything.
func upright(r *resource.Resource) bool {
	gvk := r.GetGvk()
	if kind, ok := only(r.YNode(), "kind"); ok && word(kind) {
		if version, ok := only(r.YNode(), "apiVersion"); ok && word(version) {
			// The name and the namespace are read in the same way by both sides.
			return version.Value == gvk.ApiVersion() && kind.Value == gvk.Kind
		}
	}
	meta, err := r.GetMeta()
	if err != nil {
		return false
	}
	return meta.APIVersion == gvk.ApiVersion() && meta.Kind == gvk.Kind && meta.Name == r.GetName() && meta.Namespace == r.GetNamespace()
}

// settle does what the filter does for plain values, or reports that the filter has to
// and changes nothing: the references are noted on what they refer to, and written where
// that has another name now. changed says that some were (upstream: selectReferral and
// setScalar in api/filters/nameref).
func (r *renames) settle(from *named, f *nameref.Filter, also map[string]bool, values []string) (changed, ok bool) {
	path := f.NameFieldToUpdate.Path
	if strings.HasSuffix(path, "roleRef/name") || strings.HasPrefix(path, "metadata/") {
		return false, false
	}
	meant := make([]*resource.Resource, len(values))
	id := from.entry.res.CurId()
	for at, v := range values {
		for _, i := range r.byName[v] {
			o := &r.objects[i]
			res := o.entry.res
			if !visible(from, o, also) || !meantBy(res, v, &f.ReferralTarget) {
				continue
			}
			cur := res.CurId()
			if !id.IsClusterScoped() && !cur.IsClusterScoped() && res.GetKind() != "ServiceAccount" && !id.IsNsEquals(cur) {
				continue
			}
			if meant[at] != nil {
				return false, false
			}
			meant[at] = res
		}
		if meant[at] != nil && meant[at].GetName() == "" {
			return false, false
		}
		changed = changed || meant[at] != nil && meant[at].GetName() != v
	}
	var ends []*yaml.Node
	if changed {
		ends = mentioned(from.entry.own().YNode(), path).ends
	}
	for at, res := range meant {
		if res == nil {
			continue
		}
		appendReferrer(res, id)
		if name := res.GetName(); name != values[at] {
			*ends[at] = yaml.Node{Kind: yaml.ScalarNode, Value: name, Style: ends[at].Style}
		}
	}
	return changed, true
}

// meantBy reports that an object had a name, and was of a kind that a reference is to.
func meantBy(res *resource.Resource, name string, target *resid.Gvk) bool {
	called, kind := false, false
	for _, id := range res.PrevIds() {
		called = called || id.Name == name
		kind = kind || id.IsSelected(target)
	}
	return called && kind
}

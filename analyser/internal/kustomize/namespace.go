package kustomize

import (
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/filters/namespace"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// setNamespace is NamespaceTransformerPlugin.Transform without its scan of all
// ids for each object.
func (m *resources) setNamespace(f namespace.Filter) error {
	count := make(map[idKey]int, len(m.list))
	for _, e := range m.list {
		count[keyOf(e.res.CurId())]++
	}
	for _, e := range m.list {
		if e.res.IsNilOrEmpty() {
			continue
		}
		if a := e.res.GetAnnotations(konfig.HelmGeneratedAnnotation); a[konfig.HelmGeneratedAnnotation] == "true" {
			continue
		}
		r := e.own()
		count[keyOf(r.CurId())]--
		storePreviousID(r, m.long)
		if m.long || !moveTo(r, f) {
			if err := r.ApplyFilter(f); err != nil {
				return err
			}
		}
		id := r.CurId()
		count[keyOf(id)]++
		if count[keyOf(id)] != 1 {
			return fail(codeDuplicateID, e.origin, "the namespace makes two objects one: "+idString(id))
		}
	}
	return nil
}

// moveTo does what the namespace filter does to an object of which the configuration
// names no field but those of its metadata, which is most of them, or reports that the
// filter has to and changes nothing (upstream: api/filters/namespace). TestTransformers
// compares the two, node by node.
func moveTo(r *resource.Resource, f namespace.Filter) bool {
	n, gvk := r.YNode(), r.GetGvk()
	if n == nil || f.UnsetOnly || gvk.Kind == roleBinding || gvk.Kind == "ClusterRoleBinding" {
		return false
	}
	kind, ok := only(n, "kind")
	version, once := only(n, "apiVersion")
	if !ok || !once || !word(kind) || !word(version) {
		return false
	}
	for _, s := range f.FsSlice {
		switch {
		case s.Path == "metadata/namespace", s.Path == "metadata/name" && version.Value != "v1":
		case gvk.IsSelected(&s.Gvk):
			return false
		}
	}
	if gvk.IsClusterScoped() {
		return true
	}
	meta, ok := onlyMapping(n, "metadata")
	if !ok || meta == nil {
		return false
	}
	at, once := only(meta, "namespace")
	if !once || at != nil && (at.Kind != yaml.ScalarNode || at.Tag == kyaml.NodeTagNull) {
		return false
	}
	if at == nil {
		at = &yaml.Node{}
		meta.Content = append(meta.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "namespace"}, at)
	}
	*at = yaml.Node{Kind: yaml.ScalarNode, Tag: kyaml.NodeTagString, Value: f.Namespace, Style: at.Style}
	return true
}

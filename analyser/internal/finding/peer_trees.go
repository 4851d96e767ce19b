package finding

import (
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// tree is what the repository says is on a cluster.
type tree struct {
	cluster cluster.Name
	objects map[object.Key]peerObject
	// unknown are the Syncs whose objects are not all known.
	unknown []*placement.Applied
	// syncs that apply something here, by what they are called.
	syncs map[string]*placement.Applied
}

type peerObject struct {
	applied *placement.Applied
	ref     object.Ref
	at      position.Position
}

// trees are those of all clusters, by name.
func trees(m *Model) []*tree {
	by := map[cluster.Name]*tree{}
	serving, servers := servingNamespaces(m), serversOfSpokes(m)
	flux := map[*kustomize.Object]bool{} // many clusters share an object
	isFlux := func(o *kustomize.Object) bool {
		is, known := flux[o]
		if !known {
			is = ofFlux(o)
			flux[o] = is
		}
		return is
	}
	for _, a := range m.Applied {
		t := by[a.Target]
		if t == nil {
			t = &tree{cluster: a.Target, objects: map[object.Key]peerObject{}, syncs: map[string]*placement.Applied{}}
			by[a.Target] = t
		}
		t.syncs[t.own(a.Controller())] = a
		if a.Result == nil || a.Blocked == &a.Outcome && len(a.Objects) == 0 {
			t.unknown = append(t.unknown, a)
			continue
		}
		if rendersForSpoke(a) {
			continue
		}
		for _, o := range a.Objects {
			if o.UnknownIdentity || isFlux(o) || serving[where{a.Target, o.Ref.Namespace}] ||
				o.Ref.GroupKind() == (object.GroupKind{Kind: "Namespace"}) && serving[where{a.Target, o.Ref.Name}] {
				continue
			}
			key := o.Ref.Key()
			if o.Written.Name == "" && !o.UnknownName {
				key.Name = withoutHash(key.Name)
			}
			if m.Scope(a.Target, key.GroupKind()) == object.ClusterScoped {
				key.Namespace = ""
			}
			key.Namespace, key.Name = t.own(key.Namespace), t.own(key.Name)
			if old, ok := t.objects[key]; !ok || old.at.IsZero() {
				t.objects[key] = peerObject{a, o.Ref, m.Positions.Position(o.Origin)}
			}
		}
		for _, o := range servers[a] {
			key := o.Key()
			key.Namespace, key.Name = t.own(key.Namespace), t.own(key.Name)
			delete(t.objects, key)
		}
	}
	for _, a := range m.Applied {
		if t := by[a.Cluster]; a.Root != nil && t != nil {
			for _, k := range []object.Key{a.Sync.Object.Key(), {Group: "source.toolkit.fluxcd.io", Kind: a.Sync.Source.Kind, Namespace: a.Sync.Source.Namespace, Name: a.Sync.Source.Name}} {
				k.Namespace, k.Name = t.own(k.Namespace), t.own(k.Name)
				delete(t.objects, k)
			}
		}
	}
	var out []*tree
	for _, n := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[n])
	}
	return out
}

// where is a namespace of a cluster.
type where struct {
	cluster   cluster.Name
	namespace string
}

// ofFlux reports an object of Flux's own installation.
func ofFlux(o *kustomize.Object) bool {
	switch o.Ref.Kind {
	case "FluxInstance":
		return o.Ref.Group == "fluxcd.controlplane.io"
	case "Deployment":
		switch o.Ref.Name {
		case "source-controller", "kustomize-controller", "helm-controller", "notification-controller", "image-reflector-controller", "image-automation-controller":
			return true
		}
	}
	return text(o.Node(), "metadata", "labels", "app.kubernetes.io/part-of") == "flux"
}

// rendersForSpoke reports a Sync that is applied on a hub for a spoke.
func rendersForSpoke(a *placement.Applied) bool {
	return a.Sync.KubeConfig == nil && slices.ContainsFunc(a.Releases, func(r *placement.Release) bool { return r.Release.KubeConfig != nil })
}

// servingNamespaces are the namespaces of hubs in which every Sync is for a
// spoke.
func servingNamespaces(m *Model) map[where]bool {
	out := map[where]bool{}
	for _, a := range m.Applied {
		w := where{a.Cluster, a.Sync.Object.Namespace}
		serves := a.Sync.KubeConfig != nil || rendersForSpoke(a)
		if old, ok := out[w]; !ok || old {
			out[w] = serves
		}
	}
	return out
}

// serversOfSpokes are the objects that a Sync applies on a hub for the sake of a
// spoke: Syncs with a kubeConfig, and those that render releases with one.
func serversOfSpokes(m *Model) map[*placement.Applied][]object.Ref {
	out := map[*placement.Applied][]object.Ref{}
	for _, a := range m.Applied {
		if a.Parent != nil && a.Object != nil && (a.Sync.KubeConfig != nil || rendersForSpoke(a)) {
			out[a.Parent] = append(out[a.Parent], a.Object.Ref)
		}
	}
	return out
}

// own takes the name of the cluster out of a name, where it is a whole word.
func (t *tree) own(s string) string {
	name := string(t.cluster)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:] // an unnamed spoke: the name of its reference
	}
	if name == "" || !strings.Contains(s, name) {
		return s
	}
	var out strings.Builder
	for {
		i := strings.Index(s, name)
		if i < 0 {
			return out.String() + s
		}
		end := i + len(name)
		if (i == 0 || !alphanumeric(s[i-1])) && (end == len(s) || !alphanumeric(s[end])) {
			out.WriteString(s[:i] + "*")
		} else {
			out.WriteString(s[:end])
		}
		s = s[end:]
	}
}

func alphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// withoutHash takes the hash of a generator off a name (upstream: encode in
// kustomize api/hasher, whose digits these are).
func withoutHash(name string) string {
	const length = 10
	i := len(name) - length
	if i < 2 || name[i-1] != '-' || strings.Trim(name[i:], "2456789bcdfghkmt") != "" {
		return name
	}
	return name[:i-1]
}

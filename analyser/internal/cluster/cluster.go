// Package cluster tells which cluster a controller object's destination is.
//
// The identity of a spoke is the pair (controller cluster, kubeConfig
// reference): never the name inside a kubeconfig, never the name of a secret
// alone. Two references are one cluster only when the user's configuration
// says so, when ConfigMaps in the repository name the same endpoint, or when
// the bootstrap of one root lands on exactly one spoke.
package cluster

import (
	"fmt"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

// Name names a cluster. Roots have the name they were declared with; a spoke
// that nothing names is "<controller cluster>/<namespace>/<reference name>".
type Name string

// Mapping is a name that the user gave to what a reference leads to. Empty
// fields match everything.
type Mapping struct {
	Controller Name
	Namespace  string
	Kind       string // "Secret" or "ConfigMap"
	Reference  string
	Key        string
	Cluster    Name
}

// Spoke is a cluster that is reached through a reference.
type Spoke struct {
	Name       Name
	Controller Name
	Ref        controller.KubeConfigRef
}

// Registry names the destinations that a census meets. The zero value has no
// mappings. It is not safe for concurrent use, and what it answers depends on
// the order of the questions only where two references claim one name.
type Registry struct {
	Mappings []Mapping
	spokes   map[identity]Name
	taken    map[Name]identity
	byPlace  map[endpoint]Name
	merged   map[Name]Name
	order    []Spoke
	used     map[int]bool // subscripts of Mappings
}

type identity struct {
	controller                 Name
	kind, namespace, name, key string
}

type endpoint struct{ provider, place string }

// Spoke names the cluster behind a reference used on a controller cluster.
// provider and place are what a ConfigMap in the repository says about the
// endpoint (data.provider, and data.cluster or data.address); both are empty
// for Secrets and for ConfigMaps that are not in the repository.
func (r *Registry) Spoke(on Name, ref controller.KubeConfigRef, provider, place string) Name {
	id := identity{on, ref.Kind, ref.Namespace, ref.Name, ref.Key}
	// Without a key the controllers take "value" first, so that both spellings
	// name one kubeconfig whenever both work (upstream:
	// fluxcd/pkg/runtime/client/impersonator.go).
	if id.kind == "Secret" && id.key == "value" {
		id.key = ""
	}
	if n, ok := r.spokes[id]; ok {
		return r.final(n)
	}
	if r.spokes == nil {
		r.spokes, r.taken, r.byPlace = map[identity]Name{}, map[Name]identity{}, map[endpoint]Name{}
	}
	n := r.name(id, endpoint{provider, place})
	r.spokes[id] = n
	if _, ok := r.taken[n]; !ok {
		r.taken[n] = id
	}
	r.order = append(r.order, Spoke{n, on, ref})
	return r.final(n)
}

func (r *Registry) name(id identity, at endpoint) Name {
	for i, m := range r.Mappings {
		if matches(string(m.Controller), string(id.controller)) && matches(m.Namespace, id.namespace) &&
			matches(m.Kind, id.kind) && matches(m.Reference, id.name) &&
			(m.Key == "" || m.Key == id.key || m.Key == "value" && id.key == "") {
			if at.place != "" {
				r.byPlace[at] = m.Cluster
			}
			if r.used == nil {
				r.used = map[int]bool{}
			}
			r.used[i] = true
			return m.Cluster
		}
	}
	if at.place != "" {
		if n, ok := r.byPlace[at]; ok {
			return n
		}
	}
	n := Name(fmt.Sprintf("%s/%s/%s", id.controller, id.namespace, id.name))
	if id.key != "" {
		n += Name("#" + id.key)
	}
	if other, ok := r.taken[n]; ok && other != id {
		n += Name(" (" + id.kind + ")")
	}
	if at.place != "" {
		r.byPlace[at] = n
	}
	return n
}

func matches(pattern, s string) bool { return pattern == "" || pattern == s }

// Unused are the mappings that named nothing, in their order.
func (r *Registry) Unused() []Mapping {
	var out []Mapping
	for i, m := range r.Mappings {
		if !r.used[i] {
			out = append(out, m)
		}
	}
	return out
}

// Merge says that a spoke is a cluster known under another name, a root's.
func (r *Registry) Merge(spoke, root Name) {
	if r.merged == nil {
		r.merged = map[Name]Name{}
	}
	if spoke != root && r.final(root) != spoke {
		r.merged[spoke] = root
	}
}

func (r *Registry) final(n Name) Name {
	for range len(r.merged) + 1 {
		m, ok := r.merged[n]
		if !ok {
			break
		}
		n = m
	}
	return n
}

// Spokes returns the references that were asked for, in the order in which
// they were first met, under their final names.
func (r *Registry) Spokes() []Spoke {
	out := make([]Spoke, len(r.order))
	for i, s := range r.order {
		s.Name = r.final(s.Name)
		out[i] = s
	}
	return out
}

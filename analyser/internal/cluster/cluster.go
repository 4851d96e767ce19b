// Package cluster tells which cluster a controller object's destination is.
//
// The identity of a spoke is the pair (controller cluster, kubeConfig
// reference): never the name inside a kubeconfig, never the name of a secret
// alone. Two references are one cluster only when the user's configuration
// says so, when ConfigMaps in the repository name the same endpoint, or when
// the bootstrap of one root lands on exactly one spoke.
package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

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
// mappings. It is not safe for concurrent use.
//
// What it answers may depend on the order of the questions where several
// references lead to one endpoint or claim one name; Next gives the registry
// whose answers to the same questions do not.
type Registry struct {
	Mappings []Mapping
	// settled are names that Next found.
	settled map[identity]Name
	spokes  map[identity]Name
	places  map[identity]endpoint
	taken   map[Name]identity
	byPlace map[endpoint]Name
	merged  map[Name]Name
	order   []Spoke
	used    map[int]bool // subscripts of Mappings
}

type identity struct {
	controller                 Name
	kind, namespace, name, key string
}

func (a identity) compare(b identity) int {
	return cmp.Or(strings.Compare(string(a.controller), string(b.controller)), strings.Compare(a.namespace, b.namespace),
		strings.Compare(a.name, b.name), strings.Compare(a.kind, b.kind), strings.Compare(a.key, b.key))
}

// endpoint is where a ConfigMap says that a cluster is. within is the controller
// cluster when that counts from there alone, and empty when it is the same
// place from everywhere.
type endpoint struct {
	provider, place string
	within          Name
}

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
		r.places = map[identity]endpoint{}
	}
	at := endpoint{provider: provider, place: place}
	if !everywhere(provider, place) {
		at.within = on
	}
	n := r.name(id, at)
	r.spokes[id], r.places[id] = n, at
	if _, ok := r.taken[n]; !ok {
		r.taken[n] = id
	}
	r.order = append(r.order, Spoke{n, on, ref})
	return r.final(n)
}

func (r *Registry) name(id identity, at endpoint) Name {
	if i := r.mapping(id); i >= 0 {
		if at.place != "" {
			r.byPlace[at] = r.Mappings[i].Cluster
		}
		if r.used == nil {
			r.used = map[int]bool{}
		}
		r.used[i] = true
		return r.Mappings[i].Cluster
	}
	if n, ok := r.settled[id]; ok {
		return n
	}
	if at.place != "" {
		if n, ok := r.byPlace[at]; ok {
			return n
		}
	}
	n := id.plain()
	if other, ok := r.taken[n]; ok && other != id {
		n += Name(" (" + id.kind + ")")
	}
	if at.place != "" {
		r.byPlace[at] = n
	}
	return n
}

// mapping is the subscript of the user's name for a reference, -1 for none.
func (r *Registry) mapping(id identity) int {
	return slices.IndexFunc(r.Mappings, func(m Mapping) bool {
		return matches(string(m.Controller), string(id.controller)) && matches(m.Namespace, id.namespace) &&
			matches(m.Kind, id.kind) && matches(m.Reference, id.name) &&
			(m.Key == "" || m.Key == id.key || m.Key == "value" && id.key == "")
	})
}

// plain is the name of a spoke that nothing names.
func (a identity) plain() Name {
	n := Name(fmt.Sprintf("%s/%s/%s", a.controller, a.namespace, a.name))
	if a.key != "" {
		n += Name("#" + a.key)
	}
	return n
}

// Next returns a registry with the same mappings and no answers, for a second
// round of the questions that r was asked, and whether it answers one of them
// otherwise: the references to one endpoint have the name that the user gave to
// the first of them which has one, else that of the first, and a name that
// references of two kinds claim is the Secret's. Merges are not taken over.
func (r *Registry) Next() (next *Registry, other bool) {
	next = &Registry{Mappings: r.Mappings, settled: map[identity]Name{}}
	ids := slices.SortedFunc(maps.Keys(r.spokes), identity.compare)
	byPlace := map[endpoint]Name{}
	for _, id := range ids {
		if i := r.mapping(id); i >= 0 && byPlace[r.places[id]] == "" && r.places[id].place != "" {
			byPlace[r.places[id]] = r.Mappings[i].Cluster
		}
	}
	secrets := map[Name]bool{}
	for _, id := range ids {
		if id.kind == "Secret" && r.mapping(id) < 0 {
			secrets[id.plain()] = true
		}
	}
	for _, id := range ids {
		if r.mapping(id) >= 0 {
			continue
		}
		n := id.plain()
		if id.kind != "Secret" && secrets[n] {
			n += Name(" (" + id.kind + ")")
		}
		if at := r.places[id]; at.place != "" {
			if byPlace[at] == "" {
				byPlace[at] = n
			}
			n = byPlace[at]
		}
		next.settled[id] = n
		other = other || n != r.spokes[id]
	}
	return next, other
}

// everywhere reports whether a place is the same one from every cluster. The
// address of an API server that no public name or address tells is not: each
// network has its own 10.0.0.1 and kubernetes.default.svc. Providers have ids of
// their own.
func everywhere(provider, place string) bool {
	if provider != "generic" && !strings.Contains(place, "://") {
		return true
	}
	u, err := url.Parse(place)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsGlobalUnicast() && !ip.IsPrivate()
	}
	dot := strings.LastIndexByte(host, '.')
	last := host[dot+1:]
	return dot >= 0 && !slices.Contains([]string{"svc", "local", "localdomain", "localhost", "internal", "lan", "arpa", "home", "corp", "intranet"}, last)
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

// Unnamed reports a spoke that nothing but a reference names: it may be any
// cluster, also one that has a name.
func (r *Registry) Unnamed(n Name) bool {
	id, ok := r.taken[n]
	return ok && r.mapping(id) < 0 && strings.HasPrefix(string(n), string(id.plain()))
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

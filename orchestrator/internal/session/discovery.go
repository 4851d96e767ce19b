package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Kind is a kind that a server serves in one version.
type Kind struct {
	Group, Version, Kind, Resource string
	Namespaced                     bool
	// Listable: it has the verb list.
	Listable bool
	// Preferred: it is the version in which to read the kind.
	Preferred bool
}

// Served is what a server serves, sorted by group, resource and version.
type Served struct {
	Kinds []Kind
	// Missing are groups and versions, "metrics.k8s.io/v1beta1", that did not say
	// what they serve.
	Missing []string
}

// acceptDiscovery asks for all groups in one answer (Kubernetes 1.27 and later),
// and for the list of groups where a server does not know that.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// Most kinds, groups and versions that are taken in.
const mostKinds = 100_000

// groups is an answer to /api or /apis, in any of its forms.
type groups struct {
	// APIGroupDiscoveryList
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []struct {
			Version   string `json:"version"`
			Freshness string `json:"freshness"`
			Resources []struct {
				Resource     string `json:"resource"`
				ResponseKind *struct {
					Group   string `json:"group"`
					Version string `json:"version"`
					Kind    string `json:"kind"`
				} `json:"responseKind"`
				Scope string   `json:"scope"`
				Verbs []string `json:"verbs"`
			} `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
	// APIGroupList
	Groups []struct {
		Name     string `json:"name"`
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
		PreferredVersion struct {
			Version string `json:"version"`
		} `json:"preferredVersion"`
	} `json:"groups"`
	// APIVersions
	Versions []string `json:"versions"`
}

// Discover asks what the server serves. What could be read is returned also with
// a *Failure.
func (s *Server) Discover(ctx context.Context) (Served, *Failure) {
	var out Served
	var ask []Kind
	var failure *Failure
	for _, root := range []string{"/api", "/apis"} {
		var g groups
		f := s.get(ctx, root, nil, acceptDiscovery, func(_ string, body io.Reader) error {
			g = groups{}
			return json.NewDecoder(body).Decode(&g)
		})
		if f != nil {
			failure = f
			continue
		}
		out.take(g)
		for _, v := range g.Versions {
			if v == "v1" {
				ask = append(ask, Kind{Version: v, Preferred: true})
			}
		}
		for _, group := range g.Groups {
			for i, v := range group.Versions {
				preferred := v.Version == group.PreferredVersion.Version || group.PreferredVersion.Version == "" && i == 0
				ask = append(ask, Kind{Group: group.Name, Version: v.Version, Preferred: preferred})
			}
		}
	}
	ask = slices.DeleteFunc(ask, func(k Kind) bool {
		return k.Group != "" && !plainSegment(k.Group) || !plainSegment(k.Version)
	})
	if f := s.discoverEach(ctx, ask, &out); f != nil && failure == nil {
		failure = f
	}
	if len(out.Kinds) > mostKinds {
		out.Kinds = out.Kinds[:mostKinds]
		failure = &Failure{Outcome: reachv1.Outcome_OUTCOME_TRUNCATED, Detail: fmt.Sprintf("it serves more than %d kinds", mostKinds)}
	}
	out.prefer()
	slices.Sort(out.Missing)
	return out, failure
}

// take takes the answer in which everything is told at once.
func (o *Served) take(g groups) {
	for _, group := range g.Items {
		for i, v := range group.Versions {
			if v.Freshness == "Stale" {
				o.Missing = append(o.Missing, strings.TrimPrefix(group.Metadata.Name+"/"+v.Version, "/"))
			}
			for _, r := range v.Resources {
				k := Kind{
					Group: group.Metadata.Name, Version: v.Version, Resource: r.Resource,
					Namespaced: r.Scope == "Namespaced", Listable: slices.Contains(r.Verbs, "list"), Preferred: i == 0,
				}
				if r.ResponseKind != nil {
					k.Kind = r.ResponseKind.Kind
				}
				o.add(k)
			}
		}
	}
}

// add keeps a kind whose names can stand in a path.
func (o *Served) add(k Kind) {
	if k.Kind != "" && plainSegment(k.Resource) && plainSegment(k.Version) && (k.Group == "" || plainSegment(k.Group)) && len(o.Kinds) <= mostKinds {
		o.Kinds = append(o.Kinds, k)
	}
}

// discoverEach asks each group and version for its kinds, as servers before
// Kubernetes 1.27 want it.
func (s *Server) discoverEach(ctx context.Context, ask []Kind, out *Served) *Failure {
	var (
		mutex   sync.Mutex
		wait    sync.WaitGroup
		failure *Failure
	)
	// The server's own places bound what is under way; this only bounds what waits.
	workers := make(chan struct{}, 16)
	for _, gv := range ask[:min(len(ask), 5000)] {
		workers <- struct{}{}
		wait.Go(func() {
			defer func() { <-workers }()
			var list struct {
				Resources []struct {
					Name       string   `json:"name"`
					Kind       string   `json:"kind"`
					Namespaced bool     `json:"namespaced"`
					Verbs      []string `json:"verbs"`
				} `json:"resources"`
			}
			f := s.get(ctx, Resource{gv.Group, gv.Version, ""}.path(), nil, acceptWhole, func(_ string, body io.Reader) error {
				list.Resources = nil
				return json.NewDecoder(body).Decode(&list)
			})
			mutex.Lock()
			defer mutex.Unlock()
			if f != nil {
				out.Missing = append(out.Missing, strings.TrimPrefix(gv.Group+"/"+gv.Version, "/"))
				switch f.Outcome {
				// An aggregated API whose own server is down.
				case reachv1.Outcome_OUTCOME_SERVER_ERROR, reachv1.Outcome_OUTCOME_NOT_SERVED:
				default:
					failure = f
				}
			}
			for _, r := range list.Resources {
				if !strings.Contains(r.Name, "/") {
					out.add(Kind{
						Group: gv.Group, Version: gv.Version, Kind: r.Kind, Resource: r.Name, Namespaced: r.Namespaced,
						Listable: slices.Contains(r.Verbs, "list"), Preferred: gv.Preferred,
					})
				}
			}
		})
	}
	wait.Wait()
	return failure
}

// prefer sorts the kinds, and gives each that the preferred version of its group
// does not have one in which to read it.
func (o *Served) prefer() {
	type resource struct{ group, resource string }
	has := map[resource]bool{}
	for _, k := range o.Kinds {
		has[resource{k.Group, k.Resource}] = has[resource{k.Group, k.Resource}] || k.Preferred
	}
	for i, k := range o.Kinds {
		if r := (resource{k.Group, k.Resource}); !has[r] {
			has[r], o.Kinds[i].Preferred = true, true
		}
	}
	slices.SortFunc(o.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Version, b.Version))
	})
	o.Kinds = slices.CompactFunc(o.Kinds, func(a, b Kind) bool {
		return a.Group == b.Group && a.Resource == b.Resource && a.Version == b.Version
	})
}

package object

import (
	_ "embed"
	"strings"
	"sync"
)

// Scope says whether objects of a kind have a namespace.
type Scope uint8

// The scopes. Custom resources are ScopeUnknown until their definition, or a
// cluster, tells; kustomize treats them as namespaced.
const (
	ScopeUnknown Scope = iota
	ClusterScoped
	Namespaced
)

func (s Scope) String() string {
	switch s {
	case ClusterScoped:
		return "cluster"
	case Namespaced:
		return "namespaced"
	}
	return "unknown"
}

//go:embed scope.txt
var scopeTable string

type apiKind struct{ apiVersion, kind string }

var scopes = sync.OnceValues(func() (map[apiKind]Scope, map[GroupKind]Scope) {
	byVersion, byGroup := map[apiKind]Scope{}, map[GroupKind]Scope{}
	for line := range strings.Lines(scopeTable) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] == "#" {
			continue
		}
		scope := Namespaced
		if f[2] == "cluster" {
			scope = ClusterScoped
		}
		group, _ := SplitAPIVersion(f[0])
		byVersion[apiKind{f[0], f[1]}] = scope
		byGroup[GroupKind{group, f[1]}] = scope
	}
	return byVersion, byGroup
})

// Scope is what kustomize knows of the kind in exactly this version: it takes
// a version that its table lacks, policy/v1 PodSecurityPolicy say, for
// namespaced (upstream: IsCertainlyClusterScoped in kyaml openapi/openapi.go).
func (r Ref) Scope() Scope {
	byVersion, _ := scopes()
	return byVersion[apiKind{r.APIVersion(), r.Kind}]
}

// Scope is the scope of the kind in whatever version.
func (g GroupKind) Scope() Scope {
	_, byGroup := scopes()
	return byGroup[g]
}

package object

import (
	"os"
	"reflect"
	"regexp"
	"runtime"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// known are the kinds of our table and of upstream's schema, and those that
// upstream lists in its source alone.
func known(t *testing.T) map[apiKind]bool {
	t.Helper()
	kinds := map[apiKind]bool{}
	byVersion, _ := scopes()
	for k := range byVersion {
		kinds[k] = true
	}
	for _, d := range openapi.Schema().Definitions {
		gvks, _ := d.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, gvk := range gvks {
			m, _ := gvk.(map[string]any)
			g, _ := m["group"].(string)
			v, _ := m["version"].(string)
			k, _ := m["kind"].(string)
			kinds[apiKind{Ref{Group: g, Version: v}.APIVersion(), k}] = true
		}
	}
	file, _ := runtime.FuncForPC(reflect.ValueOf(openapi.IsNamespaceScoped).Pointer()).FileLine(0)
	source, err := os.ReadFile(file)
	if err != nil {
		t.Logf("kinds that stand only in upstream's source are not compared: %v", err)
	}
	for _, m := range regexp.MustCompile(`\{APIVersion: "([^"]*)", Kind: "([^"]*)"\}:`).FindAllSubmatch(source, -1) {
		kinds[apiKind{string(m[1]), string(m[2])}] = true
	}
	return kinds
}

func TestScopeIsUpstreams(t *testing.T) {
	kinds := known(t)
	if len(kinds) < 200 {
		t.Fatalf("only %d kinds to compare", len(kinds))
	}
	found := 0
	for k := range kinds {
		group, version := SplitAPIVersion(k.apiVersion)
		got := Ref{Group: group, Version: version, Kind: k.kind}.Scope()
		want := ScopeUnknown
		if namespaced, ok := openapi.IsNamespaceScoped(yaml.TypeMeta{APIVersion: k.apiVersion, Kind: k.kind}); ok {
			found++
			want = ClusterScoped
			if namespaced {
				want = Namespaced
			}
		}
		if got != want {
			t.Errorf("%v: %v, want %v", k, got, want)
		}
		if cluster := resid.NewGvk(group, version, k.kind).IsClusterScoped(); cluster != (got == ClusterScoped) {
			t.Errorf("%v: %v, but kustomize's cluster-scoped is %v", k, got, cluster)
		}
	}
	t.Logf("%d kinds, %d with a scope", len(kinds), found)
}

// TestScopeHoldsForAllVersions is what GroupKind.Scope relies on.
func TestScopeHoldsForAllVersions(t *testing.T) {
	byVersion, _ := scopes()
	for k, scope := range byVersion {
		group, _ := SplitAPIVersion(k.apiVersion)
		if got := (GroupKind{group, k.kind}).Scope(); got != scope {
			t.Errorf("%v is %v, in another version %v", k, scope, got)
		}
	}
	if got := (GroupKind{"example.com", "Widget"}).Scope(); got != ScopeUnknown {
		t.Errorf("an unknown kind is %v", got)
	}
}

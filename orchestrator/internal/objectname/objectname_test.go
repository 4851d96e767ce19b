package objectname

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Name{
		"Deployment/web":               {Kind: "Deployment", Name: "web"},
		"Deployment.apps/shop/web":     {Kind: "Deployment", Group: "apps", HasGroup: true, Namespace: "shop", HasNamespace: true, Name: "web"},
		"Secret./a/b":                  {Kind: "Secret", HasGroup: true, Namespace: "a", HasNamespace: true, Name: "b"},
		"Namespace//shop":              {Kind: "Namespace", HasNamespace: true, Name: "shop"},
		"Deployment/web@hub-1":         {Kind: "Deployment", Name: "web", Cluster: "hub-1"},
		"Deployment/web@hub/ns/secret": {Kind: "Deployment", Name: "web", Cluster: "hub/ns/secret"},
		"ClusterRoleBinding/a@b:c@":    {Kind: "ClusterRoleBinding", Name: "a@b:c"},
		"HelmRelease.helm.toolkit.fluxcd.io/x/y": {
			Kind: "HelmRelease", Group: "helm.toolkit.fluxcd.io", HasGroup: true, Namespace: "x", HasNamespace: true, Name: "y",
		},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, bad := range []string{"", "/", "web", "Deployment/", "/web", ".apps/web", "a/b/c/d", "Deployment/@hub", strings.Repeat("a", 3000)} {
		if n, err := Parse(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q is read as %+v, %v", bad, n, err)
		}
	}
}

// FuzzParse: what is read is written so that it is read the same again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"Deployment.apps/shop/web@hub", "a//b", "a./b@", "a/b@c@d", "K/\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(n.String()); len(n.String()) <= maxLength && (err != nil || again != n) {
			t.Fatalf("%q is written as %q and read as %+v, %v", s, n, again, err)
		}
	})
}

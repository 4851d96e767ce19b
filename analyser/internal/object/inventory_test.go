package object

import (
	"errors"
	"strings"
	"testing"
)

const rbac = "rbac.authorization.k8s.io"

func TestID(t *testing.T) {
	for _, c := range []struct {
		id  string
		key Key
	}{
		{"web_app_apps_Deployment", Key{"apps", "Deployment", "web", "app"}},
		{"web_cfg__ConfigMap", Key{"", "ConfigMap", "web", "cfg"}},
		{"_team__Namespace", Key{"", "Namespace", "", "team"}},
		{
			"_foos.example.com_apiextensions.k8s.io_CustomResourceDefinition",
			Key{"apiextensions.k8s.io", "CustomResourceDefinition", "", "foos.example.com"},
		},
		{"tgt_app__leader_rbac.authorization.k8s.io_Role", Key{rbac, "Role", "tgt", "app:leader"}},
		{"_sys__crb_rbac.authorization.k8s.io_ClusterRoleBinding", Key{rbac, "ClusterRoleBinding", "", "sys:crb"}},
		{"_a____b_rbac.authorization.k8s.io_ClusterRole", Key{rbac, "ClusterRole", "", "a::b"}},
		{"__kyverno.io_ClusterPolicy", Key{"kyverno.io", "ClusterPolicy", "", ""}},
	} {
		if got := c.key.ID(); got != c.id {
			t.Errorf("%v: id %q, want %q", c.key, got, c.id)
		}
		if got, err := ParseID(c.id); err != nil || got != c.key {
			t.Errorf("%q: %v, %v, want %v", c.id, got, err, c.key)
		}
	}
}

func TestIDOfOtherKindsKeepsColons(t *testing.T) {
	k := Key{"", "ConfigMap", "n", "a:b"}
	if got, want := k.ID(), "n_a:b__ConfigMap"; got != want {
		t.Errorf("id %q, want %q", got, want)
	}
}

func TestParseIDReadsUnderscoresOfEveryKind(t *testing.T) {
	got, err := ParseID("n_a__b__ConfigMap")
	if want := (Key{"", "ConfigMap", "n", "a:b"}); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, id := range []string{"", "web", "web_app", "web_app_apps", "web_a_b_apps_Deployment", "_a___b__ConfigMap"} {
		_, err := ParseID(id)
		if !errors.Is(err, ErrMalformedID) {
			t.Errorf("%q: %v", id, err)
			continue
		}
		if id != "" && strings.Contains(err.Error(), id) {
			t.Errorf("%q: the error repeats the id", id)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, id := range []string{"web_app_apps_Deployment", "__kyverno.io_ClusterPolicy", "_a__b_rbac.authorization.k8s.io_ClusterRole"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		k, err := ParseID(id)
		if err != nil {
			return
		}
		again, err := ParseID(k.ID())
		if err != nil || again != k {
			t.Errorf("%q is %#v, whose id %q is %#v, %v", id, k, k.ID(), again, err)
		}
	})
}

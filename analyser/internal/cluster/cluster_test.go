package cluster

import (
	"slices"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

func secret(name, key string) controller.KubeConfigRef {
	return controller.KubeConfigRef{Kind: "Secret", Namespace: "flux-system", Name: name, Key: key}
}

func config(name string) controller.KubeConfigRef {
	return controller.KubeConfigRef{Kind: "ConfigMap", Namespace: "flux-system", Name: name}
}

// TestIdentity: the controller cluster and the whole reference are the identity,
// no part of it alone.
func TestIdentity(t *testing.T) {
	r := &Registry{}
	for _, c := range []struct {
		what string
		on   Name
		ref  controller.KubeConfigRef
		want Name
	}{
		{"a reference", "hub", secret("prod", ""), "hub/flux-system/prod"},
		{"the default key under its name", "hub", secret("prod", "value"), "hub/flux-system/prod"},
		{"another key", "hub", secret("prod", "other"), "hub/flux-system/prod#other"},
		{"another controller cluster", "east", secret("prod", ""), "east/flux-system/prod"},
		{"another kind of one name", "hub", config("prod"), "hub/flux-system/prod (ConfigMap)"},
		{"the first again", "hub", secret("prod", ""), "hub/flux-system/prod"},
	} {
		if got := r.Spoke(c.on, c.ref, "", ""); got != c.want {
			t.Errorf("%s is %s, want %s", c.what, got, c.want)
		}
	}
	var names []Name
	for _, s := range r.Spokes() {
		names = append(names, s.Name)
	}
	if want := []Name{
		"hub/flux-system/prod", "hub/flux-system/prod#other", "east/flux-system/prod", "hub/flux-system/prod (ConfigMap)",
	}; !slices.Equal(names, want) {
		t.Errorf("spokes %v, want %v", names, want)
	}
}

// TestEndpoint: ConfigMaps that name one endpoint lead to one cluster, also when
// only one of them has a name from the user.
func TestEndpoint(t *testing.T) {
	r := &Registry{Mappings: []Mapping{{Controller: "hub", Reference: "a", Cluster: "prod"}}}
	if got := r.Spoke("hub", config("a"), "aws", "eks-1"); got != "prod" {
		t.Errorf("the mapped one is %s", got)
	}
	if got := r.Spoke("hub", config("b"), "aws", "eks-1"); got != "prod" {
		t.Errorf("the same endpoint is %s", got)
	}
	if got := r.Spoke("hub", config("c"), "azure", "eks-1"); got != "hub/flux-system/c" {
		t.Errorf("another provider's place of that name is %s", got)
	}
	if got := r.Spoke("hub", secret("d", ""), "", ""); got == r.Spoke("hub", secret("e", ""), "", "") {
		t.Errorf("two references without endpoint are both %s", got)
	}
}

// TestMapping: every field that is given must match; the key "value" is the
// default.
func TestMapping(t *testing.T) {
	m := Mapping{Controller: "hub", Namespace: "flux-system", Kind: "Secret", Reference: "prod", Key: "value", Cluster: "named"}
	for what, change := range map[string]func(*Mapping){
		"controller": func(m *Mapping) { m.Controller = "east" }, "namespace": func(m *Mapping) { m.Namespace = "x" },
		"kind": func(m *Mapping) { m.Kind = "ConfigMap" }, "reference": func(m *Mapping) { m.Reference = "x" }, "key": func(m *Mapping) { m.Key = "x" },
	} {
		other := m
		change(&other)
		if got := (&Registry{Mappings: []Mapping{other}}).Spoke("hub", secret("prod", ""), "", ""); got == "named" {
			t.Errorf("another %s matches", what)
		}
	}
	for _, key := range []string{"", "value"} {
		if got := (&Registry{Mappings: []Mapping{m}}).Spoke("hub", secret("prod", key), "", ""); got != "named" {
			t.Errorf("key %q is %s", key, got)
		}
	}
}

// TestMerge: a name that is merged is never heard of again, and circles end.
func TestMerge(t *testing.T) {
	r := &Registry{}
	a, b := r.Spoke("hub", secret("a", ""), "", ""), r.Spoke("hub", secret("b", ""), "", "")
	r.Merge(a, b)
	r.Merge(b, "root")
	if got := r.Spoke("hub", secret("a", ""), "", ""); got != "root" {
		t.Errorf("merged twice it is %s", got)
	}
	r.Merge("root", a)
	for _, name := range []string{"a", "b"} {
		if got := r.Spoke("hub", secret(name, ""), "", ""); got != "root" {
			t.Errorf("after a circle %s is %s", name, got)
		}
	}
}

// TestNext: after one round the answers do not depend on the order of the
// questions any more.
func TestNext(t *testing.T) {
	type question struct {
		on              Name
		ref             controller.KubeConfigRef
		provider, place string
		want            Name
	}
	questions := []question{
		{"west", config("a"), "aws", "arn:1", "east/flux-system/b"},
		{"east", config("b"), "aws", "arn:1", "east/flux-system/b"},
		{"east", config("named"), "aws", "arn:2", "gold"},
		{"west", config("unnamed"), "aws", "arn:2", "gold"},
		{"east", config("both"), "", "", "east/flux-system/both (ConfigMap)"},
		{"east", secret("both", ""), "", "", "east/flux-system/both"},
		{"east", config("alone"), "", "", "east/flux-system/alone"},
		{"east", config("in"), "generic", "https://10.0.0.1", "east/flux-system/in"},
		{"west", config("in"), "generic", "https://10.0.0.1", "west/flux-system/in"},
	}
	for _, reverse := range []bool{false, true} {
		if reverse {
			slices.Reverse(questions)
		}
		r := &Registry{Mappings: []Mapping{{Controller: "east", Reference: "named", Cluster: "gold"}}}
		for _, q := range questions {
			r.Spoke(q.on, q.ref, q.provider, q.place)
		}
		r, _ = r.Next()
		for _, q := range questions {
			if got := r.Spoke(q.on, q.ref, q.provider, q.place); got != q.want {
				t.Errorf("reversed %t: %s of %s is %s, want %s", reverse, q.ref.Name, q.on, got, q.want)
			}
		}
		if _, other := r.Next(); other {
			t.Errorf("reversed %t: it does not settle", reverse)
		}
	}
}

// TestEverywhere: which addresses mean one cluster wherever they are read.
func TestEverywhere(t *testing.T) {
	for _, c := range []struct {
		provider, place string
		want            bool
	}{
		{"aws", "arn:aws:eks:eu-west-1:111122223333:cluster/weu", true},
		{"gcp", "projects/p/locations/l/clusters/c", true},
		{"generic", "https://one.acme.example", true},
		{"generic", "https://93.184.216.34:6443", true},
		{"generic", "https://[2606:2800:220:1::1]:6443", true},
		{"generic", "https://10.0.0.1:6443", false},
		{"generic", "https://192.168.1.1", false},
		{"generic", "https://127.0.0.1:6443", false},
		{"generic", "https://169.254.1.1", false},
		{"generic", "https://[fd00::1]", false},
		{"generic", "https://kubernetes.default.svc", false},
		{"generic", "https://Kubernetes.Default.SVC.cluster.local.", false},
		{"generic", "https://master:6443", false},
		{"generic", "%zz", false},
		{"", "https://10.0.0.1", false},
	} {
		if got := everywhere(c.provider, c.place); got != c.want {
			t.Errorf("%s %s: %t", c.provider, c.place, got)
		}
	}
}

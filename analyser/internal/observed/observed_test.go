package observed

import (
	"slices"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/object"
)

var (
	deployment = object.GroupKind{Group: "apps", Kind: "Deployment"}
	web        = object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
)

// TestCovers: an object is absent only where a reading would have shown it.
func TestCovers(t *testing.T) {
	for _, c := range []struct {
		about    string
		readings []Reading
		one, all Outcome
	}{
		{"nobody asked", nil, NotAsked, NotAsked},
		{"a list of all namespaces", []Reading{{Outcome: OK}}, OK, OK},
		{"a list of its namespace", []Reading{{Namespace: "shop", Outcome: OK}}, OK, NotAsked},
		{"a list of another namespace", []Reading{{Namespace: "other", Outcome: OK}}, NotAsked, NotAsked},
		{"a list by label", []Reading{{Selector: "a=b", Outcome: OK}}, NotAsked, NotAsked},
		{"a get that found nothing", []Reading{{Namespace: "shop", Name: "web", Outcome: NotFound}}, OK, NotAsked},
		{"a get of another one", []Reading{{Namespace: "shop", Name: "db", Outcome: NotFound}}, NotAsked, NotAsked},
		{"a list that found nothing is no get", []Reading{{Namespace: "shop", Outcome: NotFound}}, NotFound, NotFound},
		{"denied", []Reading{{Outcome: "denied"}}, Outcome("denied"), Outcome("denied")},
		{"denied everywhere, allowed in its namespace", []Reading{{Outcome: "denied"}, {Namespace: "shop", Outcome: OK}}, OK, Outcome("denied")},
		{"not served", []Reading{{Outcome: NotServed}}, OK, OK},
	} {
		s := &Set{}
		x := s.Add("hub")
		for _, r := range c.readings {
			r.GroupKind = deployment
			x.Read(r)
		}
		x.Read(Reading{GroupKind: object.GroupKind{Kind: "Deployment"}, Outcome: OK}) // another kind
		if got, _ := x.Covers(web); got != c.one {
			t.Errorf("%s: one is %s, want %s", c.about, got, c.one)
		}
		if got, _ := x.CoversAll(deployment); got != c.all {
			t.Errorf("%s: all are %s, want %s", c.about, got, c.all)
		}
	}
	if got, _ := (*Set)(nil).On("hub").Covers(web); got != NotAsked {
		t.Errorf("without any facts it is %s", got)
	}
	down := &Cluster{Access: &Access{Outcome: "unreachable"}}
	if got, _ := down.Covers(web); got != "unreachable" {
		t.Errorf("of a cluster that is down it is %s", got)
	}
}

// TestReadAgain: the last answer to a question counts, each question by itself.
func TestReadAgain(t *testing.T) {
	x := (&Set{}).Add("hub")
	x.Read(Reading{GroupKind: deployment, Outcome: "denied"})
	x.Read(Reading{GroupKind: deployment, Namespace: "shop", Outcome: "denied"})
	x.Read(Reading{GroupKind: deployment, Outcome: OK, Objects: 3})
	if len(x.Readings) != 2 || x.Readings[0].Outcome != OK || x.Readings[1].Outcome != Outcome("denied") {
		t.Errorf("got %+v", x.Readings)
	}
}

// TestServes: a kind is not served only where everything about its group is known.
func TestServes(t *testing.T) {
	other := object.GroupKind{Group: "batch", Kind: "Job"}
	for _, c := range []struct {
		about     string
		discovery *Discovery
		known     bool
	}{
		{"nobody asked", nil, false},
		{"denied", &Discovery{Outcome: "denied"}, false},
		{"all of it", &Discovery{Outcome: OK}, true},
		{"its group is missing", &Discovery{Outcome: OK, Missing: []string{"batch/v1"}}, false},
		{"another group is missing", &Discovery{Outcome: OK, Missing: []string{"metrics.k8s.io/v1beta1"}}, true},
	} {
		x := (&Set{}).Add("hub")
		x.Discovery = c.discovery
		x.Serve(deployment, "v1", true)
		x.Serve(deployment, "v1beta1", true)
		if s, known := x.Serves(deployment); s == nil || !known || len(s.Versions) != 2 {
			t.Errorf("%s: what is served is %+v, %t", c.about, s, known)
		}
		if s, known := x.Serves(other); s != nil || known != c.known {
			t.Errorf("%s: what is not seen is %+v, known %t, want %t", c.about, s, known, c.known)
		}
	}
	x := (&Set{}).Add("hub")
	x.Serve(deployment, "v1", true)
	x.Serve(object.GroupKind{Kind: "Namespace"}, "v1", false)
	for k, want := range map[object.GroupKind]object.Scope{
		deployment: object.Namespaced, {Kind: "Namespace"}: object.ClusterScoped, other: object.ScopeUnknown,
	} {
		if got := x.Scope(k); got != want {
			t.Errorf("the scope of %s is %v, want %v", k, got, want)
		}
	}
}

// TestInventory: ids as Flux writes them, <namespace>_<name>_<group>_<kind>, with
// two underscores for each colon of a name; what is none is kept as it came.
func TestInventory(t *testing.T) {
	h := &Holder{Announced: 5}
	for _, id := range []string{
		"shop_web_apps_Deployment", "_shop__Namespace", "_system__controller__web_rbac.authorization.k8s.io_ClusterRole", "shop_web",
	} {
		h.Add(id, "v1")
	}
	var got []object.Key
	for _, e := range h.Entries {
		got = append(got, e.Key)
	}
	want := []object.Key{
		web,
		{Kind: "Namespace", Name: "shop"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:controller:web"},
	}
	if !slices.Equal(got, want) || !slices.Equal(h.Malformed, []string{"shop_web"}) {
		t.Errorf("entries %v, malformed %q", got, h.Malformed)
	}
	if h.Whole() {
		t.Error("four of five are whole")
	}
	if h.Add("", "v1"); !h.Whole() || len(h.Malformed) != 2 {
		t.Errorf("five of five, the last one empty: malformed %q", h.Malformed)
	}
}

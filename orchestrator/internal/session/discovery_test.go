package session

import (
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDiscover reads the same API from a server that tells all at once and from
// one that is older. The answers are those of a kube-apiserver, shortened.
func TestDiscover(t *testing.T) {
	want := Served{
		Kinds: []Kind{
			{"", "v1", "ConfigMap", "configmaps", true, true, true},
			{"", "v1", "Node", "nodes", false, true, true},
			{"apps", "v1", "Deployment", "deployments", true, true, true},
			{"apps", "v1beta1", "Deployment", "deployments", true, true, false},
			{"apps", "v1beta1", "Relic", "relics", true, true, true},
			{"authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false, false, true},
		},
		Missing: []string{"metrics.k8s.io/v1beta1"},
	}
	for _, form := range []string{"aggregated", "legacy"} {
		t.Run(form, func(t *testing.T) {
			stand := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				data, err := os.ReadFile("testdata/" + form + r.URL.Path + ".json")
				if err != nil {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				w.Write(data)
			})
			o := quick
			got, f := stand.open(t, o).Discover(t.Context())
			if f != nil {
				t.Fatal(f)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiscoverHostileNames(t *testing.T) {
	stand := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" {
			io.WriteString(w, `{"groups":[{"name":"../../api","versions":[{"version":"v1"}]},{"name":"a","versions":[{"version":"v1/secrets"},{"version":"v1"}]}]}`)
			return
		}
		io.WriteString(w, `{"versions":["v1","../v2"],"resources":[{"name":"x/../secrets","kind":"X","verbs":["list"]},{"name":"SECRETS","kind":"X","verbs":["list"]},{"name":"fine","kind":"Fine","verbs":["list"]}]}`)
	})
	got, f := stand.open(t, quick).Discover(t.Context())
	if f != nil {
		t.Fatal(f)
	}
	for _, k := range got.Kinds {
		if k.Resource != "fine" || k.Version != "v1" {
			t.Errorf("%+v", k)
		}
	}
	if len(got.Kinds) != 2 {
		t.Errorf("%d kinds, want one of the core group and one of a", len(got.Kinds))
	}
}

func TestDiscoverPartly(t *testing.T) {
	stand := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api":
			io.WriteString(w, `{"versions":["v1"]}`)
		case "/api/v1":
			io.WriteString(w, `{"resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list"]}]}`)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	got, f := stand.open(t, quick).Discover(t.Context())
	if outcome(f) != denied || len(got.Kinds) != 1 {
		t.Errorf("%v, %+v", f, got)
	}
}

package misbehave

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// api is a server with two groups, and lists of as many bytes as are asked for.
func api(t *testing.T) *Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.Header.Get("Accept"), "APIGroupDiscoveryList") {
			fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"}},{"metadata":{"name":"config.openshift.io"}}]}`)
			return
		}
		fmt.Fprint(w, `{"kind":"APIGroupList","groups":[{"name":"apps"},{"name":"config.openshift.io"}]}`)
	})
	mux.HandleFunc("GET /apis/kustomize.toolkit.fluxcd.io/v1/kustomizations", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"KustomizationList","items":[
			{"metadata":{"namespace":"flux-system","name":"apps","generation":9007199254740993}},
			{"metadata":{"namespace":"flux-system","name":"other"},"status":{"inventory":{"entries":[]}}}]}`)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"List","items":[],"pad":"%s"}`, strings.Repeat("x", 1<<16))
	})
	s, err := NewServer(mux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, ca []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get is the code and the body of the answer.
func get(t *testing.T, s *Server, path string) (int, string, error) {
	t.Helper()
	response, err := client(t, s.CA()).Get(s.URL() + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestParsePath(t *testing.T) {
	for path, want := range map[string]Path{
		"/api/v1":                                      {Version: "v1"},
		"/apis/apps":                                   {Group: "apps"},
		"/apis/apps/v1":                                {Group: "apps", Version: "v1"},
		"/api/v1/namespaces":                           {Version: "v1", Resource: "namespaces"},
		"/api/v1/namespaces/web":                       {Version: "v1", Resource: "namespaces", Name: "web"},
		"/api/v1/namespaces/web/status":                {Version: "v1", Resource: "namespaces", Name: "web", Subresource: "status"},
		"/api/v1/namespaces/web/secrets":               {Version: "v1", Namespace: "web", Resource: "secrets"},
		"/apis/apps/v1/namespaces/web/deployments/app": {Group: "apps", Version: "v1", Namespace: "web", Resource: "deployments", Name: "app"},
		"/apis/apps/v1/deployments":                    {Group: "apps", Version: "v1", Resource: "deployments"},
	} {
		got, ok := ParsePath(path)
		if !ok || got != want {
			t.Errorf("%s: %+v, %v, want %+v", path, got, ok, want)
		}
	}
	for _, path := range []string{"/", "/version", "/openapi/v3", "/api", "/apis"} {
		if got, ok := ParsePath(path); ok {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	const secrets, pods = "/api/v1/secrets", "/api/v1/pods"
	for name, test := range map[string]struct {
		fault  Fault
		code   int
		reason string
	}{
		"expired token": {Unauthorized(), 401, "Unauthorized"},
		"forbidden":     {Forbid(), 403, "Forbidden"},
		"too many":      {TooMany(-1, 3), 429, "TooManyRequests"},
		"internal":      {InternalError(), 500, "InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			s := api(t)
			s.Tell(On(Resource("", "secrets"), test.fault))
			code, body, err := get(t, s, secrets)
			if err != nil || code != test.code {
				t.Fatalf("%d, %v, want %d", code, err, test.code)
			}
			var status struct {
				Kind, Reason string
				Code         int
			}
			if err := json.Unmarshal([]byte(body), &status); err != nil {
				t.Fatal(err)
			}
			if status.Kind != "Status" || status.Reason != test.reason || status.Code != test.code {
				t.Errorf("%+v", status)
			}
			if code, _, err := get(t, s, pods); code != 200 || err != nil {
				t.Errorf("what the fault is not for: %d, %v", code, err)
			}
			s.Tell()
			if code, _, err := get(t, s, secrets); code != 200 || err != nil {
				t.Errorf("after the fault: %d, %v", code, err)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	s := api(t)
	s.Tell(TooMany(2, 7))
	c := client(t, s.CA())
	for i, want := range []int{429, 429, 200} {
		response, err := c.Get(s.URL() + "/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, response.StatusCode, want)
		}
		if got := response.Header.Get("Retry-After"); (got == "7") != (want == 429) {
			t.Errorf("request %d: Retry-After %q", i, got)
		}
	}
}

func TestAfter(t *testing.T) {
	s := api(t)
	s.Tell(On(Lists, After(1, InternalError())))
	for i, want := range []int{200, 500} {
		if code, _, err := get(t, s, "/api/v1/pods"); code != want || err != nil {
			t.Errorf("request %d: %d, %v, want %d", i, code, err, want)
		}
	}
}

func TestExpire(t *testing.T) {
	s := api(t)
	s.Tell(Expire())
	for path, want := range map[string]int{"/api/v1/pods?limit=5": 200, "/api/v1/pods?limit=5&continue=abc": 410} {
		if code, _, err := get(t, s, path); code != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", path, code, err, want)
		}
	}
}

func TestCut(t *testing.T) {
	s := api(t)
	s.Tell(On(Lists, Cut()))
	code, body, err := get(t, s, "/api/v1/pods")
	if err == nil || code != 200 || len(body) < 1<<15 || len(body) > 1<<16 {
		t.Errorf("%d, %d bytes, %v", code, len(body), err)
	}
}

func TestReset(t *testing.T) {
	s := api(t)
	s.Tell(Reset())
	if code, _, err := get(t, s, "/api/v1/pods"); err == nil {
		t.Errorf("answered with %d", code)
	}
}

// The client gives up as soon as it knows that the server has the request.
func TestHang(t *testing.T) {
	for name, fault := range map[string]Fault{"hang": Hang(), "stall": Stall()} {
		t.Run(name, func(t *testing.T) {
			s := api(t)
			ctx, cancel := context.WithCancel(t.Context())
			s.Tell(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					cancel()
					next.ServeHTTP(w, r)
				})
			}, fault)
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/api/v1/pods", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client(t, s.CA()).Do(request)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDown(t *testing.T) {
	s := api(t)
	at := s.URL()
	s.Down()
	if _, _, err := get(t, s, "/api/v1/pods"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("down: %v", err)
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	if code, _, err := get(t, s, "/api/v1/pods"); code != 200 || err != nil || s.URL() != at {
		t.Errorf("up again at %s, before at %s: %d, %v", s.URL(), at, code, err)
	}
}

func TestWrongCA(t *testing.T) {
	s := api(t)
	ca, err := Stranger()
	if err != nil {
		t.Fatal(err)
	}
	_, err = client(t, ca).Get(s.URL())
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

func TestNotServed(t *testing.T) {
	s := api(t)
	s.Tell(NotServed("config.openshift.io"))
	for _, accept := range []string{"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"} {
		request, err := http.NewRequest(http.MethodGet, s.URL()+"/apis", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		response, err := client(t, s.CA()).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(body), `"apps"`) || strings.Contains(string(body), "openshift") {
			t.Errorf("%s: %s, %v", accept, body, err)
		}
	}
	for path, want := range map[string]int{"/apis/config.openshift.io/v1": 404, "/apis/config.openshift.io/v1/infrastructures": 404, "/apis/apps/v1": 200} {
		if code, _, err := get(t, s, path); code != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", path, code, err, want)
		}
	}
}

func TestInventory(t *testing.T) {
	s := api(t)
	s.Tell(Inventory("flux-system/apps", 50_000))
	_, body, err := get(t, s, "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, "9007199254740993") {
		t.Error("a number was changed")
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Inventory struct{ Entries []struct{ ID, V string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, item := range list.Items {
		got[item.Metadata.Name] = len(item.Status.Inventory.Entries)
	}
	if diff := cmp.Diff(map[string]int{"apps": 50_000, "other": 0}, got); diff != "" {
		t.Error(diff)
	}
	if id := list.Items[0].Status.Inventory.Entries[49_999].ID; id != "many_many-049999__ConfigMap" {
		t.Error(id)
	}
}

// Behind a server that forwards to it, a server answers as it does itself, and
// both know what was asked.
func TestForward(t *testing.T) {
	far := api(t)
	to, err := url.Parse(far.URL())
	if err != nil {
		t.Fatal(err)
	}
	near, err := NewServer(Forward(to, client(t, far.CA()).Transport))
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	_, want, err := get(t, far, "/api/v1/pods?limit=3")
	if err != nil {
		t.Fatal(err)
	}
	far.Forget()
	code, got, err := get(t, near, "/api/v1/pods?limit=3")
	if err != nil || code != 200 || got != want {
		t.Errorf("%d, %d bytes, %v, want %d bytes", code, len(got), err, len(want))
	}
	asked := []Request{{Method: "GET", Path: "/api/v1/pods", Query: "limit=3", Code: 200, Bytes: int64(len(want))}}
	for name, s := range map[string]*Server{"far": far, "near": near} {
		if diff := cmp.Diff(asked, s.Asked()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	far.Down()
	if code, _, err := get(t, near, "/api/v1/pods"); code != http.StatusBadGateway || err != nil {
		t.Errorf("nobody behind: %d, %v", code, err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(far.URL(), "https://")); err == nil {
		t.Error("it still listens")
	}
}

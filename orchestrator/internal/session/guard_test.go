package session

import (
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// passed is a transport that says that a request got through.
type passed struct{ requests int }

func (p *passed) RoundTrip(*http.Request) (*http.Response, error) {
	p.requests++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func guarded(t *testing.T, server string) (*guard, *passed) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &passed{}
	return &guard{next: p, server: u}, p
}

func request(t *testing.T, method, address string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// send reports whether the guard lets a request pass.
func (g *guard) lets(t *testing.T, r *http.Request) bool {
	t.Helper()
	before := g.next.(*passed).requests
	resp, err := g.RoundTrip(r)
	sent := g.next.(*passed).requests > before
	var refused *RefusedError
	if sent != (err == nil) || !sent && !errors.As(err, &refused) {
		t.Fatalf("sent %v with error %v", sent, err)
	}
	if resp != nil {
		resp.Body.Close()
	}
	return sent
}

const server = "https://api.example:6443"

func TestGuardLetsReadsPass(t *testing.T) {
	g, _ := guarded(t, server)
	for _, path := range []string{
		"/version", "/api", "/api/v1", "/apis", "/apis/apps/v1",
		"/apis/config.openshift.io/v1/infrastructures/cluster",
		"/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations?limit=500",
		"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team/kustomizations?limit=500&continue=abc%2Bd",
		"/apis/apps/v1/deployments?limit=500&labelSelector=app.kubernetes.io%2Fpart-of%3Dflux",
		"/api/v1/nodes?limit=1",
	} {
		if !g.lets(t, request(t, "GET", server+path, "Accept", acceptWhole)) {
			t.Errorf("%s was refused", path)
		}
	}
	for _, path := range []string{
		"/api/v1/configmaps?limit=500", "/api/v1/namespaces/secrets/pods?limit=500", "/api/v1/namespaces?limit=2",
		"/apis/example.com/v1beta1/secretstores?limit=500", "/apis/apps/v1/deployments?limit=500",
	} {
		if !g.lets(t, request(t, "GET", server+path, "Accept", acceptMetadata)) {
			t.Errorf("%s was refused", path)
		}
	}
	below, _ := guarded(t, server+"/k8s/clusters/c-1")
	if !below.lets(t, request(t, "GET", server+"/k8s/clusters/c-1/version")) {
		t.Error("a server below a path was refused")
	}
}

func TestGuardRefuses(t *testing.T) {
	g, p := guarded(t, server)
	metadata := []string{"Accept", acceptMetadata}
	for _, c := range []struct {
		name, method, address string
		header                []string
	}{
		{"create", "POST", server + "/api/v1/configmaps?limit=1", metadata},
		{"update", "PUT", server + "/api/v1/configmaps?limit=1", metadata},
		{"apply", "PATCH", server + "/api/v1/configmaps?limit=1", metadata},
		{"delete", "DELETE", server + "/api/v1/configmaps?limit=1", metadata},
		{"head", "HEAD", server + "/version", nil},
		{"options", "OPTIONS", server + "/version", nil},
		{"connect", "CONNECT", server + "/version", nil},
		{"lower case", "get", server + "/version", nil},
		{"review", "POST", server + "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil},
		{"method override", "GET", server + "/version", []string{"X-Http-Method-Override", "DELETE"}},
		{"secrets", "GET", server + "/api/v1/secrets?limit=1", metadata},
		{"secrets in a namespace", "GET", server + "/api/v1/namespaces/default/secrets?limit=1", metadata},
		{"a secret", "GET", server + "/api/v1/namespaces/default/secrets/token", nil},
		{"secrets, escaped", "GET", server + "/api/v1/%73ecrets?limit=1", metadata},
		{"secrets, escaped twice", "GET", server + "/api/v1/%2573ecrets?limit=1", metadata},
		{"secrets, slash escaped", "GET", server + "/api/v1/namespaces%2Fdefault%2Fsecrets?limit=1", metadata},
		{"secrets, doubled slash", "GET", server + "/api/v1//secrets?limit=1", metadata},
		{"secrets, dots", "GET", server + "/api/v1/pods/../secrets?limit=1", metadata},
		{"secrets, upper case", "GET", server + "/api/v1/Secrets?limit=1", metadata},
		{"secrets, slash at the end", "GET", server + "/api/v1/secrets/?limit=1", metadata},
		{"secrets, watch of old", "GET", server + "/api/v1/watch/secrets", metadata},
		{"secrets, watch of old in a namespace", "GET", server + "/api/v1/watch/namespaces/default/secrets", metadata},
		{"secrets of another group", "GET", server + "/apis/example.com/v1/secrets?limit=1", metadata},
		{"tokens in names", "GET", server + "/apis/oauth.openshift.io/v1/oauthaccesstokens?limit=1", metadata},
		{"watch", "GET", server + "/api/v1/configmaps?limit=1&watch=true", metadata},
		{"watch of old", "GET", server + "/api/v1/watch/configmaps?limit=1", metadata},
		{"exec", "GET", server + "/api/v1/namespaces/a/pods/b/exec?command=sh", nil},
		{"attach", "GET", server + "/api/v1/namespaces/a/pods/b/attach", nil},
		{"port-forward", "GET", server + "/api/v1/namespaces/a/pods/b/portforward", nil},
		{"log", "GET", server + "/api/v1/namespaces/a/pods/b/log", nil},
		{"proxy", "GET", server + "/api/v1/namespaces/a/services/b/proxy", nil},
		{"proxy to a node", "GET", server + "/api/v1/nodes/a/proxy", nil},
		{"proxy of old", "GET", server + "/api/v1/proxy/nodes/a", nil},
		{"status of a namespace", "GET", server + "/api/v1/namespaces/a/status?limit=1", metadata},
		{"upgrade", "GET", server + "/version", []string{"Connection", "Upgrade", "Upgrade", "SPDY/3.1"}},
		{"websocket", "GET", server + "/version", []string{"Sec-Websocket-Key", "x"}},
		{"impersonation", "GET", server + "/version", []string{"Impersonate-User", "admin"}},
		{"impersonation of a group", "GET", server + "/version", []string{"impersonate-Group", "system:masters"}},
		{"proxy headers", "GET", server + "/version", []string{"X-Remote-User", "admin"}},
		{"another host", "GET", "https://other.example:6443/version", nil},
		{"another port", "GET", "https://api.example/version", nil},
		{"another scheme", "GET", "http://api.example:6443/version", nil},
		{"whole config maps", "GET", server + "/api/v1/configmaps?limit=1", []string{"Accept", acceptWhole}},
		{"whole or metadata", "GET", server + "/api/v1/configmaps?limit=1", []string{"Accept", acceptMetadata + "," + acceptWhole}},
		{"two accept headers", "GET", server + "/api/v1/configmaps?limit=1", append([]string{"Accept", acceptWhole}, metadata...)},
		{"tables", "GET", server + "/api/v1/configmaps?limit=1", []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}},
		{"all deployments whole", "GET", server + "/apis/apps/v1/deployments?limit=1", []string{"Accept", acceptWhole}},
		{"other deployments whole", "GET", server + "/apis/apps/v1/deployments?limit=1&labelSelector=a%3Db", []string{"Accept", acceptWhole}},
		{"an object whole", "GET", server + "/apis/config.openshift.io/v1/oauths/cluster", nil},
		{"no limit", "GET", server + "/api/v1/configmaps", metadata},
		{"field selector", "GET", server + "/api/v1/configmaps?limit=1&fieldSelector=a%3Db", metadata},
		{"two limits", "GET", server + "/api/v1/configmaps?limit=1&limit=0", metadata},
		{"half a parameter", "GET", server + "/api/v1/configmaps?limit=1;watch=1", metadata},
		{"openapi", "GET", server + "/openapi/v3", nil},
		{"logs", "GET", server + "/logs/kube-apiserver.log", nil},
		{"metrics", "GET", server + "/metrics", nil},
		{"root", "GET", server + "/", nil},
	} {
		if g.lets(t, request(t, c.method, c.address, c.header...)) {
			t.Errorf("%s: %s %s passed", c.name, c.method, c.address)
		}
	}
	withBody, err := http.NewRequest("GET", server+"/version", io.NopCloser(strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	if g.lets(t, withBody) {
		t.Error("a request with a body passed")
	}
	below, _ := guarded(t, server+"/k8s/clusters/c-1")
	for _, path := range []string{"/version", "/k8s/clusters/c-10/version", "/k8s/clusters/c-1/../c-2/version"} {
		if below.lets(t, request(t, "GET", server+path)) {
			t.Errorf("%s passed beside the path of the server", path)
		}
	}
	if p.requests != 0 {
		t.Errorf("%d requests passed", p.requests)
	}
}

func TestGuardImpersonatesWhenAsked(t *testing.T) {
	g, _ := guarded(t, server)
	g.impersonate = true
	if !g.lets(t, request(t, "GET", server+"/version", "Impersonate-User", "viewer")) {
		t.Error("impersonation that was asked for is refused")
	}
}

// secretPath is how an API server reads a path that concerns Secrets, written
// another way than the guard.
var secretPath = regexp.MustCompile(`(?i)^/+(api/+v1|apis/+[^/]+/+[^/]+)/+(watch/+)?(namespaces/+[^/]+/+)?secrets(/|$)`)

func FuzzGuard(f *testing.F) {
	for _, path := range []string{"/version", "/api/v1/secrets?limit=1", "/api/v1/namespaces/a/secrets/b", "/apis/a/v1/namespaces/secrets/pods?limit=1", "/api/v1/%73ecrets?limit=1"} {
		f.Add("GET", path, acceptMetadata, "Accept")
	}
	f.Add("POST", "/version", "x", "Impersonate-User")
	f.Fuzz(func(t *testing.T, method, path, value, header string) {
		u, err := url.Parse(server + path)
		if err != nil {
			return
		}
		g, _ := guarded(t, server)
		r := &http.Request{Method: method, URL: u, Header: http.Header{header: {value}}, Host: u.Host}
		if !g.lets(t, r) {
			return
		}
		decoded, err := url.PathUnescape(u.EscapedPath())
		switch {
		case method != "GET", u.Host != "api.example:6443":
			t.Errorf("%s %s passed", method, u)
		case err != nil, secretPath.MatchString(decoded), strings.Contains(decoded, "//"), strings.Contains(decoded, "%"):
			t.Errorf("the path %s passed", decoded)
		case strings.HasPrefix(strings.ToLower(header), "impersonate"):
			t.Errorf("the header %s passed", header)
		case u.Query().Has("watch"):
			t.Errorf("a watch passed: %s", u)
		}
	})
}

// TestOneRoom checks that no other package of the orchestrator can reach a
// server: none imports client-go, HTTP or plain sockets.
func TestOneRoom(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		found, err := connects(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		// The pipes to the analyser have the interfaces of a connection; the audit
		// listens for the canary, which must not reach it.
		other := strings.HasPrefix(rel, "internal/launch/") || rel == "internal/audit/canary.go"
		own := strings.HasPrefix(rel, "internal/session/") || other && slices.Equal(found, []string{"net"})
		if len(found) > 0 && !own {
			t.Errorf("%s imports %s: only orchestrator/internal/session speaks to servers", rel, strings.Join(found, ", "))
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Fatalf("%d files, %v", files, err)
	}
	if found, err := connects("session.go"); err != nil || !slices.Contains(found, "net/http") || !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, "k8s.io/client-go/") }) {
		t.Errorf("the control was not convicted: %v, %v", found, err)
	}
}

// connects lists the imports of a file by which it could reach a server.
func connects(name string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if p == "net" || p == "net/http" || strings.HasPrefix(p, "net/http/") || p == "crypto/tls" || strings.HasPrefix(p, "k8s.io/client-go/") || strings.HasPrefix(p, "golang.org/x/oauth2") {
			out = append(out, p)
		}
	}
	return out, nil
}

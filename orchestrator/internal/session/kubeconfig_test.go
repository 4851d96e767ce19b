package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// whoami answers every request, and keeps the credential.
func whoami(t *testing.T) *standIn {
	return serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`) })
}

func TestCredentials(t *testing.T) {
	token := write(t, "token", "from-a-file")
	for _, c := range []struct{ name, user, want string }{
		{"token", `{"token":"abc"}`, "Bearer abc"},
		{"token in a file", fmt.Sprintf(`{"tokenFile":%q}`, token), "Bearer from-a-file"},
		{"password", `{"username":"u","password":"p"}`, "Basic " + base64.StdEncoding.EncodeToString([]byte("u:p"))},
		{"nobody", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			stand := whoami(t)
			version, f := open1(t, stand.kubeconfig(t, c.user), quick).Version(t.Context())
			if f != nil || version != "v1.36.3" {
				t.Fatalf("%q, %v", version, f)
			}
			if got := stand.headers[0].Get("Authorization"); got != c.want {
				t.Errorf("Authorization %q, want %q", got, c.want)
			}
			if got := stand.headers[0].Get("User-Agent"); got != "reach" {
				t.Errorf("User-Agent %q", got)
			}
		})
	}
}

// TestExecPlugin runs a credential plugin as kubectl does: the protocol is
// client.authentication.k8s.io/v1.
func TestExecPlugin(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	plugin := write(t, "plugin", `#!/bin/sh
echo $KUBERNETES_EXEC_INFO >> "$CALLS"
n=$(wc -l < "$CALLS" | tr -d ' ')
case "$1" in fail) echo "cannot log in" >&2; exit 1;; esac
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s-%s"}}' "$1" "$n"
`)
	user := func(arg string) string {
		return fmt.Sprintf(`{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":%q,"args":[%q],
			"env":[{"name":"CALLS","value":%q}],"interactiveMode":"Never","provideClusterInfo":true}}`, plugin, arg, calls)
	}
	stand := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer token-1" && n > 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"gitVersion":"v1"}`)
	})
	s := open1(t, stand.kubeconfig(t, user("token")), quick)
	for range 2 {
		if _, f := s.Version(t.Context()); f != nil {
			t.Fatal(f)
		}
	}
	var got []string
	for _, h := range stand.headers {
		got = append(got, h.Get("Authorization"))
	}
	// The token works, is refused, and a new one is had.
	if diff := cmp.Diff([]string{"Bearer token-1", "Bearer token-1", "Bearer token-2"}, got); diff != "" {
		t.Error(diff)
	}
	told, err := os.ReadFile(calls)
	if err != nil || !strings.Contains(string(told), stand.URL) {
		t.Errorf("the plugin was told %q, %v", told, err)
	}

	before := len(stand.asked())
	_, f := open1(t, stand.kubeconfig(t, user("fail")), quick).Version(t.Context())
	if outcome(f) != unauth || len(stand.asked()) != before {
		t.Errorf("a plugin that fails: %v, %d requests", f, len(stand.asked())-before)
	}
}

// TestSlowExecPlugin is about plugins that know nothing of a request's time: as
// long as a person logs in, that of the request does not run, and one that never
// ends holds up nobody.
func TestSlowExecPlugin(t *testing.T) {
	plugin := write(t, "plugin", `#!/bin/sh
case "$1" in
slow) sleep 1;;
never) exec sleep 20 >/dev/null 2>&1;;
esac
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$2"
`)
	stand := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"gitVersion":"v1"}`) })
	open := func(o Options, args ...string) *Server {
		return open1(t, stand.kubeconfig(t, fmt.Sprintf(`{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":%q,"args":%s,"interactiveMode":"Never"}}`,
			plugin, encoded(t, args))), o)
	}
	short := quick
	short.Request = 500 * time.Millisecond
	if _, f := open(short, "slow", "t").Version(t.Context()); f != nil {
		t.Errorf("a plugin that takes longer than a request may: %v, %v", f, f.cause)
	}

	before, start := len(stand.asked()), time.Now()
	for name, cancel := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"the time is used up": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		},
		"interrupted": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(300*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, done := cancel(t.Context())
		_, f := open(quick, "never", "t").Version(ctx)
		done()
		if want := map[string]reachv1.Outcome{"the time is used up": reachv1.Outcome_OUTCOME_TIMEOUT, "interrupted": reachv1.Outcome_OUTCOME_NOT_ASKED}[name]; outcome(f) != want {
			t.Errorf("a plugin that never ends, %s: %v, want %s", name, f, want)
		}
	}
	if took := time.Since(start); took > 10*time.Second || len(stand.asked()) != before {
		t.Errorf("plugins that never end took %s and made %d requests", took, len(stand.asked())-before)
	}

	if _, f := open(quick, "now", `a\nb`).Version(t.Context()); outcome(f) != unauth || f.Detail != "what the kubeconfig names for a credential gave one that cannot be sent" {
		t.Errorf("a token with a line break: %v, %v", f, f.cause)
	}
}

// TestOIDC refreshes an expired token at an issuer, and writes nothing back.
func TestOIDC(t *testing.T) {
	jwt := func(expires time.Time) string {
		part := func(v any) string {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return base64.RawURLEncoding.EncodeToString(b)
		}
		return part(map[string]string{"alg": "none"}) + "." + part(map[string]int64{"exp": expires.Unix()}) + ".x"
	}
	fresh := jwt(time.Now().Add(time.Hour))
	var issuer *httptest.Server
	issuer = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q}`, issuer.URL, issuer.URL+"/token")
		case "/token":
			fmt.Fprintf(w, `{"access_token":"a","token_type":"bearer","id_token":%q,"refresh_token":"rotated"}`, fresh)
		}
	}))
	t.Cleanup(issuer.Close)
	stand := whoami(t)
	file := stand.kubeconfig(t, fmt.Sprintf(`{"auth-provider":{"name":"oidc","config":{"idp-issuer-url":%q,"client-id":"c","client-secret":"s",
		"id-token":%q,"refresh-token":"old","idp-certificate-authority-data":%q}}}`, issuer.URL, jwt(time.Now().Add(-time.Hour)),
		base64.StdEncoding.EncodeToString((&standIn{Server: issuer}).ca())))
	before := digest(t, file)
	if _, f := open1(t, file, quick).Version(t.Context()); f != nil {
		t.Fatal(f, f.cause)
	}
	if got := stand.headers[0].Get("Authorization"); got != "Bearer "+fresh {
		t.Errorf("Authorization %q", got)
	}
	if digest(t, file) != before {
		t.Error("the kubeconfig was written")
	}
}

func digest(t *testing.T, file string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

func TestConnections(t *testing.T) {
	stand := whoami(t)
	other := whoami(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	gone := whoami(t)
	gone.Close()
	config := func(server, more string) string {
		return write(t, "config", fmt.Sprintf(`{"clusters":[{"name":"c","cluster":{"server":%q%s}}],"users":[{"name":"u","user":{"token":"t"}}],
			"contexts":[{"name":"it","context":{"cluster":"c","user":"u"}}]}`, server, more))
	}
	ca := func(s *standIn) string { return fmt.Sprintf(`,"certificate-authority-data":%s`, encoded(t, s.ca())) }
	expiredCA := `,"tls-server-name":"other.example"`
	for _, c := range []struct {
		name, file string
		want       any
	}{
		{"down", config(gone.URL, ca(gone)), unreachable},
		{"a name that nobody knows", config("https://nobody.invalid", ""), unreachable},
		{"no authority", config(stand.URL, ""), untrusted},
		{"wrong name", config(stand.URL, ca(stand)+expiredCA), untrusted},
		{"no TLS", config(strings.Replace(plain.URL, "http:", "https:", 1), ""), untrusted},
		{"right", config(other.URL, ca(other)), ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, f := open1(t, c.file, quick).Version(t.Context())
			if outcome(f) != c.want {
				t.Errorf("%v, want %v: %v", outcome(f), c.want, f)
			}
			if f != nil && strings.Contains(f.Detail, "127.0.0.1") {
				t.Errorf("the detail has an address: %s", f.Detail)
			}
		})
	}
}

func TestContexts(t *testing.T) {
	stand, other := whoami(t), whoami(t)
	// Both files use the same words for different things, as files of tools do.
	one := stand.kubeconfig(t, `{"token":"one"}`)
	text, err := os.ReadFile(other.kubeconfig(t, `{"token":"two"}`))
	if err != nil {
		t.Fatal(err)
	}
	two := write(t, "two", strings.ReplaceAll(string(text), `"it"`, `"that"`))
	k, err := LoadKubeconfigs([]string{one, two})
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.Open("that", quick)
	if err != nil {
		t.Fatal(err)
	}
	if _, f := s.Version(t.Context()); f != nil || other.headers[0].Get("Authorization") != "Bearer two" || len(stand.asked()) != 0 {
		t.Errorf("the context of the second file went to %v, %v", stand.asked(), f)
	}
	if _, err := k.Open("third", quick); err == nil || !strings.Contains(err.Error(), "they have it, that") {
		t.Errorf("an unknown context: %v", err)
	}
	if k, err = LoadKubeconfigs([]string{one, one}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open("it", quick); err == nil || !strings.Contains(err.Error(), "one of the files only") {
		t.Errorf("a context that stands twice: %v", err)
	}
	// kubectl's way of files that complete each other.
	split := write(t, "split", `{"contexts":[{"name":"split","context":{"cluster":"c","user":"u"}}]}`)
	if k, err = LoadKubeconfigs([]string{split, two}); err != nil {
		t.Fatal(err)
	}
	if s, err = k.Open("split", quick); err != nil {
		t.Fatal(err)
	}
	if _, f := s.Version(t.Context()); f != nil {
		t.Error(f)
	}
	// No context is current unless it is named.
	if _, err := k.Open("", quick); err == nil {
		t.Error("no context was named, and one was opened")
	}
	bad := write(t, "bad", "users:\n- name: u\n  user: {token: hunter2\n")
	if _, err := LoadKubeconfigs([]string{bad}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a broken kubeconfig: %v", err)
	}
	if _, err := LoadKubeconfigs([]string{filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing kubeconfig: %v", err)
	}
}

func TestImpersonation(t *testing.T) {
	stand := whoami(t)
	file := stand.kubeconfig(t, `{"token":"t","as":"boss"}`)
	k, err := LoadKubeconfigs([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open("it", quick); err == nil || !strings.Contains(err.Error(), "--as boss") {
		t.Errorf("impersonation that nobody asked for: %v", err)
	}
	o := quick
	o.User, o.Groups = "boss", []string{"viewers"}
	s, err := k.Open("it", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, f := s.Version(t.Context()); f != nil {
		t.Fatal(f)
	}
	if h := stand.headers[0]; h.Get("Impersonate-User") != "boss" || h.Get("Impersonate-Group") != "viewers" {
		t.Errorf("headers %v", h)
	}
}

// TestNoCredentialOfTheSurroundings checks that what a Pod has is not used.
func TestNoCredentialOfTheSurroundings(t *testing.T) {
	stand := whoami(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
	t.Setenv("KUBERNETES_MASTER", "http://127.0.0.1:1")
	t.Setenv("KUBECONFIG", stand.kubeconfig(t, `{"token":"environment"}`))
	t.Setenv("HOME", t.TempDir())
	empty := write(t, "empty", "{}")
	k, err := LoadKubeconfigs([]string{empty})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open("it", quick); err == nil {
		t.Error("a context of the environment was opened")
	}
	incomplete := write(t, "incomplete", `{"contexts":[{"name":"it","context":{"cluster":"c","user":"u"}}]}`)
	if k, err = LoadKubeconfigs([]string{incomplete}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open("it", quick); err == nil {
		t.Error("a context without cluster was opened")
	}
}

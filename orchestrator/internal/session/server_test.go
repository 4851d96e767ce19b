package session

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// standIn is a server over TLS that keeps what it was asked.
type standIn struct {
	*httptest.Server
	mutex    sync.Mutex
	requests []string
	headers  []http.Header
}

// serve starts a server that is called with the number of the request, from 1.
func serve(t *testing.T, handle func(n int, w http.ResponseWriter, r *http.Request)) *standIn {
	t.Helper()
	s := &standIn{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.requests, s.headers = append(s.requests, r.Method+" "+r.URL.String()), append(s.headers, r.Header.Clone())
		n := len(s.requests)
		s.mutex.Unlock()
		handle(n, w, r)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) asked() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string{}, s.requests...)
}

// ca is the server's certificate in PEM.
func (s *standIn) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// kubeconfig writes one whose context "it" leads to the server with what user
// says, a JSON object.
func (s *standIn) kubeconfig(t *testing.T, user string) string {
	t.Helper()
	return write(t, "config", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"it",
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%s}}],
		"users":[{"name":"u","user":%s}],
		"contexts":[{"name":"it","context":{"cluster":"c","user":"u"}}]}`, s.URL, encoded(t, s.ca()), user))
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// quick are options with which a test need not wait.
var quick = Options{PerSecond: 10_000, Request: time.Minute, Wait: 100 * time.Millisecond}

func open1(t *testing.T, file string, o Options) *Server {
	t.Helper()
	k, err := LoadKubeconfigs([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.Open("it", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) open(t *testing.T, o Options) *Server {
	t.Helper()
	return open1(t, s.kubeconfig(t, `{"token":"t"}`), o)
}

// thing is what tests read of an object.
type thing struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

// page writes a page of a list with things of these names.
func page(w http.ResponseWriter, next string, names ...string) {
	var items []string
	for _, n := range names {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q}}`, n))
	}
	fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

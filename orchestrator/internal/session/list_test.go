package session

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

var quiet = log.New(io.Discard, "", 0)

var configMaps = Query{Resource: Resource{Version: "v1", Resource: "configmaps"}}

// list reads ConfigMaps and returns their names.
func list(ctx context.Context, s *Server) ([]string, *Failure) {
	var names []string
	f := List(ctx, s, configMaps, func(page []thing) {
		for _, p := range page {
			names = append(names, p.Metadata.Name)
		}
	}, func() { names = nil })
	return names, f
}

const (
	ok           = reachv1.Outcome_OUTCOME_OK
	denied       = reachv1.Outcome_OUTCOME_DENIED
	unauth       = reachv1.Outcome_OUTCOME_UNAUTHENTICATED
	unreachable  = reachv1.Outcome_OUTCOME_UNREACHABLE
	untrusted    = reachv1.Outcome_OUTCOME_UNTRUSTED
	timedOut     = reachv1.Outcome_OUTCOME_TIMEOUT
	cut          = reachv1.Outcome_OUTCOME_CUT
	expired      = reachv1.Outcome_OUTCOME_EXPIRED
	truncated    = reachv1.Outcome_OUTCOME_TRUNCATED
	throttled    = reachv1.Outcome_OUTCOME_THROTTLED
	serverError  = reachv1.Outcome_OUTCOME_SERVER_ERROR
	notServed    = reachv1.Outcome_OUTCOME_NOT_SERVED
	malformed    = reachv1.Outcome_OUTCOME_MALFORMED
	notAsked     = reachv1.Outcome_OUTCOME_NOT_ASKED
	someSecretly = "system:jane@acme.example 10.1.2.3"
)

func outcome(f *Failure) reachv1.Outcome {
	if f == nil {
		return ok
	}
	return f.Outcome
}

// TestLists reads one list from servers of all sorts: what is expected follows
// from the API conventions of Kubernetes (chunks, 410, 429 with Retry-After).
func TestLists(t *testing.T) {
	fail := func(code int, header ...string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","message":%q}`, someSecretly)
		}
	}
	breakOff := func(w http.ResponseWriter, text string) {
		io.WriteString(w, text)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	const half = `{"metadata":{"continue":""},"items":[{"metadata":{"name":"a"}},{"metadata":{"na`
	for _, c := range []struct {
		name     string
		handle   func(n int, w http.ResponseWriter, r *http.Request)
		options  Options
		want     reachv1.Outcome
		names    string
		requests int
	}{
		{"pages", func(_ int, w http.ResponseWriter, r *http.Request) {
			switch r.URL.Query().Get("continue") {
			case "":
				page(w, "two", "a", "b")
			case "two":
				page(w, "three")
			case "three":
				page(w, "", "c")
			}
		}, quick, ok, "a b c", 3},
		{"items are null", func(_ int, w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"items":null,"metadata":{}}`)
		}, quick, ok, "", 1},
		{"403", fail(403), quick, denied, "", 1},
		{"404", fail(404), quick, notServed, "", 1},
		{"406", fail(406), quick, notServed, "", 1},
		{"401", fail(401), quick, unauth, "", 2},
		{"429 for ever", fail(429, "Retry-After", "0"), quick, throttled, "", 3},
		{"429 with a long wait", fail(429, "Retry-After", "3600"), quick, throttled, "", 1},
		{"429 with nonsense", fail(429, "Retry-After", "-99999999999999999999"), Options{PerSecond: 1e4, Wait: time.Second * 3}, throttled, "", 3},
		{"429 once", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				fail(429, "Retry-After", "0")(n, w, r)
				return
			}
			page(w, "", "a")
		}, quick, ok, "a", 2},
		{"500", fail(500, "Retry-After", "0"), quick, serverError, "", 3},
		{"503 once", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				fail(503, "Retry-After", "0")(n, w, r)
				return
			}
			page(w, "", "a")
		}, quick, ok, "a", 2},
		{"redirect", fail(302, "Location", "/api/v1/nodes?limit=1"), quick, malformed, "", 1},
		{"token expires once", func(n int, w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Get("continue") == "":
				page(w, "two", fmt.Sprintf("a%d", n))
			case n == 2:
				fail(410)(n, w, r)
			default:
				page(w, "", "b")
			}
		}, quick, ok, "a3 b", 4},
		{"token expires always", func(n int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") == "" {
				page(w, "two", fmt.Sprintf("a%d", n))
				return
			}
			fail(410)(n, w, r)
		}, quick, expired, "a3", 4},
		{"410 without a token", fail(410), quick, expired, "", 1},
		{"cut within a page, once", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				breakOff(w, half)
			}
			page(w, "", "a", "b")
		}, quick, ok, "a b", 2},
		{"cut within a page, always", func(_ int, w http.ResponseWriter, _ *http.Request) { breakOff(w, half) }, quick, cut, "a", 3},
		{"cut in the second page", func(_ int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") == "" {
				page(w, "two", "x")
				return
			}
			breakOff(w, half)
		}, quick, cut, "x a", 4},
		{"cut between pages", func(_ int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") == "" {
				page(w, "two", "x")
				return
			}
			panic(http.ErrAbortHandler)
		}, quick, cut, "x", 4},
		{
			"silent", func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			Options{PerSecond: 1e4, Request: 50 * time.Millisecond},
			timedOut, "", 1,
		},
		{"slow within pages, and quick when small", func(_ int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("limit") != "20" {
				io.WriteString(w, `{"items":[{"metadata":{"name":"z"}}`)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return
			}
			page(w, "", "a")
		}, Options{PerSecond: 1e4, Request: 100 * time.Millisecond}, ok, "a", 3},
		{"too large, and smaller when small", func(_ int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("limit") == "500" {
				page(w, "", strings.Repeat("x", 2000))
				return
			}
			page(w, "", "a")
		}, Options{PerSecond: 1e4, AnswerBytes: 1000}, ok, "a", 2},
		{
			"too large", func(_ int, w http.ResponseWriter, _ *http.Request) { page(w, "", strings.Repeat("x", 2000)) },
			Options{PerSecond: 1e4, AnswerBytes: 1000},
			truncated, "", 4,
		},
		{
			"too many", func(n int, w http.ResponseWriter, _ *http.Request) { page(w, fmt.Sprint(n), "a", "b") },
			Options{PerSecond: 1e4, Objects: 5},
			truncated, "a b a b a", 3,
		},
		{"no end", func(n int, w http.ResponseWriter, _ *http.Request) { page(w, fmt.Sprint(n)) }, quick, malformed, "", 101},
		{"a circle", func(_ int, w http.ResponseWriter, _ *http.Request) { page(w, "again", "a") }, quick, malformed, "a a", 2},
		{"a page for people", func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>log in</html>") }, quick, malformed, "", 1},
		{"an array", func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "[]") }, quick, malformed, "", 1},
		{"no items", func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }, quick, malformed, "", 1},
		{"items that are none", func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"items":[{"metadata":3}]}`) }, quick, malformed, "", 1},
		{"nothing", func(int, http.ResponseWriter, *http.Request) {}, quick, cut, "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stand := serve(t, c.handle)
			names, f := list(t.Context(), stand.open(t, c.options))
			if outcome(f) != c.want || strings.Join(names, " ") != c.names {
				t.Errorf("%v %q, want %v %q (%v)", outcome(f), strings.Join(names, " "), c.want, c.names, f)
			}
			if n := len(stand.asked()); n != c.requests {
				t.Errorf("%d requests, want %d:\n%s", n, c.requests, strings.Join(stand.asked(), "\n"))
			}
			if f == nil {
				return
			}
			for _, secret := range append(strings.Fields(someSecretly), "127.0.0.1", "jane") {
				if strings.Contains(f.Detail, secret) {
					t.Errorf("the detail names %s: %s", secret, f.Detail)
				}
			}
			if f.Detail == "" {
				t.Error("no detail")
			}
		})
	}
}

func TestListsAreAskedFor(t *testing.T) {
	stand := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { page(w, "") })
	s := stand.open(t, quick)
	q := Query{Resource: Resource{"apps", "v1", "deployments"}, Namespace: "a", Selector: "app.kubernetes.io/part-of=flux", Whole: true}
	for _, q := range []Query{configMaps, q} {
		if f := List(t.Context(), s, q, func([]thing) {}, func() {}); f != nil {
			t.Fatal(f)
		}
	}
	want := []string{
		"GET /api/v1/configmaps?limit=500",
		"GET /apis/apps/v1/namespaces/a/deployments?labelSelector=app.kubernetes.io%2Fpart-of%3Dflux&limit=500",
	}
	if diff := cmp.Diff(want, stand.asked()); diff != "" {
		t.Error(diff)
	}
	if got := stand.headers[0].Get("Accept"); got != "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" {
		t.Errorf("metadata are asked for by %q", got)
	}
	secrets := Query{Resource: Resource{Version: "v1", Resource: "secrets"}}
	f := List(t.Context(), s, secrets, func([]thing) {}, func() {})
	if outcome(f) != notAsked || len(stand.asked()) != 2 {
		t.Errorf("Secrets: %v, %d requests", f, len(stand.asked()))
	}
}

// TestGivesUp checks that a server that does not answer costs a few deadlines,
// not one for each list, and that one that answers again is forgiven.
func TestGivesUp(t *testing.T) {
	stand := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 3 {
			page(w, "", "a")
			return
		}
		<-r.Context().Done()
	})
	s := stand.open(t, Options{PerSecond: 1e4, Request: 30 * time.Millisecond})
	for i := range 50 {
		_, f := list(t.Context(), s)
		if want := timedOut; (i == 2) != (f == nil) || f != nil && f.Outcome != want {
			t.Fatalf("list %d: %v", i, f)
		}
	}
	if n := len(stand.asked()); n != 6 {
		t.Errorf("%d requests, want 2 that fail, 1 that does not, 3 that fail", n)
	}
}

func TestRate(t *testing.T) {
	stand := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { page(w, "") })
	s := stand.open(t, Options{PerSecond: 20, Parallel: 4})
	start := time.Now()
	for range 50 {
		if _, f := list(t.Context(), s); f != nil {
			t.Fatal(f)
		}
	}
	// Forty at once, then twenty a second: at least half a second.
	if took := time.Since(start); took < 450*time.Millisecond {
		t.Errorf("50 requests in %s", took)
	}
	if c := s.Cost(); c.Requests != 50 || c.Bytes == 0 {
		t.Errorf("cost %+v", c)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stand := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, f := list(ctx, stand.open(t, quick)); outcome(f) != notAsked {
		t.Errorf("%v", f)
	}
	deadline, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	silent := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, f := list(deadline, silent.open(t, quick)); outcome(f) != timedOut || !strings.Contains(f.Detail, "used up") {
		t.Errorf("%v", f)
	}
}

// TestLongListInLittleMemory reads 30,000 objects of 2 kB in pages: what is
// kept is what T keeps.
func TestLongListInLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("60 MB go through it")
	}
	padding := strings.Repeat("x", 2000)
	stand := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		next := fmt.Sprint(n)
		if n == 6 {
			next = ""
		}
		fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":[`, next)
		for i := range 5000 {
			if i > 0 {
				io.WriteString(w, ",")
			}
			fmt.Fprintf(w, `{"metadata":{"name":"x","annotations":{"a":%q}}}`, padding)
		}
		io.WriteString(w, "]}")
	})
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	total, most := 0, uint64(0)
	f := List(t.Context(), stand.open(t, Options{PerSecond: 1e4, Request: time.Hour}), configMaps, func(page []thing) {
		total += len(page)
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapInuse)
	}, func() {})
	if f != nil || total != 30_000 {
		t.Fatalf("%d objects, %v", total, f)
	}
	if grown := int64(most) - int64(before.HeapInuse); grown > 30<<20 {
		t.Errorf("%d MB for 60 MB of answers", grown>>20)
	}
}

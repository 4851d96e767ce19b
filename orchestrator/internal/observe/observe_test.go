package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/gitops-reach/reach/hack/misbehave"
	"github.com/gitops-reach/reach/orchestrator/internal/session"
	"github.com/gitops-reach/reach/orchestrator/internal/session/sessiontest"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// start starts a server for a cluster and a session with it.
func start(t *testing.T, c *sessiontest.Cluster, o session.Options, faults ...misbehave.Fault) (*misbehave.Server, *session.Server) {
	t.Helper()
	server, err := misbehave.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Tell(faults...)
	configs, err := session.LoadKubeconfigs([]string{sessiontest.Kubeconfig(t, server, "it")})
	if err != nil {
		t.Fatal(err)
	}
	if o.PerSecond == 0 {
		o.PerSecond = 1e5
	}
	s, err := configs.Open("it", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return server, s
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// look returns all facts about a cluster.
func look(t *testing.T, s *session.Server, o Options) []*reachv1.Fact {
	t.Helper()
	o.Cluster, o.Context, o.Now = "hub", "it", noon
	var out []*reachv1.Fact
	if err := Cluster(t.Context(), s, o, func(f *reachv1.Fact) error { out = append(out, f); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func section(t *testing.T, a *txtar.Archive, name string) []string {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == name {
			return strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		}
	}
	t.Fatalf("no section %q", name)
	return nil
}

// readingLine is a reading as the archives write it.
func readingLine(r *reachv1.Reading) string {
	words := []string{strings.TrimPrefix(r.GetOutcome().String(), "OUTCOME_"), strings.TrimSuffix(r.GetGroup()+"/"+r.GetVersion(), "/"), r.GetResource()}
	for _, w := range []string{r.GetNamespace(), r.GetName(), r.GetSelector()} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(append(words, fmt.Sprint(r.GetObjects())), " ")
}

// parts sorts facts into those about objects, readings, and the rest but served
// kinds.
func parts(facts []*reachv1.Fact) (rest []*reachv1.Fact, present []*reachv1.PresentObject, readings []string) {
	for _, f := range facts {
		switch {
		case f.GetPresent() != nil:
			present = append(present, f.GetPresent().GetObjects()...)
		case f.GetReading() != nil:
			readings = append(readings, readingLine(f.GetReading()))
		case f.GetServed() == nil:
			rest = append(rest, f)
		}
	}
	return rest, present, readings
}

func TestFacts(t *testing.T) {
	for _, name := range []string{"hub", "openshift"} {
		t.Run(name, func(t *testing.T) {
			cluster, archive := sessiontest.Load(t, "testdata/"+name+".txtar")
			server, s := start(t, cluster, session.Options{})
			facts := look(t, s, Options{})
			rest, present, readings := parts(facts)
			var wantRest []*reachv1.Fact
			for _, line := range section(t, archive, "facts") {
				f := &reachv1.Fact{}
				if err := protojson.Unmarshal([]byte(line), f); err != nil {
					t.Fatal(err)
				}
				f.Cluster = "hub"
				wantRest = append(wantRest, f)
			}
			if diff := cmp.Diff(wantRest, rest, protocmp.Transform()); diff != "" {
				t.Errorf("facts: %s", diff)
			}
			var wantPresent []*reachv1.PresentObject
			for _, line := range section(t, archive, "present") {
				o := &reachv1.PresentObject{}
				if err := protojson.Unmarshal([]byte(line), o); err != nil {
					t.Fatal(err)
				}
				wantPresent = append(wantPresent, o)
			}
			if diff := cmp.Diff(wantPresent, present, protocmp.Transform()); diff != "" {
				t.Errorf("objects: %s", diff)
			}
			if diff := cmp.Diff(section(t, archive, "readings"), readings); diff != "" {
				t.Errorf("readings: %s", diff)
			}
			var requests []string
			for _, r := range server.Asked() {
				requests = append(requests, strings.TrimSuffix(r.Path+"?"+r.Query, "?"))
				if r.Method != "GET" || strings.Contains(r.Path, "secret") {
					t.Errorf("%s %s", r.Method, r.Path)
				}
			}
			slices.Sort(requests)
			if diff := cmp.Diff(section(t, archive, "requests"), requests); diff != "" {
				t.Errorf("requests: %s", diff)
			}
			for _, f := range facts {
				text := protojson.Format(f)
				for _, no := range section(t, archive, "must not") {
					if strings.Contains(text, no) {
						t.Errorf("%q stands in %s", no, text)
					}
				}
			}
		})
	}
}

// TestAlwaysTheSame reads a cluster twice: the facts and their order are the
// same, whatever answers first.
func TestAlwaysTheSame(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	_, plain := start(t, cluster, session.Options{})
	_, slow := start(t, cluster, session.Options{}, misbehave.On(misbehave.Group("kustomize.toolkit.fluxcd.io"), misbehave.Slow(100*time.Millisecond)))
	if diff := cmp.Diff(look(t, plain, Options{}), look(t, slow, Options{}), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestInventoriesOnly(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	server, s := start(t, cluster, session.Options{})
	_, present, readings := parts(look(t, s, Options{InventoriesOnly: true}))
	for _, o := range present {
		if o.GetKind() == "ConfigMap" || o.GetKind() == "Namespace" || o.GetName() == "by-hand" {
			t.Errorf("told of %v", o)
		}
	}
	for _, want := range []string{"NOT_ASKED /v1 configmaps 0", "NOT_ASKED apps/v1 deployments 0", "NOT_ASKED storage.k8s.io/v1 csidrivers 0"} {
		if !slices.Contains(readings, want) {
			t.Errorf("no reading %q in %v", want, readings)
		}
	}
	for _, r := range server.Asked() {
		if strings.HasSuffix(r.Path, "/configmaps") || strings.HasSuffix(r.Path, "/csidrivers") {
			t.Errorf("asked for %s", r.Path)
		}
	}
}

func TestNamespaces(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	_, s := start(t, cluster, session.Options{}, misbehave.On(func(r *http.Request) bool {
		p, ok := misbehave.ParsePath(r.URL.Path)
		return ok && p.Resource != "" && p.Namespace != "web"
	}, misbehave.Forbid()))
	_, present, readings := parts(look(t, s, Options{Namespaces: []string{"web", "other"}}))
	var names []string
	for _, o := range present {
		names = append(names, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	if diff := cmp.Diff([]string{"HelmRelease web/podinfo", "ConfigMap web/settings", "Deployment web/by-hand"}, names); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"OK /v1 configmaps web 1", "DENIED /v1 configmaps other 0", "DENIED /v1 namespaces 0", "DENIED /v1 nodes 0", "OK apps/v1 deployments web app.kubernetes.io/part-of=flux 0"} {
		if !slices.Contains(readings, want) {
			t.Errorf("no reading %q in\n%s", want, strings.Join(readings, "\n"))
		}
	}
}

// TestMisbehaviour has a hub fail in one place in every way: that reading says
// so, and everything else is told as ever.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault misbehave.Fault
		want  string
	}{
		{"403", misbehave.Forbid(), "DENIED"},
		{"500", misbehave.InternalError(), "SERVER_ERROR"},
		{"502", misbehave.BadGateway(), "SERVER_ERROR"},
		{"429", misbehave.TooMany(-1, 1), "THROTTLED"},
		{"429 and long", misbehave.TooMany(-1, 3600), "THROTTLED"},
		{"429 for a while", misbehave.TooMany(1, 0), "OK"},
		{"cut", misbehave.Cut(), "CUT"},
		{"reset", misbehave.Reset(), "CUT"},
		{"hangs", misbehave.Hang(), "TIMEOUT"},
		{"stalls", misbehave.Stall(), "TIMEOUT"},
		{"garbage", misbehave.Garbage(), "CUT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
			// The limit tells this list from that of controllers.
			where := misbehave.All(misbehave.Resource("", "configmaps"), misbehave.Lists)
			_, s := start(t, cluster, session.Options{Request: 300 * time.Millisecond, Wait: 1100 * time.Millisecond}, misbehave.On(where, c.fault))
			_, _, readings := parts(look(t, s, Options{}))
			healthy := 0
			for _, line := range readings {
				if strings.Contains(line, " configmaps ") {
					if !strings.HasPrefix(line, c.want+" ") {
						t.Errorf("%s, want %s", line, c.want)
					}
					continue
				}
				if strings.HasPrefix(line, "OK ") {
					healthy++
				}
			}
			if healthy != 9 {
				t.Errorf("%d other readings are OK, want 9:\n%s", healthy, strings.Join(readings, "\n"))
			}
		})
	}
}

// TestWholeClusterMisbehaves has all requests fail: the facts say why, in
// bounded time.
func TestWholeClusterMisbehaves(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []misbehave.Fault
		// access and the outcome of everything that a reading is of.
		access, rest string
	}{
		{"expired token", []misbehave.Fault{misbehave.Unauthorized()}, "UNAUTHENTICATED", "UNAUTHENTICATED"},
		{"hangs", []misbehave.Fault{misbehave.Hang()}, "TIMEOUT", "TIMEOUT"},
		{"token expires", []misbehave.Fault{misbehave.After(3, misbehave.Unauthorized())}, "OK", "UNAUTHENTICATED"},
		{"hangs after a while", []misbehave.Fault{misbehave.After(3, misbehave.Hang())}, "OK", "TIMEOUT"},
		{"no discovery", []misbehave.Fault{misbehave.On(misbehave.Discovery, misbehave.Forbid())}, "OK", "DENIED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
			server, s := start(t, cluster, session.Options{Request: 200 * time.Millisecond}, c.faults...)
			begun := time.Now()
			rest, _, readings := parts(look(t, s, Options{}))
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if got := strings.TrimPrefix(rest[0].GetAccess().GetOutcome().String(), "OUTCOME_"); got != c.access {
				t.Errorf("access %s, want %s", got, c.access)
			}
			for _, line := range readings {
				if !strings.HasPrefix(line, c.rest+" ") && !strings.HasPrefix(line, "NOT_ASKED ") && !strings.HasPrefix(line, "NOT_SERVED ") {
					t.Errorf("%s, want %s", line, c.rest)
				}
			}
			if len(readings) < 20 {
				t.Errorf("only %d readings", len(readings))
			}
			if n := len(server.Asked()); n > 20 {
				t.Errorf("%d requests of a server that does not answer", n)
			}
		})
	}
}

func TestCRDsMissing(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	_, s := start(t, cluster, session.Options{}, misbehave.NotServed("kustomize.toolkit.fluxcd.io"))
	_, _, readings := parts(look(t, s, Options{}))
	if want := "NOT_SERVED kustomize.toolkit.fluxcd.io kustomizations 0"; !slices.Contains(readings, want) {
		t.Errorf("no reading %q in\n%s", want, strings.Join(readings, "\n"))
	}
}

// TestLongLists reads an inventory of 50,000 entries and 20,000 objects, in pages
// whose token expires once.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("70,000 objects and entries")
	}
	const objects, entries = 20_000, 50_000
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	for i := range objects - 1 {
		cluster.Objects = append(cluster.Objects, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("cm-%05d", i), "namespace": "many"},
		})
	}
	_, s := start(t, cluster, session.Options{}, misbehave.Inventory("flux-system/apps", entries),
		misbehave.On(misbehave.Resource("", "configmaps"), misbehave.First(3, misbehave.Expire())))
	facts := look(t, s, Options{})
	told, listed := map[string]bool{}, map[string]bool{}
	var holder *reachv1.InventoryHolder
	for _, f := range facts {
		if n := proto.Size(f); n > reachv1.MaxFactsBytes/2 {
			t.Errorf("a fact of %d bytes", n)
		}
		for _, o := range f.GetPresent().GetObjects() {
			if o.GetKind() == "ConfigMap" {
				if told[o.GetName()] {
					t.Fatalf("%s is told twice", o.GetName())
				}
				told[o.GetName()] = true
			}
		}
		if f.GetHolder().GetName() == "apps" {
			holder = f.GetHolder()
		}
		for _, e := range f.GetEntries().GetEntries() {
			listed[e.GetId()] = true
		}
	}
	if len(told) != objects || len(listed) != entries || holder.GetEntries() != entries {
		t.Errorf("%d objects, %d entries of %d announced", len(told), len(listed), holder.GetEntries())
	}
}

func TestHostileObjects(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	long := strings.Repeat("x", 100_000)
	labels := map[string]any{}
	for i := range 100 {
		labels[fmt.Sprintf("l%d.toolkit.fluxcd.io/name", i)] = long
	}
	for _, m := range []map[string]any{
		{"name": "fine\u001b[31m", "namespace": "web"},
		{"name": long, "namespace": "web"},
		{"name": "", "namespace": "web"},
		{"name": "no-namespace"},
		{"name": "a/b", "namespace": "web"},
		{"name": "many-labels", "namespace": "web", "labels": labels, "annotations": labels, "creationTimestamp": "yesterday"},
	} {
		cluster.Objects = append(cluster.Objects, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": m})
	}
	_, s := start(t, cluster, session.Options{})
	facts := look(t, s, Options{})
	_, present, readings := parts(facts)
	if want := "MALFORMED /v1 configmaps 2"; !slices.Contains(readings, want) {
		t.Errorf("no reading %q in\n%s", want, strings.Join(readings, "\n"))
	}
	for _, o := range present {
		if n := proto.Size(o); n > 200_000 || strings.ContainsAny(o.GetName(), "\u001b/") {
			t.Errorf("%d bytes of %q", n, o.GetName())
		}
	}
}

// TestStops checks that an error of whoever takes the facts ends the reading.
func TestStops(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	_, s := start(t, cluster, session.Options{})
	stop := errors.New("stop")
	for after := range 12 {
		n := 0
		err := Cluster(t.Context(), s, Options{Cluster: "hub"}, func(*reachv1.Fact) error {
			if n++; n > after {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || n != after+1 {
			t.Fatalf("after %d facts: %d, %v", after, n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last *reachv1.Fact
	if err := Cluster(ctx, s, Options{Cluster: "hub"}, func(f *reachv1.Fact) error { last = f; return nil }); err != nil {
		t.Fatal(err)
	}
	if o := last.GetReading().GetOutcome(); o != reachv1.Outcome_OUTCOME_NOT_ASKED {
		t.Errorf("after an interrupt the last reading is %v", o)
	}
}

// TestTime checks that a cluster has its time and no more.
func TestTime(t *testing.T) {
	cluster, _ := sessiontest.Load(t, "testdata/hub.txtar")
	_, s := start(t, cluster, session.Options{}, misbehave.On(misbehave.Lists, misbehave.Slow(time.Second)))
	begun := time.Now()
	_, _, readings := parts(look(t, s, Options{Time: 300 * time.Millisecond}))
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if !slices.ContainsFunc(readings, func(r string) bool { return strings.HasPrefix(r, "TIMEOUT /v1 configmaps") }) {
		t.Errorf("no timeout in\n%s", strings.Join(readings, "\n"))
	}
}

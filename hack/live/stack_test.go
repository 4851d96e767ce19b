package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// What the tests rely on: the controllers are real, and reconciled the commit
// that the clone is at, on the hubs and on the spokes.
func TestReconciles(t *testing.T) {
	s := clusters(t)
	head, err := s.Git(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, hub := range stack.Hubs {
		list, err := s.Clusters[hub].Client.Get(t.Context(), stack.KustomizationsPath)
		if err != nil {
			t.Fatal(err)
		}
		ready := map[string]bool{}
		for _, k := range api.Items(list) {
			name := api.String(k, "metadata", "namespace") + "/" + api.String(k, "metadata", "name")
			entries, _ := api.At(k, "status", "inventory", "entries").([]any)
			status, reason, message := readiness(k)
			ready[name] = status == "True"
			t.Logf("%s %s: %d entries, %s %s: %.150s", hub, name, len(entries), status, reason, message)
			if ready[name] && api.String(k, "status", "lastAppliedRevision") == "main@sha1:"+head && len(entries) == 0 {
				t.Errorf("%s %s is ready and lists nothing", hub, name)
			}
		}
		if !ready["flux-system/flux-system"] {
			t.Errorf("%s does not reconcile itself", hub)
		}
	}
	for _, spoke := range []string{stack.AKS, stack.Edge} {
		list, err := s.Clusters[spoke].Client.Get(t.Context(), "/api/v1/namespaces?labelSelector=kustomize.toolkit.fluxcd.io/name")
		if err != nil {
			t.Fatal(err)
		}
		if len(api.Items(list)) == 0 {
			t.Errorf("Flux applied no namespace on %s", spoke)
		}
	}
}

// The reader may do nothing unless a role grants it, and what it does is in the
// audit log.
func TestReaderMayNothing(t *testing.T) {
	s := clusters(t)
	for _, name := range stack.Names {
		c := s.Clusters[name]
		token, err := c.Token(t.Context(), "reach", "reach")
		if err != nil {
			t.Fatal(err)
		}
		m := auditEnd(t, s)
		reader := c.Client.WithToken(token)
		if _, err := reader.Get(t.Context(), "/api/v1/secrets"); !api.IsCode(err, 403) {
			t.Errorf("%s: the reader lists secrets: %v", name, err)
		}
		_, err = reader.Create(t.Context(), "/api/v1/namespaces", api.Object{"metadata": api.Object{"name": "forbidden"}})
		if !api.IsCode(err, 403) {
			t.Errorf("%s: the reader makes a namespace: %v", name, err)
		}
		var said []string
		for _, e := range m.since(t, c, stack.ReaderUser) {
			said = append(said, fmt.Sprintf("%s %s %d", e.Verb, e.ObjectRef.Resource, e.Response.Code))
		}
		if got, want := strings.Join(said, ", "), "list secrets 403, create namespaces 403"; got != want {
			t.Errorf("%s: the audit log has %s, want %s", name, got, want)
		}
	}
}

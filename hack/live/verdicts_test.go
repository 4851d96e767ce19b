package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// The Kustomization that these tests change: hub-east applies it to the spoke.
const (
	tenants     = "aks-weu-prod/tenants"
	tenantsPath = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/aks-weu-prod/kustomizations/tenants"
)

// What happens to a controller object turns into the right verdict on what it
// declares: on an object that it has applied, and on one that it has not.
func TestVerdicts(t *testing.T) {
	s := clusters(t)
	reader := granted(t, s)
	hub := s.Clusters[stack.HubEast]

	namespace := "Namespace retail"
	expect := func(t *testing.T, c census, verdicts map[string]string) {
		t.Helper()
		got := map[string]string{}
		for _, o := range c.lines(t, "objects.jsonl") {
			if text(o, "controller_cluster") == stack.HubEast && text(o, "controller") == tenants {
				got[text(o, "kind")+" "+text(o, "name")] = strings.TrimSpace(text(o, "verdict") + " " + text(o, "reason"))
			}
		}
		for object, want := range verdicts {
			if got[object] != want {
				t.Errorf("%s: %q, want %q", object, got[object], want)
			}
		}
	}
	expect(t, take(t, s, reader, stack.Names), map[string]string{namespace: "in_inventory"})

	// The clone is ahead of what the hubs follow.
	declare(t, s, "ahead")
	if _, err := s.Git(t.Context(), "add", "-A"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Git(t.Context(), "commit", "-q", "-m", "Not pushed"); err != nil {
		t.Fatal(err)
	}
	t.Run("stale", func(t *testing.T) {
		c := take(t, s, reader, stack.Names)
		expect(t, c, map[string]string{namespace: "in_inventory", "ConfigMap ahead": "abstain revision_differs"})
		if state := api.String(clusterOf(t, c, stack.HubEast), "revision", "state"); state != "differs" {
			t.Errorf("the revision of the hub is %q", state)
		}
	})

	t.Run("caught up", func(t *testing.T) {
		push(t, s)
		c := take(t, s, reader, stack.Names)
		expect(t, c, map[string]string{namespace: "in_inventory", "ConfigMap ahead": "in_inventory"})
	})

	t.Run("suspended", func(t *testing.T) {
		merge(t, hub, tenantsPath, api.Object{"spec": api.Object{"suspend": true}})
		declare(t, s, "while-suspended")
		push(t, s)
		c := take(t, s, reader, stack.Names)
		expect(t, c, map[string]string{namespace: "in_inventory", "ConfigMap while-suspended": "abstain suspended"})
		merge(t, hub, tenantsPath, api.Object{"spec": api.Object{"suspend": false}})
		settle(t, s)
	})

	// Somebody takes an entry out of the inventory; the controller does not
	// look at its status until it reconciles.
	t.Run("not in the inventory", func(t *testing.T) {
		k, err := hub.Client.Get(t.Context(), tenantsPath)
		if err != nil {
			t.Fatal(err)
		}
		entries, _ := api.At(k, "status", "inventory", "entries").([]any)
		var kept []any
		for _, e := range entries {
			if api.String(e, "id") != "retail_ahead__ConfigMap" {
				kept = append(kept, e)
			}
		}
		if len(kept) != len(entries)-1 {
			t.Fatalf("%d of %d entries are others", len(kept), len(entries))
		}
		merge(t, hub, tenantsPath+"/status", api.Object{"status": api.Object{"inventory": api.Object{"entries": kept}}})
		expect(t, take(t, s, reader, stack.Names), map[string]string{namespace: "in_inventory", "ConfigMap ahead": "not_in_inventory"})
	})

	t.Run("denied", func(t *testing.T) {
		var credentials []stack.Credential
		for _, name := range stack.Hubs {
			credential, err := s.Clusters[name].User(t.Context(), "nobody", false)
			if err != nil {
				t.Fatal(err)
			}
			credentials = append(credentials, credential)
		}
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		if err := stack.WriteKubeconfig(kubeconfig, credentials...); err != nil {
			t.Fatal(err)
		}
		expect(t, take(t, s, kubeconfig, stack.Hubs), map[string]string{namespace: "abstain denied", "ConfigMap ahead": "abstain denied"})
	})

	t.Run("not asked", func(t *testing.T) {
		expect(t, take(t, s, reader, []string{stack.HubWest}), map[string]string{namespace: "abstain not_asked"})
	})

	// It prunes nothing when it goes, so the spoke stays as it is.
	t.Run("deleted", func(t *testing.T) {
		merge(t, hub, tenantsPath, api.Object{"spec": api.Object{"deletionPolicy": "Orphan"}})
		settle(t, s)
		if err := hub.Client.Delete(t.Context(), tenantsPath); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
			if _, err := hub.Client.Get(t.Context(), tenantsPath); api.IsCode(err, 404) {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("it is not deleted: %v", err)
			}
		}
		c := take(t, s, reader, stack.Names)
		expect(t, c, map[string]string{namespace: "abstain controller_missing"})
	})
}

// declare adds a ConfigMap to what tenants declares.
func declare(t *testing.T, s *stack.Stack, name string) {
	t.Helper()
	dir := filepath.Join(s.Repository, "tenants", "overlays", "aks-weu-prod")
	o := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  namespace: retail\n"
	if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(o), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kustomization.yaml")
	layer, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	layer = []byte(strings.Replace(string(layer), "resources:\n", "resources:\n- "+name+".yaml\n", 1))
	if err := os.WriteFile(path, layer, 0o644); err != nil {
		t.Fatal(err)
	}
}

// push has the hubs follow what the clone holds.
func push(t *testing.T, s *stack.Stack) {
	t.Helper()
	if status, err := s.Git(t.Context(), "status", "--porcelain"); err != nil {
		t.Fatal(err)
	} else if status != "" {
		if _, err := s.Push(t.Context(), "More"); err != nil {
			t.Fatal(err)
		}
	} else if _, err := s.Git(t.Context(), "push", "-q", "server", "main"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if err := s.Follow(ctx); err != nil {
		t.Fatal(err)
	}
}

func settle(t *testing.T, s *stack.Stack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if err := s.Settle(ctx); err != nil {
		t.Fatal(err)
	}
}

func merge(t *testing.T, c *stack.Cluster, path string, patch api.Object) {
	t.Helper()
	if _, err := c.Client.Merge(t.Context(), path, patch); err != nil {
		t.Fatal(err)
	}
}

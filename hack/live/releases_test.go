package main

import (
	"context"
	"testing"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// What the chart of a HelmRelease on the hub installed on the spoke is in its
// inventory, and what the same release left behind is told from it. There is no
// helm-controller here: the test installs, and writes the status that one
// writes (helm-controller 1.5 and later) into the real definition's subresource.
func TestReleaseInventory(t *testing.T) {
	s := clusters(t)
	reader := granted(t, s)
	hub, spoke := s.Clusters[stack.HubEast], s.Clusters[stack.AKS]
	const release = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/aks-weu-prod/helmreleases/ingress-nginx"

	for _, name := range []string{"ingress-nginx-controller", "ingress-nginx-old"} {
		o := api.Object{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": api.Object{
				"name": name, "namespace": "ingress",
				"labels":      api.Object{"app.kubernetes.io/managed-by": "Helm", "helm.toolkit.fluxcd.io/name": "ingress-nginx", "helm.toolkit.fluxcd.io/namespace": "aks-weu-prod"},
				"annotations": api.Object{"meta.helm.sh/release-name": "ingress-nginx", "meta.helm.sh/release-namespace": "ingress"},
			},
			"data": api.Object{"allow-snippet-annotations": "false"},
		}
		path := "/api/v1/namespaces/ingress/configmaps/" + name
		if err := spoke.Namespace(t.Context(), "ingress"); err != nil {
			t.Fatal(err)
		}
		if _, err := spoke.Client.Apply(t.Context(), path, "helm-controller", o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := spoke.Client.Delete(context.Background(), path); err != nil {
				t.Error(err)
			}
		})
	}
	status := func(entries []any) {
		t.Helper()
		o, err := hub.Client.Get(t.Context(), release)
		if err != nil {
			t.Fatal(err)
		}
		merge(t, hub, release+"/status", api.Object{"status": api.Object{
			"observedGeneration": api.At(o, "metadata", "generation"),
			"conditions": []any{api.Object{
				"type": "Ready", "status": "True", "reason": "InstallSucceeded", "message": "installed",
				"lastTransitionTime": "2026-11-01T00:00:00Z", "observedGeneration": api.At(o, "metadata", "generation"),
			}},
			"inventory": api.Object{"entries": entries},
		}})
	}
	controller := api.Object{"id": "ingress_ingress-nginx-controller__ConfigMap", "v": "v1"}

	row := func(c census, name string) record {
		t.Helper()
		for _, r := range c.lines(t, "ownership.jsonl") {
			if text(r, "cluster") == stack.AKS && text(r, "namespace") == "ingress" && text(r, "name") == name {
				return r
			}
		}
		t.Fatalf("nothing is said of ConfigMap %s", name)
		return nil
	}
	status([]any{controller})
	c := take(t, s, reader, stack.Names)
	for name, want := range map[string][3]string{
		"ingress-nginx-controller": {"in_inventory", "flux", "hub-east: HelmRelease aks-weu-prod/ingress-nginx"},
		"ingress-nginx-old":        {"not_in_inventory", "flux_leftover", "hub-east: HelmRelease aks-weu-prod/ingress-nginx"},
	} {
		r := row(c, name)
		if got := [3]string{text(r, "verdict"), text(r, "maker"), text(r, "maker_name")}; got != want {
			t.Errorf("%s: %q, want %q; evidence: %s", name, got, want, text(r, "evidence"))
		}
	}

	// An inventory that lists it no more makes it a leftover too.
	status([]any{})
	if r := row(take(t, s, reader, stack.Names), "ingress-nginx-controller"); text(r, "verdict") != "not_in_inventory" {
		t.Errorf("listed no more: %s %s", text(r, "verdict"), text(r, "reason"))
	}
}

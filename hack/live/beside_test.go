package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// Objects made beside Flux are found, and attributed to who made them.
func TestBesideFlux(t *testing.T) {
	s := clusters(t)
	spoke := s.Clusters[stack.AKS]
	archive, err := txtar.ParseFile(filepath.Join("testdata", "beside.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		first, _, _ := strings.Cut(strings.TrimPrefix(string(f.Data), "# "), "\n")
		manager, maker, _ := strings.Cut(first, ": ")
		var o api.Object
		if err := yaml.Unmarshal(f.Data, &o); err != nil {
			t.Fatal(err)
		}
		path, err := spoke.Client.PathOf(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spoke.Client.Apply(t.Context(), path, manager, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := spoke.Client.Delete(context.Background(), path); err != nil {
				t.Error(err)
			}
		})
		want[api.String(o, "kind")+" "+api.String(o, "metadata", "name")] = maker
	}
	owned(t, spoke, want)

	c := take(t, s, granted(t, s), stack.Names)
	got := map[string]record{}
	for _, r := range c.lines(t, "ownership.jsonl") {
		// A row without a name counts what every namespace has.
		if text(r, "cluster") == stack.AKS && text(r, "namespace") == "retail" && text(r, "name") != "" {
			got[text(r, "kind")+" "+text(r, "name")] = r
		}
	}
	for object, maker := range want {
		r := got[object]
		if r == nil {
			t.Errorf("%s is not found", object)
			continue
		}
		if text(r, "verdict") != "not_in_inventory" {
			t.Errorf("%s: %s, %s", object, text(r, "verdict"), text(r, "reason"))
		}
		kind, name, _ := strings.Cut(maker, ", ")
		if text(r, "maker") != kind || name != "" && text(r, "maker_name") != name {
			t.Errorf("%s was made by %s %s, want %s; evidence: %s", object, text(r, "maker"), text(r, "maker_name"), maker, text(r, "evidence"))
		}
	}
	for object := range got {
		if _, made := want[object]; !made {
			t.Errorf("%s is found, and nobody made it", object)
		}
	}
	claims := false
	for _, f := range c.lines(t, "findings.jsonl") {
		claims = claims || strings.Contains(text(f, "rule"), "label") && text(f, "cluster") == stack.AKS
	}
	if !claims {
		t.Error("no finding says that labels claim Flux and the inventory does not")
	}
}

// owned adds an object whose owner is in an inventory, as a controller makes
// it.
func owned(t *testing.T, spoke *stack.Cluster, want map[string]string) {
	t.Helper()
	ctx := t.Context()
	list, err := spoke.Client.Get(ctx, "/api/v1/namespaces/retail/serviceaccounts?labelSelector=kustomize.toolkit.fluxcd.io/name")
	if err != nil {
		t.Fatal(err)
	}
	accounts := api.Items(list)
	if len(accounts) == 0 {
		t.Fatal("Flux applied no ServiceAccount in retail")
	}
	owner := accounts[0]
	o := api.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": api.Object{
			"name": "owned", "namespace": "retail",
			// Operators copy labels to what they make.
			"labels": api.At(owner, "metadata", "labels"),
			"ownerReferences": []any{api.Object{
				"apiVersion": "v1", "kind": "ServiceAccount", "controller": true,
				"name": api.String(owner, "metadata", "name"), "uid": api.String(owner, "metadata", "uid"),
			}},
		},
	}
	const path = "/api/v1/namespaces/retail/configmaps/owned"
	if _, err := spoke.Client.Apply(ctx, path, "some-operator", o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := spoke.Client.Delete(context.Background(), path); err != nil {
			t.Error(err)
		}
	})
	want["ConfigMap owned"] = "owner"
}

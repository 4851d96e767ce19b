package main

import (
	"strings"
	"testing"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// outside is why a Kustomization is not ready that is right as far as git goes:
// what stands in the way is in no repository. The controller's message has to
// hold the text.
var outside = map[string]string{
	"hub-east aks-weu-prod/apps":                 `secrets "sops-age" not found`,
	"hub-east aks-weu-prod/web":                  "dependency 'aks-weu-prod/apps' is not ready",
	"hub-east aks-weu-stage/platform":            "unable to read KubeConfig secret 'aks-weu-stage/cluster-kubeconfig'",
	"hub-east aks-weu-stage/addons":              "dependency 'aks-weu-stage/platform' is not ready",
	"hub-east aks-weu-stage/tenants":             "dependency 'aks-weu-stage/platform' is not ready",
	"hub-east aks-weu-stage/apps":                "dependency 'aks-weu-stage/tenants' is not ready",
	"hub-east aks-weu-stage/web":                 "dependency 'aks-weu-stage/apps' is not ready",
	"hub-west flux-system/aks-neu-prod-platform": "failed to get access token for cluster",
	"hub-west flux-system/aks-neu-prod-azure":    "failed to get access token for cluster",
	"hub-west flux-system/aks-neu-prod-tenants":  "failed to get access token for cluster",
	"hub-west flux-system/aks-neu-prod-addons":   "dependency 'flux-system/aks-neu-prod-platform' is not ready",
	"hub-west flux-system/aks-neu-prod-apps":     "dependency 'flux-system/aks-neu-prod-tenants' is not ready",
	// Pushed to a registry that there is not.
	"hub-west flux-system/ocp-edge-artifact": "Source artifact not found",
}

// What the census says of each Kustomization from git alone is what the real
// controllers find: what it resolves they build and apply, unless something
// outside of git stands in the way, and what it says fails does, for the same
// cause. What it does not know (another repository, another branch) is not
// compared.
func TestStatesEqualControllers(t *testing.T) {
	s := clusters(t)
	live := map[string]api.Object{}
	for _, hub := range stack.Hubs {
		list, err := s.Clusters[hub].Client.Get(t.Context(), stack.KustomizationsPath)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range api.Items(list) {
			live[hub+" "+api.String(k, "metadata", "namespace")+"/"+api.String(k, "metadata", "name")] = k
		}
	}
	c := take(t, s, granted(t, s), nil)
	compared := map[string]int{}
	for _, k := range c.lines(t, "kustomizations.jsonl") {
		hub := text(k, "cluster")
		name := hub + " " + text(k, "namespace") + "/" + text(k, "name")
		if hub != stack.HubEast && hub != stack.HubWest {
			continue // nobody reconciles it here
		}
		object := live[name]
		if object == nil {
			t.Errorf("%s is not on the hub", name)
			continue
		}
		delete(live, name)
		ready, reason, message := readiness(object)
		ok := false
		state := text(k, "state")
		switch state {
		case "resolved":
			if why := outside[name]; why != "" {
				ok = ready == "False" && strings.Contains(message, why)
				state = "outside"
			} else {
				ok = ready == "True"
			}
		case "failed":
			ok = ready == "False" && reason == "BuildFailed"
		case "path_missing":
			ok = ready == "False" && reason == "ArtifactFailed" && strings.Contains(message, "kustomization path not found")
		case "suspended":
			ok = ready == ""
		case "unresolved":
			// Of a source that is not there one can at least see that it is not.
			if text(k, "reason") != "source_not_found" {
				continue
			}
			ok = ready == "False" && strings.Contains(message, "not found")
		default:
			continue
		}
		compared[state]++
		if !ok {
			t.Errorf("%s: the census says %s %s, the controller %q %s: %s", name, text(k, "state"), text(k, "reason"), ready, reason, message)
		}
	}
	for name := range live {
		t.Errorf("%s is on the hub and not in the census", name)
	}
	t.Logf("%v", compared)
	for _, state := range []string{"resolved", "outside", "failed", "path_missing", "suspended", "unresolved"} {
		if compared[state] == 0 {
			t.Errorf("nothing that is %s was compared", state)
		}
	}
}

// readiness is the condition Ready of an object.
func readiness(o api.Object) (status, reason, message string) {
	conditions, _ := api.At(o, "status", "conditions").([]any)
	for _, c := range conditions {
		if api.String(c, "type") == "Ready" {
			return api.String(c, "status"), api.String(c, "reason"), api.String(c, "message")
		}
	}
	return "", "", ""
}

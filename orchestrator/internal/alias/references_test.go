package alias

import (
	"slices"
	"testing"
)

// TestReferences: a cluster that nothing names is called after the Secret or
// ConfigMap that leads to it. That name is the cluster's own most often, and
// gets an alias wherever it stands; one that says only what it is does not.
func TestReferences(t *testing.T) {
	known := Known{Clusters: map[string]string{
		"hub":                                     "hub",
		"clusters/prod":                           "hub", // a name with a slash is no reference
		"hub/flux-system/store-berlin":            "spoke",
		"hub/flux-system/store-berlin#other-key":  "spoke",
		"hub/flux-system/store-oslo (ConfigMap)":  "spoke",
		"hub/flux-system/kubeconfig":              "spoke",
		"hub/flux-system/Cluster-Kubeconfig":      "spoke",
		"hub/flux-system/remote_target.value":     "spoke",
		"east/tenants/paris-kubeconfig":           "spoke",
		"clusters/east/tenants/lisbon#kubeconfig": "spoke",
	}}
	got := known.references()
	if want := []string{"lisbon", "paris-kubeconfig", "store-berlin", "store-oslo"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

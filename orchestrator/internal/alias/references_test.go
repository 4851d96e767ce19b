package alias

import (
	"slices"
	"testing"
)

// TestReferences: a cluster that nothing names is called after the Secret or
// ConfigMap that leads to it. That name is the cluster's own most often, and
// gets an alias wherever it stands, also when the user named the cluster; one that
// says only what it is does not, and neither does one that holds the name of a
// cluster.
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
	}, References: []string{
		"Secret flux-system/athens-admin#value", "ConfigMap flux-system/kubeconfig", "Secret flux-system/hub-reader",
		"Secret east/rome", "Secret prod/athens-admin",
	}}
	got := known.references()
	if want := []string{"athens-admin", "lisbon", "paris-kubeconfig", "rome", "store-berlin", "store-oslo"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

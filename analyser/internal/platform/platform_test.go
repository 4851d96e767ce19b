package platform

import (
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
)

func text(s string) *string { return &s }

// TestTell: who decides, who is only shown, and what contradicts what. The
// answers follow from the authority that the package names: OpenShift's objects,
// Harvester's group, the server's version, AKS's labels; nothing else decides.
func TestTell(t *testing.T) {
	version := func(v string) *observed.Access {
		return &observed.Access{Outcome: observed.OK, ServerVersion: v}
	}
	label := func(key, value string) observed.NodeLabel {
		return observed.NodeLabel{Key: key, Value: value, Nodes: 1}
	}
	serves := func(k object.GroupKind) func(*observed.Cluster) {
		return func(c *observed.Cluster) { c.Serve(k, "v1", false) }
	}
	absent := func(k object.GroupKind, name string) func(*observed.Cluster) {
		return func(c *observed.Cluster) {
			c.Read(observed.Reading{GroupKind: k, Name: name, Outcome: observed.NotFound})
		}
	}
	for _, c := range []struct {
		about             string
		cluster           observed.Cluster
		then              []func(*observed.Cluster)
		flavour, platform string
	}{
		{about: "nothing", flavour: Unknown, platform: Unknown},
		{about: "k3s by the server", cluster: observed.Cluster{Access: version("v1.31.4+k3s1")}, flavour: K3s, platform: Unknown},
		{about: "RKE2 by the server", cluster: observed.Cluster{Access: version("v1.29.5+rke2r1")}, flavour: RKE2, platform: Unknown},
		{about: "another build", cluster: observed.Cluster{Access: version("v1.29.5-gke.100")}, flavour: Unknown, platform: Unknown},
		{about: "the suffix is after the plus", cluster: observed.Cluster{Access: version("v1.29.5-k3s1")}, flavour: Unknown, platform: Unknown},
		{
			about:   "nodes decide only where the server does not say",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 1, KubeletVersions: map[string]int{"v1.31.4+k3s1": 1}}},
			flavour: K3s, platform: Unknown,
		},
		{
			about:   "the server overrules its nodes",
			cluster: observed.Cluster{Access: version("v1.29.5+rke2r1"), Nodes: &observed.Nodes{Count: 1, KubeletVersions: map[string]int{"v1.31.4+k3s1": 1}}},
			flavour: RKE2, platform: Unknown,
		},
		{
			about:   "nodes that differ decide nothing",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 2, KubeletVersions: map[string]int{"v1.31.4+k3s1": 1, "v1.29.5+rke2r1": 1}}},
			flavour: Unknown, platform: Unknown,
		},
		{
			about:   "a marker where no version is known",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 1, NodeAnnotated: map[string]int{"rke2.io/node-args": 1}}},
			flavour: RKE2, platform: Unknown,
		},
		{
			about:   "a marker beside a version",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 1, KubeletVersions: map[string]int{"v1.31.4": 1}, NodeAnnotated: map[string]int{"rke2.io/node-args": 1}}},
			flavour: Unknown, platform: Unknown,
		},
		{
			about:   "AKS by its label",
			cluster: observed.Cluster{Access: version("v1.30.3"), Nodes: &observed.Nodes{Count: 1, Labels: []observed.NodeLabel{label("kubernetes.azure.com/agentpool", "np")}}},
			flavour: AKS, platform: "Azure",
		},
		{
			about:   "not by another one, nor by a provider's scheme",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 1, Schemes: map[string]int{"azure": 1}, Labels: []observed.NodeLabel{label("kubernetes.azure.com/mode", "system")}}},
			flavour: Unknown, platform: Unknown,
		},
		{
			about: "Harvester is made of RKE2", cluster: observed.Cluster{Access: version("v1.29.5+rke2r1")},
			then:    []func(*observed.Cluster){serves(object.GroupKind{Group: "harvesterhci.io", Kind: "Setting"})},
			flavour: Harvester, platform: Unknown,
		},
		{
			about:   "Harvester and AKS contradict each other",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 1, Labels: []observed.NodeLabel{label("harvesterhci.io/managed", "true"), label("kubernetes.azure.com/cluster", "x")}}},
			flavour: Unknown, platform: Unknown,
		},
		{
			about:   "Harvester's mark must be true",
			cluster: observed.Cluster{Nodes: &observed.Nodes{Count: 1, Labels: []observed.NodeLabel{label("harvesterhci.io/managed", "false")}}},
			flavour: Unknown, platform: Unknown,
		},
		{
			about:   "OpenShift, the platform by its type",
			cluster: observed.Cluster{Infrastructure: &observed.Infrastructure{Type: text("VSphere"), Platform: "None"}},
			flavour: OpenShift, platform: "VSphere",
		},
		{
			about:   "by the deprecated field where there is no type",
			cluster: observed.Cluster{Infrastructure: &observed.Infrastructure{Platform: "BareMetal"}},
			flavour: OpenShift, platform: "BareMetal",
		},
		{
			about:   "OpenShift that names no platform",
			cluster: observed.Cluster{ClusterVersion: &observed.ClusterVersion{Desired: "4.16.3"}, Infrastructure: &observed.Infrastructure{Type: text("")}},
			flavour: OpenShift, platform: Unknown,
		},
		{
			about:   "the group alone, where nobody asked for the objects",
			then:    []func(*observed.Cluster){serves(clusterVersion)},
			flavour: OpenShift, platform: Unknown,
		},
		{
			about:   "definitions without the object",
			then:    []func(*observed.Cluster){serves(clusterVersion), absent(clusterVersion, "version")},
			flavour: Unknown, platform: Unknown,
		},
	} {
		set := &observed.Set{}
		x := set.Add("hub")
		x.Access, x.Nodes, x.Infrastructure, x.ClusterVersion = c.cluster.Access, c.cluster.Nodes, c.cluster.Infrastructure, c.cluster.ClusterVersion
		for _, f := range c.then {
			f(x)
		}
		if got := Tell(x); got.Flavour != c.flavour || got.Platform != c.platform {
			t.Errorf("%s: %s on %s, want %s on %s; %+v", c.about, got.Flavour, got.Platform, c.flavour, c.platform, got.Signals)
		}
	}
}

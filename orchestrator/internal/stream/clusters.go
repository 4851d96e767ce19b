package stream

import (
	"slices"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// collect notes the names of clusters that a message uses.
func (c *check) collect(m *reachv1.CensusResponse) {
	switch e := m.GetEvent().(type) {
	case *reachv1.CensusResponse_Sync:
		c.use(e.Sync.GetTrace(), e.Sync.GetCluster(), e.Sync.GetTarget())
	case *reachv1.CensusResponse_Release:
		c.use(e.Release.GetTrace(), e.Release.GetCluster(), e.Release.GetTarget())
	case *reachv1.CensusResponse_Placement:
		c.use(e.Placement.GetTrace(), e.Placement.GetCluster(), e.Placement.GetControllerCluster())
	case *reachv1.CensusResponse_Object:
		c.use(nil, e.Object.GetCluster(), e.Object.GetControllerCluster())
	case *reachv1.CensusResponse_Live:
		c.use(nil, e.Live.GetCluster())
	case *reachv1.CensusResponse_Finding:
		c.use(e.Finding.GetTrace(), e.Finding.GetCluster())
	case *reachv1.CensusResponse_Coverage:
		c.use(nil, e.Coverage.GetClusters()...)
	case *reachv1.CensusResponse_Summary:
		for _, cluster := range e.Summary.GetClusters() {
			c.use(nil, cluster.GetName(), cluster.GetControllerCluster())
			for _, r := range cluster.GetReferences() {
				c.use(nil, r.GetControllerCluster())
			}
		}
		for _, root := range e.Summary.GetRoots() {
			c.use(nil, root.GetCluster())
		}
	}
}

func (c *check) use(trace []*reachv1.Hop, names ...string) {
	for _, name := range names {
		c.cluster(name)
	}
	for _, hop := range trace {
		c.cluster(hop.GetCluster())
	}
}

// cluster notes a name. The same ones come in a row.
func (c *check) cluster(name string) {
	if name != "" && name != c.lastCluster && !c.clusters[name] {
		c.clusters[name] = true
		c.held += len(name) + 64
	}
	c.lastCluster = name
}

// clusterRoles gives every name its role.
func (c *check) clusterRoles() map[string]string {
	roles := map[string]string{}
	for name := range c.clusters {
		if name != "" {
			roles[name] = "cluster"
		}
	}
	for _, cluster := range c.summary.GetClusters() {
		if cluster.GetKubeconfig() != "" {
			roles[cluster.GetName()] = "spoke"
		}
	}
	for _, cluster := range c.summary.GetClusters() {
		for _, hub := range ControllerClusters(cluster) {
			roles[hub] = "hub"
		}
	}
	return roles
}

// ControllerClusters are the other clusters whose controllers reach a cluster,
// sorted.
func ControllerClusters(c *reachv1.Cluster) []string {
	out := []string{c.GetControllerCluster()}
	for _, r := range c.GetReferences() {
		out = append(out, r.GetControllerCluster())
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { return name == "" || name == c.GetName() })
}

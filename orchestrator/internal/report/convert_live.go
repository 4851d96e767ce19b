package report

import (
	"maps"
	"slices"
	"time"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func liveState(l *reachv1.LiveState) *LiveState {
	if l == nil {
		return nil
	}
	return &LiveState{
		Reason: l.GetReason(), Detail: l.GetDetail(), Suspended: l.GetSuspended(), Ready: l.GetReady(), ReadyReason: l.GetReadyReason(),
		GenerationBehind: l.GetGenerationBehind(), BeingDeleted: l.GetBeingDeleted(),
		AppliedRevision: l.GetAppliedRevision(), AttemptedRevision: l.GetAttemptedRevision(), Revision: l.GetRevision(),
		HasInventory: l.GetHasInventory(), Entries: int(l.GetEntries()), Malformed: int(l.GetMalformed()), Undeclared: int(l.GetUndeclared()),
	}
}

func liveObject(o *reachv1.LiveObject) *LiveObject {
	out := &LiveObject{
		Cluster: o.GetCluster(), Group: o.GetGroup(), Version: o.GetVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		Verdict: word(o.GetVerdict()), Reason: o.GetReason(), Maker: o.GetMaker(), MakerName: o.GetMakerName(), Evidence: o.GetEvidence(),
		Manager: o.GetManager(), Operation: o.GetOperation(), Count: int(o.GetCount()), Declared: o.GetDeclared(),
		Inventories: slices.Clone(o.GetInventories()),
	}
	if t := o.GetTime(); t.CheckValid() == nil {
		out.Time = t.AsTime().UTC().Format(time.RFC3339)
	}
	return out
}

// seen fills in what was seen on a cluster.
func seen(out *Cluster, c *reachv1.Cluster) {
	for _, s := range c.GetSignals() {
		out.Signals = append(out.Signals, Signal{Name: s.GetName(), Value: s.GetValue(), Says: s.GetSays(), Decides: s.GetDecides()})
	}
	for _, r := range c.GetReadings() {
		out.Readings = append(out.Readings, Reading{
			Kind: r.GetKind(), Namespace: r.GetNamespace(), Outcome: r.GetOutcome(), Objects: int(r.GetObjects()), Detail: r.GetDetail(),
		})
	}
	if s := c.GetShape(); s != nil {
		out.Shape = shapeOfCluster(s)
	}
	if r := c.GetRevision(); r != nil {
		out.Revision = &RevisionState{
			State: r.GetState(), Current: int(r.GetCurrent()), Differs: int(r.GetDiffers()), Unknown: int(r.GetUnknown()),
			Applied: ints(r.GetApplied()), Fetched: []SourceRevision{},
		}
		for _, source := range slices.Sorted(maps.Keys(r.GetFetched())) {
			out.Revision.Fetched = append(out.Revision.Fetched, SourceRevision{Source: source, Revision: r.GetFetched()[source]})
		}
	}
}

func shapeOfCluster(s *reachv1.ClusterShape) *ClusterShape {
	out := &ClusterShape{
		ServerVersion: s.GetServerVersion(), Version: s.GetVersion(), Channel: s.GetChannel(),
		ControlPlaneTopology: s.GetControlPlaneTopology(), NetworkType: s.GetNetworkType(), IngressDomains: []IngressDomain{},
		Nodes: int(s.GetNodes()), NodeRoles: ints(s.GetNodeRoles()), Groups: ints(s.GetGroups()),
		Subscriptions: shapeItems(s.GetSubscriptions()), ClusterServiceVersions: shapeItems(s.GetClusterServiceVersions()),
		MachineConfigPools: shapeItems(s.GetMachineConfigPools()), ClusterOperators: shapeItems(s.GetClusterOperators()),
	}
	for _, name := range slices.Sorted(maps.Keys(s.GetIngressDomains())) {
		out.IngressDomains = append(out.IngressDomains, IngressDomain{Name: name, Domain: s.GetIngressDomains()[name]})
	}
	return out
}

func shapeItems(in []*reachv1.ShapeItem) []ShapeItem {
	out := make([]ShapeItem, 0, len(in))
	for _, i := range in {
		out = append(out, ShapeItem{Namespace: i.GetNamespace(), Name: i.GetName(), Version: i.GetVersion(), State: i.GetState()})
	}
	return out
}

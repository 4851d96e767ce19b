package serve

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/ownership"
	"github.com/gitops-reach/reach/analyser/internal/platform"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

var verdicts = map[ownership.Kind]reachv1.VerdictKind{
	ownership.In: reachv1.VerdictKind_VERDICT_KIND_IN_INVENTORY, ownership.NotIn: reachv1.VerdictKind_VERDICT_KIND_NOT_IN_INVENTORY,
	ownership.Abstain: reachv1.VerdictKind_VERDICT_KIND_ABSTAIN,
}

// verdict counts the verdict on a declared object.
func (s *streamer) verdict(v ownership.Verdict) {
	s.counts.ObjectsByVerdict[string(v.Kind)]++
	if v.Kind == ownership.Abstain {
		s.counts.Abstentions[v.Reason]++
	}
}

// live sends what is on the clusters.
func (s *streamer) live() error {
	for i := range s.c.Ownership.Objects {
		o := &s.c.Ownership.Objects[i]
		m := &reachv1.LiveObject{
			Cluster: string(o.Cluster), Group: clean(o.Object.Group), Version: clean(o.Object.Version), Kind: clean(o.Object.Kind),
			Namespace: clean(o.Object.Namespace), Name: clean(o.Object.Name), Verdict: verdicts[o.Kind], Reason: o.Reason,
			Maker: string(o.Maker), MakerName: clean(o.MakerName), Evidence: clean(o.Evidence),
			Manager: clean(o.Manager.Name), Operation: clean(o.Manager.Operation), Count: int32(o.Count), Declared: o.Declared, Inventories: o.Inventories,
		}
		if o.Detail != "" {
			m.Evidence += "; " + clean(o.Detail)
		}
		if !o.Manager.Time.IsZero() && o.Manager.Time.Unix() != 0 {
			m.Time = timestamppb.New(o.Manager.Time)
		}
		s.counts.LiveRecords++
		s.counts.LiveObjectsByMaker[m.Maker] += m.Count
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Live{Live: m}}); err != nil {
			return err
		}
	}
	return nil
}

func liveState(l *ownership.Live) *reachv1.LiveState {
	if l == nil {
		return nil
	}
	return &reachv1.LiveState{
		Reason: l.Reason, Detail: clean(l.Detail), Suspended: l.Suspended, Ready: clean(l.Ready), ReadyReason: clean(l.ReadyReason),
		GenerationBehind: l.GenerationBehind, AppliedRevision: clean(l.AppliedRevision), AttemptedRevision: clean(l.AttemptedRevision),
		Revision: string(l.Revision), HasInventory: l.HasInventory, Entries: int32(l.Entries), Malformed: int32(l.Malformed),
		Undeclared: int32(l.Undeclared), BeingDeleted: l.BeingDeleted,
	}
}

// seen fills in what was seen on a cluster.
func seen(m *reachv1.Cluster, c *census.Cluster) {
	if c.Observed == nil {
		return
	}
	m.Flavour, m.Platform, m.Signals = c.Flavour, clean(c.Platform), signals(c.Signals)
	for _, r := range c.Observed.Readings {
		m.Readings = append(m.Readings, &reachv1.ReadingResult{
			Kind: clean(r.GroupKind.String()), Namespace: clean(r.Namespace), Outcome: string(r.Outcome), Objects: r.Objects, Detail: clean(r.Detail),
		})
	}
	m.Shape = shape(c.Observed)
	if r := c.Revision; r != nil {
		m.Revision = &reachv1.RevisionState{
			State: string(r.State), Current: int32(r.Current), Differs: int32(r.Differs), Unknown: int32(r.Unknown),
			Applied: counts(r.Applied), Fetched: map[string]string{},
		}
		for k, v := range r.Fetched {
			m.Revision.Fetched[clean(k)] = clean(v)
		}
	}
}

func signals(in []platform.Signal) []*reachv1.Signal {
	var out []*reachv1.Signal
	for _, s := range in {
		out = append(out, &reachv1.Signal{Name: s.Name, Value: clean(s.Value), Says: clean(s.Says), Decides: s.Decides})
	}
	return out
}

func shape(o *observed.Cluster) *reachv1.ClusterShape {
	out := &reachv1.ClusterShape{
		NetworkType: clean(o.Network), IngressDomains: map[string]string{}, Groups: counts(o.Groups()),
		Subscriptions: items(o.Subscriptions), ClusterServiceVersions: items(o.ServiceVersions),
		MachineConfigPools: items(o.Pools), ClusterOperators: items(o.Operators),
	}
	if o.Access != nil {
		out.ServerVersion = clean(o.Access.ServerVersion)
	}
	if v := o.ClusterVersion; v != nil {
		out.Version, out.Channel = clean(v.Desired), clean(v.Channel)
	}
	if i := o.Infrastructure; i != nil {
		out.ControlPlaneTopology = clean(i.ControlPlane)
	}
	for k, v := range o.Ingress {
		out.IngressDomains[clean(k)] = clean(v)
	}
	if n := o.Nodes; n != nil {
		out.Nodes, out.NodeRoles = int32(n.Count), counts(n.Roles)
	}
	return out
}

func items(in []observed.Item) []*reachv1.ShapeItem {
	var out []*reachv1.ShapeItem
	for _, i := range in {
		out = append(out, &reachv1.ShapeItem{Namespace: clean(i.Namespace), Name: clean(i.Name), Version: clean(i.Version), State: clean(i.State)})
	}
	return out
}

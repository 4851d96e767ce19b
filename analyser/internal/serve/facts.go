package serve

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Facts takes in what a client saw on clusters.
func (s *Service) Facts(in reachv1.AnalyserService_FactsServer) error {
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return in.SendAndClose(s.facts.told())
		}
		if err != nil {
			return err
		}
		if n := proto.Size(m); n > reachv1.MaxFactsBytes {
			return status.Errorf(codes.ResourceExhausted, "a message of facts has %d bytes, at most %d are taken", n, reachv1.MaxFactsBytes)
		}
		for _, f := range m.GetFacts() {
			if err := s.facts.add(f); err != nil {
				return err
			}
		}
	}
}

// collector keeps the facts of a process until a census wants them.
type collector struct {
	mu      sync.Mutex
	set     observed.Set
	facts   int64
	unknown int64
	kept    int
	// taken is set when a census has begun: facts may not change under it.
	taken bool
}

// take is the set for a census; nil when nothing was told.
func (c *collector) take() *observed.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = true
	if c.facts == 0 {
		return nil
	}
	c.set.Settle()
	return &c.set
}

func (c *collector) told() *reachv1.FactsResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &reachv1.FactsResponse{Facts: c.facts, Unknown: c.unknown}
	for _, n := range c.set.Names() {
		on := c.set.On(n)
		m.Clusters = append(m.Clusters, clean(string(n)))
		if on.Access == nil {
			m.Problems = append(m.Problems, "nothing says how "+clean(string(n))+" was read")
		}
		for _, k := range slices.SortedFunc(maps.Keys(on.Holders), object.Key.Compare) {
			if h := on.Holders[k]; !h.Whole() {
				m.Problems = append(m.Problems, fmt.Sprintf("the inventory of %s on %s has %d entries, %d were told", clean(k.String()), clean(string(n)), h.Announced, len(h.Entries)+len(h.Malformed)))
			}
		}
	}
	return m
}

// keep counts what grows with the size of a cluster.
func (c *collector) keep(n int) error {
	if c.kept += n; c.kept > reachv1.MaxFacts {
		return status.Errorf(codes.ResourceExhausted, "the facts hold more than %d objects and entries of inventories", reachv1.MaxFacts)
	}
	return nil
}

func (c *collector) add(f *reachv1.Fact) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken {
		return status.Error(codes.FailedPrecondition, "facts must come before the census")
	}
	if f.GetCluster() == "" {
		return status.Error(codes.InvalidArgument, "a fact names no cluster")
	}
	if f.GetFact() == nil {
		c.unknown++
		return nil
	}
	c.facts++
	on := c.set.Add(cluster.Name(f.GetCluster()))
	switch x := f.GetFact().(type) {
	case *reachv1.Fact_Access:
		on.Access = &observed.Access{Outcome: outcome(x.Access.GetOutcome()), Detail: x.Access.GetDetail(), ServerVersion: x.Access.GetServerVersion()}
	case *reachv1.Fact_Discovery:
		on.Discovery = &observed.Discovery{Outcome: outcome(x.Discovery.GetOutcome()), Detail: x.Discovery.GetDetail(), Missing: x.Discovery.GetMissing()}
	case *reachv1.Fact_Served:
		for _, k := range x.Served.GetKinds() {
			on.Serve(object.GroupKind{Group: k.GetGroup(), Kind: k.GetKind()}, k.GetVersion(), k.GetNamespaced())
		}
		return c.keep(len(x.Served.GetKinds()))
	case *reachv1.Fact_Reading:
		on.Read(reading(x.Reading))
		return c.keep(1)
	case *reachv1.Fact_Controller:
		on.Saw(observed.Controller{
			Name: x.Controller.GetName(), Namespace: x.Controller.GetNamespace(), Version: strings.TrimPrefix(x.Controller.GetVersion(), "v"),
			FeatureGates: x.Controller.GetFeatureGates(), Args: x.Controller.GetArgs(), Ready: int(x.Controller.GetReadyReplicas()),
		})
		return c.keep(1)
	case *reachv1.Fact_Source:
		s := x.Source
		on.Sources[object.Key{Group: s.GetGroup(), Kind: s.GetKind(), Namespace: s.GetNamespace(), Name: s.GetName()}] = &observed.Source{
			Revision: s.GetRevision(), OriginRevision: s.GetOriginRevision(), URL: s.GetUrl(), Ref: s.GetRef(), Suspend: s.GetSuspend(),
		}
		return c.keep(1)
	case *reachv1.Fact_Holder:
		h := holder(x.Holder)
		on.Holders[h.Object.Key()] = h
		return c.keep(1)
	case *reachv1.Fact_Entries:
		return c.entries(on, x.Entries)
	case *reachv1.Fact_Present:
		for _, o := range x.Present.GetObjects() {
			on.Present = append(on.Present, present(o))
		}
		return c.keep(len(x.Present.GetObjects()))
	default:
		return c.shape(on, f)
	}
	return nil
}

func (c *collector) entries(on *observed.Cluster, m *reachv1.InventoryEntries) error {
	k := keyOf(m.GetHolder())
	h := on.Holders[k]
	if h == nil {
		return status.Errorf(codes.InvalidArgument, "entries of an inventory come before the object that has it: %s on %s", clean(k.String()), clean(string(on.Name)))
	}
	for _, e := range m.GetEntries() {
		h.Add(e.GetId(), e.GetV())
	}
	return c.keep(len(m.GetEntries()))
}

// shape takes what tells how a cluster is built.
func (c *collector) shape(on *observed.Cluster, f *reachv1.Fact) error {
	switch x := f.GetFact().(type) {
	case *reachv1.Fact_Infrastructure:
		i := x.Infrastructure
		on.Infrastructure = &observed.Infrastructure{
			Type: i.PlatformStatusType, Platform: i.GetPlatform(), ControlPlane: i.GetControlPlaneTopology(), Topology: i.GetInfrastructureTopology(),
		}
	case *reachv1.Fact_ClusterVersion:
		v := x.ClusterVersion
		on.ClusterVersion = &observed.ClusterVersion{Desired: v.GetDesired(), Completed: v.GetCompleted(), Channel: v.GetChannel()}
	case *reachv1.Fact_Nodes:
		on.Nodes = nodes(x.Nodes)
	case *reachv1.Fact_Ingress:
		if on.Ingress == nil {
			on.Ingress = map[string]string{}
		}
		on.Ingress[x.Ingress.GetName()] = x.Ingress.GetDomain()
	case *reachv1.Fact_Network:
		on.Network = x.Network.GetType()
	case *reachv1.Fact_ClusterOperator:
		on.Operators = append(on.Operators, clusterOperator(x.ClusterOperator))
	case *reachv1.Fact_Subscription:
		s := x.Subscription
		on.Subscriptions = append(on.Subscriptions, observed.Item{
			Namespace: s.GetNamespace(), Name: s.GetName(), Version: s.GetInstalledCsv(),
			State: joinWords(s.GetPackage(), s.GetChannel(), s.GetState()),
		})
	case *reachv1.Fact_ClusterServiceVersion:
		v := x.ClusterServiceVersion
		on.ServiceVersions = append(on.ServiceVersions, observed.Item{Namespace: v.GetNamespace(), Name: v.GetName(), Version: v.GetVersion(), State: v.GetPhase()})
	case *reachv1.Fact_MachineConfigPool:
		on.Pools = append(on.Pools, machineConfigPool(x.MachineConfigPool))
	}
	return c.keep(1)
}

func joinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

func clusterOperator(o *reachv1.ClusterOperatorFact) observed.Item {
	out := observed.Item{Name: o.GetName(), Version: o.GetVersion(), State: "unknown"}
	for _, c := range o.GetConditions() {
		switch {
		case c.GetType() == "Degraded" && c.GetStatus() == "True":
			out.State = "degraded"
			return out
		case c.GetType() == "Available" && c.GetStatus() == "True":
			out.State = "available"
		case c.GetType() == "Available" && c.GetStatus() == "False":
			out.State = "unavailable"
		}
	}
	return out
}

func machineConfigPool(p *reachv1.MachineConfigPoolFact) observed.Item {
	state := fmt.Sprintf("%d of %d machines updated", p.GetUpdatedMachines(), p.GetMachines())
	if n := p.GetDegradedMachines(); n > 0 {
		state += fmt.Sprintf(", %d degraded", n)
	}
	if p.GetPaused() {
		state += ", paused"
	}
	return observed.Item{Name: p.GetName(), Version: p.GetConfiguration(), State: state}
}

// outcome is the code of the output contract: the name of the enum value in
// lower case.
func outcome(o reachv1.Outcome) observed.Outcome {
	switch o {
	case reachv1.Outcome_OUTCOME_UNSPECIFIED:
		return "malformed"
	case reachv1.Outcome_OUTCOME_OK:
		return observed.OK
	}
	name, ok := reachv1.Outcome_name[int32(o)]
	if !ok {
		return "malformed"
	}
	return observed.Outcome(strings.ToLower(strings.TrimPrefix(name, "OUTCOME_")))
}

func reading(r *reachv1.Reading) observed.Reading {
	return observed.Reading{
		GroupKind: object.GroupKind{Group: r.GetGroup(), Kind: r.GetKind()}, Namespace: r.GetNamespace(), Name: r.GetName(),
		Selector: r.GetSelector(), Outcome: outcome(r.GetOutcome()), Detail: r.GetDetail(), Objects: r.GetObjects(),
	}
}

func keyOf(r *reachv1.ObjectReference) object.Key {
	return object.Key{Group: r.GetGroup(), Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}
}

func holder(m *reachv1.InventoryHolder) *observed.Holder {
	h := &observed.Holder{
		Object:     object.Ref{Group: m.GetGroup(), Version: m.GetVersion(), Kind: m.GetKind(), Namespace: m.GetNamespace(), Name: m.GetName()},
		Generation: m.GetGeneration(), ObservedGeneration: m.GetObservedGeneration(),
		Suspend: m.GetSuspend(), Prune: m.Prune, Deleting: m.GetDeleted() != nil, Deletion: m.GetDeletionPolicy(),
		Source: keyOf(m.GetSource()), LastApplied: m.GetLastAppliedRevision(), LastAttempted: m.GetLastAttemptedRevision(),
		LastOrigin: m.GetLastAppliedOriginRevision(), ReleaseName: m.GetReleaseName(), ReleaseNamespace: m.GetTargetNamespace(),
		HasInventory: m.GetHasInventory(), Announced: m.GetEntries(), Labels: m.GetLabels(),
	}
	if r := m.GetRelease(); r.GetName() != "" {
		h.ReleaseName, h.ReleaseNamespace = r.GetName(), r.GetNamespace()
	}
	for _, c := range m.GetConditions() {
		if c.GetType() == "Ready" {
			h.Ready = observed.Condition{Type: c.GetType(), Status: c.GetStatus(), Reason: c.GetReason(), ObservedGeneration: c.GetObservedGeneration()}
		}
	}
	if k := m.GetKubeConfig(); k.GetName() != "" {
		h.KubeConfig = &observed.KubeConfig{Kind: orDefault(k.GetKind(), "Secret"), Namespace: orDefault(k.GetNamespace(), m.GetNamespace()), Name: k.GetName(), Key: m.GetKubeConfigKey()}
	}
	return h
}

func present(m *reachv1.PresentObject) observed.Present {
	p := observed.Present{
		Object: object.Ref{Group: m.GetGroup(), Version: m.GetVersion(), Kind: m.GetKind(), Namespace: m.GetNamespace(), Name: m.GetName()},
		UID:    m.GetUid(), Labels: m.GetLabels(), Annotations: m.GetAnnotations(),
		Created: m.GetCreated().AsTime(), Deleting: m.GetDeleted() != nil, LastApplied: m.GetHasLastApplied(),
	}
	for _, o := range m.GetOwners() {
		p.Owners = append(p.Owners, observed.Owner{
			Object: object.Ref{Group: o.GetGroup(), Version: o.GetVersion(), Kind: o.GetKind(), Name: o.GetName()},
			UID:    o.GetUid(), Controller: o.GetController(),
		})
	}
	for _, f := range m.GetManagers() {
		p.Managers = append(p.Managers, observed.Manager{Name: f.GetManager(), Operation: f.GetOperation(), Subresource: f.GetSubresource(), Time: f.GetTime().AsTime()})
	}
	return p
}

func nodes(m *reachv1.NodesFact) *observed.Nodes {
	n := &observed.Nodes{
		Count: int(m.GetNodes()), KubeletVersions: ints(m.GetKubeletVersions()), Roles: ints(m.GetRoles()), Schemes: ints(m.GetProviderSchemes()),
		OSImages: ints(m.GetOsImages()), NodeAnnotated: ints(m.GetAnnotations()), CSIDrivers: slices.Sorted(slices.Values(m.GetCsiDrivers())),
	}
	for _, l := range m.GetLabels() {
		n.Labels = append(n.Labels, observed.NodeLabel{Key: l.GetKey(), Value: l.GetValue(), Nodes: int(l.GetNodes())})
	}
	slices.SortFunc(n.Labels, func(a, b observed.NodeLabel) int {
		return strings.Compare(a.Key+"="+a.Value, b.Key+"="+b.Value)
	})
	return n
}

func ints(in map[string]int32) map[string]int {
	out := make(map[string]int, len(in))
	for k, v := range in {
		out[k] = int(v)
	}
	return out
}

package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

type infrastructure struct {
	Status struct {
		Platform       string `json:"platform"`
		PlatformStatus *struct {
			Type string `json:"type"`
		} `json:"platformStatus"`
		ControlPlaneTopology   string `json:"controlPlaneTopology"`
		InfrastructureTopology string `json:"infrastructureTopology"`
	} `json:"status"`
}

func (i infrastructure) fact() *reachv1.Fact {
	f := &reachv1.InfrastructureFact{
		Platform: clip(i.Status.Platform, 64), ControlPlaneTopology: clip(i.Status.ControlPlaneTopology, 64),
		InfrastructureTopology: clip(i.Status.InfrastructureTopology, 64),
	}
	if p := i.Status.PlatformStatus; p != nil {
		t := clip(p.Type, 64)
		f.PlatformStatusType = &t
	}
	return &reachv1.Fact{Fact: &reachv1.Fact_Infrastructure{Infrastructure: f}}
}

type clusterVersion struct {
	Spec struct {
		Channel string `json:"channel"`
	} `json:"spec"`
	Status struct {
		Desired struct {
			Version string `json:"version"`
		} `json:"desired"`
		History []struct {
			State   string `json:"state"`
			Version string `json:"version"`
		} `json:"history"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

func (v clusterVersion) fact() *reachv1.Fact {
	f := &reachv1.ClusterVersionFact{Desired: clip(v.Status.Desired.Version, 128), Channel: clip(v.Spec.Channel, 128), Conditions: conditions(v.Status.Conditions)}
	// The newest entry comes first.
	for _, h := range v.Status.History {
		if h.State == "Completed" {
			f.Completed = clip(h.Version, 128)
			break
		}
	}
	return &reachv1.Fact{Fact: &reachv1.Fact_ClusterVersion{ClusterVersion: f}}
}

type clusterOperator struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		Versions []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"versions"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

func (o clusterOperator) meta() *metadata { return &o.Metadata }

func (o clusterOperator) fact() *reachv1.Fact {
	f := &reachv1.ClusterOperatorFact{Name: o.Metadata.Name, Conditions: conditions(o.Status.Conditions)}
	for _, v := range o.Status.Versions {
		if v.Name == "operator" {
			f.Version = clip(v.Version, 128)
		}
	}
	return &reachv1.Fact{Fact: &reachv1.Fact_ClusterOperator{ClusterOperator: f}}
}

type subscription struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Name            string `json:"name"`
		Channel         string `json:"channel"`
		Source          string `json:"source"`
		SourceNamespace string `json:"sourceNamespace"`
	} `json:"spec"`
	Status struct {
		InstalledCSV string `json:"installedCSV"`
		CurrentCSV   string `json:"currentCSV"`
		State        string `json:"state"`
	} `json:"status"`
}

func (s subscription) meta() *metadata { return &s.Metadata }

func (s subscription) fact() *reachv1.Fact {
	return &reachv1.Fact{Fact: &reachv1.Fact_Subscription{Subscription: &reachv1.SubscriptionFact{
		Namespace: s.Metadata.Namespace, Name: s.Metadata.Name, Package: clip(s.Spec.Name, maxName), Channel: clip(s.Spec.Channel, maxName),
		Source: clip(s.Spec.Source, maxName), SourceNamespace: clip(s.Spec.SourceNamespace, maxName),
		InstalledCsv: clip(s.Status.InstalledCSV, maxName), CurrentCsv: clip(s.Status.CurrentCSV, maxName), State: clip(s.Status.State, 64),
	}}}
}

type clusterServiceVersion struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Version string `json:"version"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (v clusterServiceVersion) meta() *metadata { return &v.Metadata }

func (v clusterServiceVersion) fact() *reachv1.Fact {
	return &reachv1.Fact{Fact: &reachv1.Fact_ClusterServiceVersion{ClusterServiceVersion: &reachv1.ClusterServiceVersionFact{
		Namespace: v.Metadata.Namespace, Name: v.Metadata.Name, Version: clip(v.Spec.Version, 128), Phase: clip(v.Status.Phase, 64),
	}}}
}

type machineConfigPool struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Paused        bool `json:"paused"`
		Configuration struct {
			Name string `json:"name"`
		} `json:"configuration"`
	} `json:"spec"`
	Status struct {
		MachineCount         int32 `json:"machineCount"`
		ReadyMachineCount    int32 `json:"readyMachineCount"`
		UpdatedMachineCount  int32 `json:"updatedMachineCount"`
		DegradedMachineCount int32 `json:"degradedMachineCount"`
	} `json:"status"`
}

func (p machineConfigPool) meta() *metadata { return &p.Metadata }

func (p machineConfigPool) fact() *reachv1.Fact {
	return &reachv1.Fact{Fact: &reachv1.Fact_MachineConfigPool{MachineConfigPool: &reachv1.MachineConfigPoolFact{
		Name: p.Metadata.Name, Machines: p.Status.MachineCount, ReadyMachines: p.Status.ReadyMachineCount,
		UpdatedMachines: p.Status.UpdatedMachineCount, DegradedMachines: p.Status.DegradedMachineCount,
		Paused: p.Spec.Paused, Configuration: clip(p.Spec.Configuration.Name, maxName),
	}}}
}

// ingress is config.openshift.io Ingress or operator.openshift.io
// IngressController.
type ingress struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Domain string `json:"domain"`
	} `json:"spec"`
	Status struct {
		Domain string `json:"domain"`
	} `json:"status"`
}

func (i ingress) meta() *metadata { return &i.Metadata }

func (i ingress) fact() *reachv1.Fact {
	return &reachv1.Fact{Fact: &reachv1.Fact_Ingress{Ingress: &reachv1.IngressFact{
		Name: clip(i.Metadata.Name, maxName), Domain: clip(cmp.Or(i.Status.Domain, i.Spec.Domain), maxName),
	}}}
}

type network struct {
	Status struct {
		NetworkType string `json:"networkType"`
	} `json:"status"`
}

func (n network) fact() *reachv1.Fact {
	return &reachv1.Fact{Fact: &reachv1.Fact_Network{Network: &reachv1.NetworkFact{Type: clip(n.Status.NetworkType, 64)}}}
}

type node struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		ProviderID string `json:"providerID"`
	} `json:"spec"`
	Status struct {
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
			OSImage        string `json:"osImage"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

func (n node) meta() *metadata { return &n.Metadata }

// nodes are counted, none is told.
type nodes struct {
	fact   reachv1.NodesFact
	labels map[[2]string]int32
}

func newNodes() *nodes {
	return &nodes{labels: map[[2]string]int32{}, fact: reachv1.NodesFact{
		KubeletVersions: map[string]int32{}, Roles: map[string]int32{}, ProviderSchemes: map[string]int32{},
		OsImages: map[string]int32{}, Annotations: map[string]int32{},
	}}
}

// nodeDomains are those of labels that say what a node belongs to; nodeKeys are
// further keys.
var (
	nodeDomains = []string{"kubernetes.azure.com", "rke2.io", "k3s.io", "harvesterhci.io"}
	nodeKeys    = []string{"node.openshift.io/os_id", "node.kubernetes.io/instance-type"}
	// nodeValues are keys whose value says what and not which: others hold names of
	// resource groups, networks and identities, and are told without.
	nodeValues = []string{
		"kubernetes.azure.com/mode", "kubernetes.azure.com/role", "kubernetes.azure.com/os-sku",
		"node.openshift.io/os_id", "node.kubernetes.io/instance-type",
	}
)

// add counts a node.
func (n *nodes) add(o node) {
	f := &n.fact
	f.Nodes++
	count(f.KubeletVersions, o.Status.NodeInfo.KubeletVersion)
	count(f.OsImages, o.Status.NodeInfo.OSImage)
	if scheme, _, ok := strings.Cut(o.Spec.ProviderID, "://"); ok {
		count(f.ProviderSchemes, scheme)
	}
	for key, value := range o.Metadata.Labels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok {
			count(f.Roles, role)
		}
		domain, _, _ := strings.Cut(key, "/")
		if !slices.Contains(nodeKeys, key) && !slices.ContainsFunc(nodeDomains, func(d string) bool { return below(domain, d) }) {
			continue
		}
		if !slices.Contains(nodeValues, key) && value != "true" && value != "false" {
			value = ""
		}
		if l := [2]string{clip(key, maxName+64), clip(value, 64)}; n.labels[l] > 0 || len(n.labels) < mostKeys {
			n.labels[l]++
		}
	}
	for key := range o.Metadata.Annotations {
		domain, _, _ := strings.Cut(key, "/")
		if slices.ContainsFunc(nodeDomains, func(d string) bool { return below(domain, d) }) {
			count(f.Annotations, key)
		}
	}
}

// mostKeys bounds what is counted by name.
const mostKeys = 500

func count(in map[string]int32, key string) {
	if key = clip(key, maxName); key != "" && (in[key] > 0 || len(in) < mostKeys) {
		in[key]++
	}
}

// told is the fact about all nodes.
func (n *nodes) told() *reachv1.Fact {
	for _, l := range slices.SortedFunc(maps.Keys(n.labels), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		n.fact.Labels = append(n.fact.Labels, &reachv1.NodeLabel{Key: l[0], Value: l[1], Nodes: n.labels[l]})
	}
	slices.Sort(n.fact.CsiDrivers)
	return &reachv1.Fact{Fact: &reachv1.Fact_Nodes{Nodes: &n.fact}}
}

// nodes reads the nodes and, since they are shown together, the CSI drivers.
func (r *reader) nodes(ctx context.Context, b *buffer, k session.Kind) {
	all := newNodes()
	// A list that is begun again is counted again.
	seen := map[string]node{}
	list(ctx, r, b, k, session.Query{Resource: where(k), Whole: true}, func(n node) {
		n.Metadata.ManagedFields, n.Metadata.OwnerReferences = nil, nil
		seen[n.Metadata.Name] = n
	})
	for _, n := range seen {
		all.add(n)
	}
	if !r.options.InventoriesOnly {
		driver := session.Kind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver", Resource: "csidrivers"}
		list(ctx, r, b, driver, session.Query{Resource: where(driver)}, func(o object) {
			if len(all.fact.CsiDrivers) < mostKeys {
				all.fact.CsiDrivers = append(all.fact.CsiDrivers, clip(o.Metadata.Name, maxName))
			}
		})
	}
	if len(seen) > 0 {
		b.add(all.told())
	}
}

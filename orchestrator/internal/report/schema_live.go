package report

// Signal is something that tells, or seems to tell, what a cluster is.
type Signal struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Says is "openshift" or "platform VSphere"; empty for nothing.
	Says string `json:"says"`
	// Decides is whether the signal has authority.
	Decides bool `json:"decides"`
}

// Reading is what came of asking a cluster for a kind.
type Reading struct {
	// Kind is "Kind.group".
	Kind string `json:"kind"`
	// Namespace is empty for all namespaces.
	Namespace string `json:"namespace"`
	// Outcome is "ok", "not_asked", "denied", "unauthenticated", "unreachable",
	// "untrusted", "timeout", "cut", "expired", "truncated", "throttled",
	// "server_error", "not_served", "not_found" or "malformed".
	Outcome string `json:"outcome" word:"code"`
	Objects int    `json:"objects"`
	Detail  string `json:"detail"`
}

// ClusterShape is what a cluster serves and how it is built, as far as it was
// read.
type ClusterShape struct {
	ServerVersion string `json:"server_version" word:"true"`
	// Version and Channel are OpenShift's.
	Version              string `json:"version" word:"true"`
	Channel              string `json:"channel" word:"true"`
	ControlPlaneTopology string `json:"control_plane_topology" word:"true"`
	NetworkType          string `json:"network_type" word:"true"`
	// IngressDomains are by "cluster" or the name of the IngressController.
	IngressDomains []IngressDomain `json:"ingress_domains"`
	Nodes          int             `json:"nodes"`
	NodeRoles      map[string]int  `json:"node_roles"`
	// Groups are the API groups that are served, with the number of kinds.
	Groups                 map[string]int `json:"groups"`
	Subscriptions          []ShapeItem    `json:"subscriptions"`
	ClusterServiceVersions []ShapeItem    `json:"cluster_service_versions"`
	MachineConfigPools     []ShapeItem    `json:"machine_config_pools"`
	ClusterOperators       []ShapeItem    `json:"cluster_operators"`
}

// IngressDomain is a domain under which a cluster publishes routes.
type IngressDomain struct {
	Name   string `json:"name"`
	Domain string `json:"domain"`
}

// ShapeItem is an object that tells how a cluster is built.
type ShapeItem struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	State     string `json:"state"`
}

// RevisionState says whether the controllers of a cluster reconcile the commit
// that was read. It counts the Kustomizations whose source delivers this
// repository.
type RevisionState struct {
	// State is "current" (all of them), "differs" (none of those that say),
	// "mixed" or "unknown".
	State   string `json:"state" word:"true"`
	Current int    `json:"current"`
	Differs int    `json:"differs"`
	Unknown int    `json:"unknown"`
	// Applied counts them by the revision that they applied last.
	Applied map[string]int `json:"applied"`
	// Fetched is what the cluster's sources hold.
	Fetched []SourceRevision `json:"fetched"`
}

// SourceRevision is what a source holds.
type SourceRevision struct {
	// Source is "kind/namespace/name".
	Source   string `json:"source"`
	Revision string `json:"revision"`
}

// LiveState is what a cluster says of a controller object.
type LiveState struct {
	// Reason is why nothing can be said, as of a verdict; all that follows is
	// then empty.
	Reason    string `json:"reason" word:"code"`
	Detail    string `json:"detail"`
	Suspended bool   `json:"suspended"`
	// Ready is the status of the condition of this name: "True", "False".
	Ready            string `json:"ready" word:"true"`
	ReadyReason      string `json:"ready_reason" word:"true"`
	GenerationBehind bool   `json:"generation_behind"`
	BeingDeleted     bool   `json:"being_deleted"`
	// AppliedRevision is as Flux writes it, "main@sha1:<hex>".
	AppliedRevision   string `json:"applied_revision"`
	AttemptedRevision string `json:"attempted_revision"`
	// Revision is whether it is the commit that was read: "current", "differs",
	// "unknown".
	Revision     string `json:"revision" word:"true"`
	HasInventory bool   `json:"has_inventory"`
	// Entries of the inventory, those that cannot be read, and those that this
	// commit does not declare.
	Entries    int `json:"entries"`
	Malformed  int `json:"malformed"`
	Undeclared int `json:"undeclared"`
}

// LiveObject is an object that is on a cluster and of which objects.jsonl does
// not say all: it is in no inventory, or in one although this commit does not
// declare it. Objects that are part of the system, and objects that objects of
// an inventory made, stand in one line per cluster, namespace, kind and maker.
type LiveObject struct {
	Cluster   string `json:"cluster"`
	Group     string `json:"group"`
	Version   string `json:"version" word:"true"`
	Kind      string `json:"kind" word:"kind"`
	Namespace string `json:"namespace"`
	// Name is empty when the line stands for several objects.
	Name string `json:"name"`
	// Verdict is "in_inventory", "not_in_inventory", or "abstain" when an
	// inventory that could list it is not known; Reason says why.
	Verdict string `json:"verdict" word:"true"`
	Reason  string `json:"reason" word:"code"`
	// Maker is who made it, by the best evidence: "flux", "owner", "helm",
	// "argocd", "sveltos", "flux_leftover", "kubectl", "ci", "controller",
	// "system" or "unknown".
	Maker string `json:"maker" word:"true"`
	// MakerName is the controller object, the release, the owner or the field
	// manager.
	MakerName string `json:"maker_name"`
	// Evidence is what says so.
	Evidence string `json:"evidence"`
	// Manager, Operation and Time are the entry of managedFields that tells most.
	Manager   string `json:"manager,omitempty"`
	Operation string `json:"operation,omitempty" word:"true"`
	Time      string `json:"time,omitempty" word:"true"`
	// Count is how many objects the line stands for.
	Count int `json:"count"`
	// Declared is whether this commit declares it on this cluster.
	Declared bool `json:"declared"`
	// Inventories that list it.
	Inventories []string `json:"inventories,omitempty"`
}

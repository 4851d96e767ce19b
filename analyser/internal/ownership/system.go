package ownership

import (
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
)

// systemObject is why an object is one that every cluster has by itself; empty
// for others.
func systemObject(p *observed.Present) string {
	k := p.Object.Key()
	switch gk := k.GroupKind(); {
	case slices.Contains(systemKinds, gk):
		return gk.String() + " is kept by the control plane"
	case p.Labels["kubernetes.io/bootstrapping"] != "" && k.Group == "rbac.authorization.k8s.io":
		return "bootstrap role of the API server"
	case gk == object.GroupKind{Kind: "Namespace"} && slices.Contains(systemNamespaces, k.Name):
		return "namespace of the system"
	case gk == object.GroupKind{Kind: "ConfigMap"} && (k.Name == "kube-root-ca.crt" || k.Name == "openshift-service-ca.crt"),
		gk == object.GroupKind{Kind: "ServiceAccount"} && k.Name == "default",
		gk == object.GroupKind{Kind: "Service"} && k.Namespace == "default" && k.Name == "kubernetes",
		gk == object.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"} && strings.HasPrefix(k.Name, "system-"):
		return "made in every cluster or namespace"
	}
	return ""
}

// systemNamespace reports an object without a namespace or in one of the system.
func systemNamespace(p *observed.Present) bool {
	ns := p.Object.Namespace
	return ns == "" || slices.Contains(systemNamespaces, ns) || ns == "openshift" || strings.HasPrefix(ns, "openshift-")
}

var systemNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// systemKinds are kinds whose objects programs of the control plane make and
// take away by themselves.
var systemKinds = []object.GroupKind{
	{Kind: "Event"},
	{Group: "events.k8s.io", Kind: "Event"},
	{Kind: "Endpoints"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
	{Kind: "Node"},
	{Kind: "ComponentStatus"},
	{Group: "storage.k8s.io", Kind: "CSINode"},
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"},
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"},
	{Group: "apps", Kind: "ControllerRevision"},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"},
	{Group: "networking.k8s.io", Kind: "IPAddress"},
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
	{Group: "metrics.k8s.io", Kind: "NodeMetrics"},
	{Group: "metrics.k8s.io", Kind: "PodMetrics"},
}

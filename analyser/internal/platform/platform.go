// Package platform says which kind of cluster a cluster is, from signals with
// authority only: OpenShift's own objects, Harvester's API group, the version of
// the server, the labels of AKS node pools.
//
// What people look for and what proves nothing (the scheme of providerID, CSI
// drivers, a missing label) is shown and decides nothing. Without a signal the
// answer is Unknown; signals that contradict each other are all shown, and the
// answer is Unknown as well.
package platform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
)

// Unknown is the answer where no signal with authority tells.
const Unknown = "unknown"

// The flavours.
const (
	OpenShift = "openshift"
	Harvester = "harvester"
	RKE2      = "rke2"
	K3s       = "k3s"
	AKS       = "aks"
)

// Signal is something that tells, or seems to tell, what a cluster is.
type Signal struct {
	Name, Value string
	// Says is a flavour, or "platform VSphere"; empty for nothing.
	Says string
	// Decides reports authority.
	Decides bool
}

// Answer is what a cluster is.
type Answer struct {
	// Flavour is one of the constants.
	Flavour string
	// Platform is OpenShift's platform as its API writes it ("VSphere", "None"),
	// "Azure" for AKS, else Unknown.
	Platform string
	Signals  []Signal
}

// Tell answers for one cluster.
func Tell(c *observed.Cluster) Answer {
	t := &teller{c: c}
	for _, look := range []func(){t.openShift, t.harvester, t.version, t.aks, t.markers, t.weak} {
		look()
	}
	a := Answer{Flavour: t.flavour(), Platform: Unknown, Signals: t.signals}
	switch a.Flavour {
	case OpenShift:
		a.Platform = t.platform
	case AKS:
		a.Platform = "Azure"
	}
	return a
}

type teller struct {
	c        *observed.Cluster
	signals  []Signal
	platform string
}

func (t *teller) add(name, value, says string, decides bool) {
	t.signals = append(t.signals, Signal{name, value, says, decides})
}

// flavour is the one that the deciding signals agree on. Harvester is made of
// RKE2, and of k3s before that: those two do not contradict it.
func (t *teller) flavour() string {
	told := map[string]bool{}
	for _, s := range t.signals {
		if s.Decides && s.Says != "" && !strings.HasPrefix(s.Says, "platform ") {
			told[s.Says] = true
		}
	}
	if told[Harvester] {
		delete(told, RKE2)
		delete(told, K3s)
	}
	if len(told) != 1 {
		return Unknown
	}
	return slices.Collect(maps.Keys(told))[0]
}

var (
	clusterVersion = object.GroupKind{Group: "config.openshift.io", Kind: "ClusterVersion"}
	infrastructure = object.GroupKind{Group: "config.openshift.io", Kind: "Infrastructure"}
)

// openShift: the objects of config.openshift.io. The group alone decides where
// the objects could not be read; definitions without the objects do not make an
// OpenShift.
func (t *teller) openShift() {
	t.platform = Unknown
	found := false
	if v := t.c.ClusterVersion; v != nil {
		found = true
		t.add("ClusterVersion", v.Desired, OpenShift, true)
	}
	if i := t.c.Infrastructure; i != nil {
		found = true
		switch {
		case i.Type != nil && *i.Type != "":
			t.platform = *i.Type
			t.add("Infrastructure status.platformStatus.type", *i.Type, "platform "+*i.Type, true)
			if i.Platform != "" && i.Platform != *i.Type {
				t.add("Infrastructure status.platform", i.Platform, "platform "+i.Platform+" (deprecated, overruled by platformStatus.type)", false)
			}
		case i.Platform != "":
			t.platform = i.Platform
			t.add("Infrastructure status.platform", i.Platform, "platform "+i.Platform, true)
		default:
			t.add("Infrastructure", "names no platform", "", false)
		}
		t.add("Infrastructure", "exists", OpenShift, true)
		if i.ControlPlane != "" {
			t.add("Infrastructure status.controlPlaneTopology", i.ControlPlane, "", false)
		}
	}
	if found {
		return
	}
	if s, _ := t.c.Serves(clusterVersion); s == nil {
		if s, _ = t.c.Serves(infrastructure); s == nil {
			return
		}
	}
	for _, k := range []object.GroupKind{clusterVersion, infrastructure} {
		name := map[object.GroupKind]string{clusterVersion: "version", infrastructure: "cluster"}[k]
		if outcome, _ := t.c.Covers(object.Key{Group: k.Group, Kind: k.Kind, Name: name}); outcome == observed.OK {
			t.add("API group", "config.openshift.io", "", false)
			t.add(k.Kind+" "+name, "does not exist", "", false)
			return
		}
	}
	t.add("API group", "config.openshift.io", OpenShift, true)
}

// harvester: its own API group, or its mark on nodes.
func (t *teller) harvester() {
	if n := t.c.Groups()["harvesterhci.io"]; n > 0 {
		t.add("API group", "harvesterhci.io", Harvester, true)
	}
	t.label(Harvester, func(key, value string) bool { return key == "harvesterhci.io/managed" && value == "true" })
}

// version: the suffix of the server's version, else of all nodes'.
func (t *teller) version() {
	if t.c.Access != nil && t.c.Access.ServerVersion != "" {
		v := t.c.Access.ServerVersion
		t.add("server version", v, suffix(v), suffix(v) != "")
		return
	}
	t.kubelets(true)
}

// kubelets adds the versions of the nodes. They decide only where the server's
// is not known: nodes of another distribution can join a cluster.
func (t *teller) kubelets(decide bool) {
	if t.c.Nodes == nil {
		return
	}
	for _, v := range slices.Sorted(maps.Keys(t.c.Nodes.KubeletVersions)) {
		says := suffix(v)
		t.add("kubeletVersion", t.nodes(v, t.c.Nodes.KubeletVersions[v]), says, decide && says != "")
	}
}

func (t *teller) nodes(value string, n int) string {
	return fmt.Sprintf("%s on %d of %d nodes", value, n, t.c.Nodes.Count)
}

// suffix is the flavour in a version: v1.31.4+k3s1, v1.29.5+rke2r1.
func suffix(version string) string {
	_, build, _ := strings.Cut(version, "+")
	switch {
	case strings.HasPrefix(build, "rke2"):
		return RKE2
	case strings.HasPrefix(build, "k3s"):
		return K3s
	}
	return ""
}

// aks: the labels that AKS puts on the nodes of its pools.
func (t *teller) aks() {
	t.label(AKS, func(key, _ string) bool {
		return key == "kubernetes.azure.com/agentpool" || key == "kubernetes.azure.com/cluster"
	})
}

// label adds labels with authority.
func (t *teller) label(says string, is func(key, value string) bool) {
	if t.c.Nodes == nil {
		return
	}
	for _, l := range t.c.Nodes.Labels {
		if is(l.Key, l.Value) {
			t.add("node label", t.nodes(l.Key+"="+l.Value, l.Nodes), says, true)
		}
	}
}

// markers: what RKE2 and k3s leave on nodes. They decide only where no version
// is known: they may be missing, or copied to nodes of another distribution.
func (t *teller) markers() {
	if t.c.Nodes == nil {
		return
	}
	known := t.c.Access != nil && t.c.Access.ServerVersion != ""
	if known {
		t.kubelets(false)
	}
	decide := !known && len(t.c.Nodes.KubeletVersions) == 0
	for _, l := range t.c.Nodes.Labels {
		if says := markerOf(l.Key); says != "" {
			t.add("node label", t.nodes(l.Key+"="+l.Value, l.Nodes), says, decide)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.c.Nodes.NodeAnnotated)) {
		if says := markerOf(key); says != "" {
			t.add("node annotation", t.nodes(key, t.c.Nodes.NodeAnnotated[key]), says, decide)
		}
	}
}

func markerOf(key string) string {
	prefix, _, _ := strings.Cut(key, "/")
	switch prefix {
	case "rke2.io":
		return RKE2
	case "k3s.io":
		return K3s
	}
	return ""
}

// weak: what proves nothing.
func (t *teller) weak() {
	if t.c.Nodes == nil {
		return
	}
	for _, s := range slices.Sorted(maps.Keys(t.c.Nodes.Schemes)) {
		t.add("providerID", t.nodes(s+"://", t.c.Nodes.Schemes[s]), "", false)
	}
	for _, l := range t.c.Nodes.Labels {
		if l.Key == "node.openshift.io/os_id" || strings.HasPrefix(l.Key, "harvesterhci.io/") && l.Key != "harvesterhci.io/managed" ||
			strings.HasPrefix(l.Key, "kubernetes.azure.com/") && l.Key != "kubernetes.azure.com/agentpool" && l.Key != "kubernetes.azure.com/cluster" {
			t.add("node label", t.nodes(l.Key+"="+l.Value, l.Nodes), "", false)
		}
	}
	for _, d := range t.c.Nodes.CSIDrivers {
		t.add("CSIDriver", d, "", false)
	}
}

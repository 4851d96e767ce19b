package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// object is an object as JSON has it.
type object = map[string]any

// id names a Kustomization on a cluster.
type id struct{ cluster, namespace, name string }

// node is a Kustomization.
type node struct {
	id
	object object
	// assumed is a root that only the user declares, unnamed one whose
	// Kustomization the user did not name.
	assumed, unnamed bool

	class, target, state, reason string
	objects                      []any
}

// cluster is what is applied to one.
type cluster struct {
	// objects are by "kind.group/namespace/name"; of Secrets only those that a
	// build may read are looked at.
	objects map[string]object
	// runs reports that kustomize-controller is there.
	runs   bool
	strict bool
}

// world is all that is known so far.
type world struct {
	tree     *tree
	request  *reachv1.CensusRequest
	roots    []*node
	nodes    map[id]*node
	clusters map[string]*cluster
	built    map[string]*result
	// sources are the sources of roots: this repository at the commit.
	sources []object
	// merged are spokes that are a cluster with a root of its own.
	merged map[string]string
}

const kustomizations = "Kustomization.kustomize.toolkit.fluxcd.io"

func samePath(a, b object) bool {
	return inside(text(a, "spec", "path")) == inside(text(b, "spec", "path"))
}

// itself reports whether what a root that nobody named builds holds the one
// Kustomization that applies the root's path: that is the root then.
func (w *world) itself(n *node) bool {
	found := 0
	for _, o := range n.objects {
		if o, ok := o.(object); ok && kind(o) == kustomizations && samePath(o, n.object) && value(o, "spec", "kubeConfig") == nil &&
			(text(o, "metadata", "namespace") != n.namespace || text(o, "metadata", "name") != n.name) {
			found++
		}
	}
	return found == 1
}

// merge finds the spokes that have a root of their own: the Kustomization of the
// root, with its path, lands on that spoke and no other.
func (w *world) merge() {
	for _, r := range w.roots {
		on := map[string]bool{}
		for _, n := range w.nodes {
			if n.target == n.cluster || n.class != "remote_direct" {
				continue
			}
			for _, o := range n.objects {
				if o, ok := o.(object); ok && kind(o) == kustomizations && samePath(o, r.object) &&
					text(o, "metadata", "namespace") == r.namespace && text(o, "metadata", "name") == r.name {
					on[n.target] = true
				}
			}
		}
		if len(on) == 1 {
			for spoke := range on {
				if spoke != r.cluster {
					w.merged[spoke] = r.cluster
				}
			}
		}
	}
}

func newWorld(t *tree, request *reachv1.CensusRequest) *world {
	w := &world{tree: t, request: request, nodes: map[id]*node{}, built: map[string]*result{}, merged: map[string]string{}}
	w.discover()
	return w
}

// rounds bounds how often everything is looked at again: as deep as
// Kustomizations that make Kustomizations, and what they read, can hang from
// each other here.
const rounds = 24

// follow builds every Kustomization with what the round before it learned, until
// nothing changes.
func (w *world) follow() error {
	before := ""
	for range rounds {
		w.clusters = w.learn()
		next := map[id]*node{}
		// What a Kustomization builds lands on its target; so parents come
		// before children, whoever made them.
		queue := slices.Clone(w.roots)
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			if next[n.id] != nil {
				continue
			}
			n = &node{id: n.id, object: n.object, assumed: n.assumed, unnamed: n.unnamed}
			known := w.clusters[n.cluster].find(kustomizations, n.namespace, n.name)
			if known != nil && !n.assumed {
				n.object = known
			} else if known != nil && samePath(known, n.object) {
				// The root stands among what it applies, patched perhaps.
				n.object = known
			}
			next[n.id] = n
			if err := w.build(n); err != nil {
				return err
			}
			if n.unnamed && w.itself(n) {
				delete(next, n.id)
			}
			for _, o := range n.objects {
				if o, ok := o.(object); ok && kind(o) == kustomizations {
					queue = append(queue, &node{id: id{n.target, text(o, "metadata", "namespace"), text(o, "metadata", "name")}, object: o})
				}
			}
		}
		w.nodes = next
		w.merge()
		now := w.signature()
		if now == before {
			return nil
		}
		before = now
	}
	return nil
}

// signature changes when anything that a build could see does.
func (w *world) signature() string {
	var out strings.Builder
	for _, n := range w.sorted() {
		j, _ := json.Marshal([]any{n.cluster, n.namespace, n.name, n.class, n.target, n.state, n.reason, n.objects})
		out.WriteString(digest(string(j)))
	}
	return out.String()
}

func (w *world) sorted() []*node {
	return slices.SortedFunc(maps.Values(w.nodes), func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// learn says what is on each cluster after what was built.
func (w *world) learn() map[string]*cluster {
	out := map[string]*cluster{}
	at := func(name string) *cluster {
		if out[name] == nil {
			out[name] = &cluster{objects: map[string]object{}, strict: true}
		}
		return out[name]
	}
	for _, r := range w.roots {
		at(r.cluster).runs = true
	}
	for _, n := range w.sorted() {
		at(n.cluster)
		c := at(n.target)
		for _, o := range n.objects {
			o, ok := o.(object)
			if !ok {
				continue
			}
			key := kind(o) + "/" + text(o, "metadata", "namespace") + "/" + text(o, "metadata", "name")
			if c.objects[key] == nil {
				c.objects[key] = o
			}
			if k := kind(o); k == "Deployment.apps" && text(o, "metadata", "name") == "kustomize-controller" {
				c.runs = true
				c.strict = strict(o)
			} else if k == "FluxInstance.fluxcd.controlplane.io" {
				c.runs = true
			}
		}
	}
	for _, s := range w.request.GetClusters() {
		c := at(s.GetCluster())
		c.runs = c.runs || slices.Contains(s.GetControllers(), "kustomize-controller")
		if v := s.GetKustomizeControllerVersion(); v != "" {
			c.strict = since19(v)
		}
		if gate, ok := s.GetFeatureGates()["StrictPostBuildSubstitutions"]; ok {
			c.strict = gate
		}
	}
	return out
}

// find is an object of a cluster, nil for none.
func (c *cluster) find(kind, namespace, name string) object {
	if c == nil {
		return nil
	}
	return c.objects[kind+"/"+namespace+"/"+name]
}

// strict reports whether the controller of a Deployment fails a build over a
// variable that nothing declares: from 1.9 on, unless a gate says otherwise
// (upstream: kustomize-controller, internal/features).
func strict(deployment object) bool {
	out := true
	containers, _ := value(deployment, "spec", "template", "spec", "containers").([]any)
	for _, c := range containers {
		c, _ := c.(object)
		_, tag, ok := strings.Cut(path.Base(text(c, "image")), ":")
		if ok {
			tag, _, _ = strings.Cut(tag, "@")
			out = since19(tag)
		}
	}
	for _, c := range containers {
		c, _ := c.(object)
		args, _ := c["args"].([]any)
		for _, a := range args {
			gates, ok := strings.CutPrefix(asText(a), "--feature-gates=")
			for gate := range strings.SplitSeq(gates, ",") {
				if name, v, _ := strings.Cut(gate, "="); ok && name == "StrictPostBuildSubstitutions" {
					out = v == "true"
				}
			}
		}
	}
	return out
}

// since19 reports whether a version is 1.9 or later; what is no version is taken
// for a late one.
func since19(version string) bool {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return true
	}
	if parts[0] == "0" {
		return false
	}
	return parts[0] != "1" || len(parts[1]) > 1 || parts[1] >= "9"
}

// rows are the result.
func (w *world) rows() []row {
	out := []row{}
	for _, n := range w.sorted() {
		r := row{Cluster: n.cluster, Namespace: n.namespace, Name: n.name, Class: n.class, Target: n.target, State: n.state, Reason: n.reason}
		if n.state == "rendered" {
			count := len(n.objects)
			r.Objects = &count
		}
		out = append(out, r)
	}
	return out
}

// spoke names the cluster behind a kubeConfig reference as a census does: by the
// configuration, else after the reference.
func (w *world) spoke(controller, kind, namespace, name, key string) string {
	if kind == "Secret" && key == "value" {
		key = ""
	}
	for _, m := range w.request.GetSpokes() {
		if m.GetControllerCluster() == controller && m.GetKind() == kind && m.GetNamespace() == namespace && m.GetName() == name &&
			(m.GetKey() == "" || m.GetKey() == key || m.GetKey() == "value" && key == "") {
			return m.GetCluster()
		}
	}
	out := controller + "/" + namespace + "/" + name
	if key != "" {
		out += "#" + key
	}
	return cmp.Or(w.merged[out], out)
}

// value is what stands at a path of keys, nil for nothing.
func value(o object, keys ...string) any {
	var v any = o
	for _, k := range keys {
		m, _ := v.(object)
		v = m[k]
	}
	return v
}

func text(o object, keys ...string) string { return asText(value(o, keys...)) }

func asText(v any) string {
	s, _ := v.(string)
	return s
}

// kind is Kind.group, Kind for the core group.
func kind(o object) string {
	group, _, ok := strings.Cut(text(o, "apiVersion"), "/")
	if !ok {
		return text(o, "kind")
	}
	return text(o, "kind") + "." + group
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

func join(dir, p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }

package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// delivery is this repository as a source delivers it.
type delivery struct {
	object       object
	subdirectory string
}

// source tells what the source of a Kustomization delivers; a reason says why it
// is not this repository at the commit.
func (w *world) source(n *node) (delivery, string) {
	ref, _ := value(n.object, "spec", "sourceRef").(object)
	if n.assumed && ref == nil {
		return delivery{}, ""
	}
	namespace := text(ref, "namespace")
	if namespace == "" {
		namespace = n.namespace
	}
	group := ".source.toolkit.fluxcd.io"
	o := w.clusters[n.cluster].find(text(ref, "kind")+group, namespace, text(ref, "name"))
	for _, m := range w.request.GetSources() {
		if !mapped(m, n.cluster, text(ref, "kind"), namespace, text(ref, "name"), text(o, "spec", "url")) {
			continue
		}
		if m.GetExternal() {
			return delivery{}, "other_repository"
		}
		return delivery{o, m.GetSubdirectory()}, ""
	}
	root := w.rootSource(n.cluster, text(ref, "kind"), namespace, text(ref, "name"))
	switch {
	case o == nil && root == nil:
		return delivery{}, "source_not_found"
	case root != nil && (text(root, "declared") == "true" || o == nil || text(o, "spec", "url") == text(root, "spec", "url")):
		if o == nil {
			o = root
		}
		return delivery{object: o}, ""
	case text(ref, "kind") != "GitRepository":
		return delivery{}, "source_unmapped"
	case !w.thisRepository(text(o, "spec", "url")):
		return delivery{}, "other_repository"
	case !w.sameRef(n.cluster, o):
		return delivery{}, "other_ref"
	}
	return delivery{object: o}, ""
}

// rootSource is the source of a root of the cluster, if it has this name.
func (w *world) rootSource(on, kind, namespace, name string) object {
	for _, s := range w.sources {
		if text(s, "cluster") == on && text(s, "kind") == kind && text(s, "metadata", "namespace") == namespace && text(s, "metadata", "name") == name {
			return s
		}
	}
	return nil
}

func mapped(m *reachv1.SourceMapping, on, kind, namespace, name, url string) bool {
	is := func(pattern, s string) bool { return pattern == "" || pattern == s }
	return is(m.GetCluster(), on) && is(m.GetKind(), kind) && is(m.GetNamespace(), namespace) && is(m.GetName(), name) &&
		(m.GetUrl() == "" || address(m.GetUrl()) == address(url))
}

func (w *world) thisRepository(url string) bool {
	if url == "" {
		return false
	}
	if address(url) == address(w.tree.origin) {
		return true
	}
	return slices.ContainsFunc(w.sources, func(s object) bool { return address(text(s, "spec", "url")) == address(url) })
}

// sameRef reports whether a source asks for the ref that the root of its cluster
// asks for.
func (w *world) sameRef(on string, o object) bool {
	for _, s := range w.sources {
		if text(s, "cluster") == on && text(s, "kind") == "GitRepository" {
			return ref(o) == ref(s)
		}
	}
	for _, s := range w.sources {
		if text(s, "kind") == "GitRepository" {
			return ref(o) == ref(s)
		}
	}
	return true
}

// ref is spec.ref in the order in which source-controller looks at it.
func ref(o object) string {
	for _, field := range []string{"commit", "name", "semver", "tag", "branch"} {
		if v := text(o, "spec", "ref", field); v != "" {
			return field + " " + v
		}
	}
	return "branch master"
}

// address is a repository's URL without what does not tell repositories apart.
func address(url string) string {
	s := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git"))
	if scheme, rest, ok := strings.Cut(s, "://"); ok && scheme != "oci" {
		s = rest
	} else if host, rest, ok := strings.Cut(s, ":"); ok && scheme != "oci" {
		s = host + "/" + rest
	}
	if _, rest, ok := strings.Cut(s, "@"); ok {
		s = rest
	}
	return s
}

// discover finds the roots: those of the request, the Kustomization of each
// gotk-sync.yaml with the source beside it, and the sync of each FluxInstance. A
// root of the request with the path of a found one only names it.
func (w *world) discover() {
	type found struct{ kustomization, source object }
	var all []found
	_ = filepath.WalkDir(w.tree.root(), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".yaml") && !strings.HasSuffix(p, ".yml") {
			return nil
		}
		data, err := os.ReadFile(p)
		sync := d.Name() == "gotk-sync.yaml"
		rel, _ := filepath.Rel(w.tree.root(), p)
		if err != nil || !sync && !bytes.Contains(data, []byte("FluxInstance")) {
			return nil
		}
		var f found
		for _, o := range documents(data) {
			switch k := kind(o); {
			case sync && k == "Kustomization.kustomize.toolkit.fluxcd.io":
				f.kustomization = o
			case sync && strings.HasSuffix(k, ".source.toolkit.fluxcd.io"):
				f.source = o
			case k == "FluxInstance.fluxcd.controlplane.io" && value(o, "spec", "sync") != nil:
				s := instance(o)
				all = append(all, found{s[0], s[1]})
			}
		}
		if f.kustomization != nil && f.source != nil && below(filepath.ToSlash(rel), inside(text(f.kustomization, "spec", "path"))) {
			all = append(all, f)
		}
		return nil
	})
	used := map[int]bool{}
	for _, r := range w.request.GetRoots() {
		namespace, name := r.GetNamespace(), r.GetName()
		if name == "" {
			namespace, name = "flux-system", "flux-system"
		}
		o := object{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
			"metadata": object{"name": name, "namespace": namespace},
			"spec":     object{"path": "./" + r.GetPath(), "prune": true, "interval": "10m"},
		}
		assumed := true
		for i, f := range all {
			if inside(text(f.kustomization, "spec", "path")) == inside(r.GetPath()) &&
				text(f.kustomization, "metadata", "namespace") == namespace && text(f.kustomization, "metadata", "name") == name {
				o, assumed = f.kustomization, false
				w.add(r.GetCluster(), f.source)
				used[i] = true
			}
		}
		if assumed {
			// Whatever such a root names as its source delivers the commit.
			w.add(r.GetCluster(), object{"kind": "GitRepository", "declared": "true", "metadata": object{"name": name, "namespace": namespace}, "spec": object{"url": w.tree.origin}})
			o["spec"].(object)["sourceRef"] = object{"kind": "GitRepository", "name": name}
		}
		w.roots = append(w.roots, &node{id: id{r.GetCluster(), namespace, name}, object: o, assumed: assumed, unnamed: assumed && r.GetName() == ""})
	}
	for i, f := range all {
		if used[i] {
			continue
		}
		on := path.Base(inside(text(f.kustomization, "spec", "path")))
		w.add(on, f.source)
		w.roots = append(w.roots, &node{
			id: id{on, text(f.kustomization, "metadata", "namespace"), text(f.kustomization, "metadata", "name")}, object: f.kustomization,
		})
	}
}

// below reports whether a gotk-sync.yaml lies below the path that it makes a
// root, as flux bootstrap writes it; elsewhere it is a template or another
// repository's.
func below(file, dir string) bool { return dir == "" || strings.HasPrefix(file, dir+"/") }

// add notes the source of a root.
func (w *world) add(on string, source object) {
	s := clone(source)
	s["cluster"] = on
	w.sources = append(w.sources, s)
}

// instance is the Kustomization and the source that the Flux operator makes of
// spec.sync of a FluxInstance.
func instance(o object) [2]object {
	sync, _ := value(o, "spec", "sync").(object)
	name, namespace := text(sync, "name"), text(o, "metadata", "namespace")
	if name == "" {
		name = namespace
	}
	meta := object{"name": name, "namespace": namespace}
	ref := object{}
	if r := text(sync, "ref"); r != "" {
		ref["name"] = r
	}
	return [2]object{
		{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": meta,
			"spec": object{"path": text(sync, "path"), "prune": true, "interval": "10m", "sourceRef": object{"kind": text(sync, "kind"), "name": name}},
		},
		{"kind": text(sync, "kind"), "metadata": meta, "spec": object{"url": text(sync, "url"), "ref": ref}},
	}
}

// documents are the objects of a file; what is no YAML holds none.
func documents(data []byte) []object {
	var out []object
	reader := apiyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if err != nil {
			return out
		}
		var o object
		if yaml.Unmarshal(doc, &o) == nil && o != nil {
			out = append(out, o)
		}
	}
}

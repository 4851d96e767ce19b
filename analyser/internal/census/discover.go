package census

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// isManifest reports whether the census considers a file by its name alone:
// what Flux's generator would apply (upstream: scanManifests takes .yaml and
// .yml, in exactly that spelling).
func isManifest(p string) bool {
	return strings.HasSuffix(p, ".yaml") || strings.HasSuffix(p, ".yml")
}

const (
	fluxKustomizeGroup = "kustomize.toolkit.fluxcd.io"
	fluxHelmGroup      = "helm.toolkit.fluxcd.io"
	fluxOperatorGroup  = "fluxcd.controlplane.io"
)

// candidate is a document that may declare a root.
type candidate struct {
	path     string
	doc      *document.Document
	declared controller.Declared
}

// discover finds the roots that the repository declares itself and joins them
// with those that the user declared.
//
// A Flux Kustomization whose file lies below its own spec.path, beside the
// source object that it names, is the self-reference that `flux bootstrap`
// writes (gotk-sync.yaml). A FluxInstance with spec.sync is one too.
func (w *worklist) discover() error {
	candidates, sources := w.candidates()
	var found []*root
	self := map[string][]*root{}
	for _, c := range candidates {
		o := w.raw(c.doc)
		for _, s := range c.declared.Syncs {
			dir := w.engine(s.Engine).Directory(s.Path)
			if below(c.path, dir) && s.KubeConfig == nil && s.Problem == nil {
				self[dir] = append(self[dir], &root{
					Root: placement.Root{Path: dir, Namespace: s.Object.Namespace, Name: s.Object.Name, Declared: c.doc.Pos},
					sync: &s, object: o,
				})
			}
			if !bootstraps(c.path, dir, s.Object.Namespace) || s.KubeConfig != nil || s.Problem != nil || strings.Contains(s.Path, "${") {
				continue
			}
			src, ok := sources[sourceAt{path.Dir(c.path), s.Source}]
			if !ok {
				continue
			}
			found = append(found, &root{
				Root: placement.Root{Path: dir, Namespace: s.Object.Namespace, Name: s.Object.Name, DeclaredBy: "gotk-sync", Declared: c.doc.Pos},
				sync: &s, object: o, source: src,
			})
		}
		for _, r := range c.declared.Roots {
			dir := w.engine(r.Sync.Engine).Directory(r.Sync.Path)
			found = append(found, &root{
				Root: placement.Root{Path: dir, Namespace: r.Sync.Object.Namespace, Name: r.Sync.Object.Name, DeclaredBy: "flux-instance", Declared: c.doc.Pos},
				sync: &r.Sync, source: &r.Source,
			})
		}
	}
	return w.join(found, self)
}

// sourceAt names a source object written in a directory.
type sourceAt struct {
	dir string
	ref controller.SourceRef
}

// candidates reads the documents of the kinds that can declare a root.
func (w *worklist) candidates() ([]candidate, map[sourceAt]*controller.Source) {
	var out []candidate
	sources := map[sourceAt]*controller.Source{}
	w.parse()
	for _, e := range w.snap.Entries() {
		if !e.IsFile() || !isManifest(e.Path) {
			continue
		}
		f := w.file(e)
		if f == nil {
			continue
		}
		for _, d := range f.Documents {
			if d.Ref.Name == "" {
				continue
			}
			switch d.Ref.Group {
			case fluxKustomizeGroup, fluxOperatorGroup:
				out = append(out, candidate{e.Path, d, w.declared(w.raw(d))})
			case "source.toolkit.fluxcd.io":
				for _, s := range w.declared(w.raw(d)).Sources {
					ref := controller.SourceRef{Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name}
					sources[sourceAt{path.Dir(e.Path), ref}] = &s
				}
			}
		}
	}
	return out, sources
}

// parse parses every manifest with all processors; the reader keeps them.
func (w *worklist) parse() {
	entries := w.snap.Entries()
	const chunk = 256
	for from := 0; from < len(entries) && w.ctx.Err() == nil; from += chunk {
		some := entries[from:min(from+chunk, len(entries))]
		each(len(some), func(i int) {
			if e := some[i]; e.IsFile() && isManifest(e.Path) {
				// What cannot be read is noted by whoever needs it.
				_, _ = w.docs.Read(w.snap, e)
			}
		})
		w.progress("reading", int64(from+len(some)), int64(len(entries)), "files")
	}
}

// file is the parsed file of an entry; nil when its content cannot be had,
// which is noted.
func (w *worklist) file(e snapshot.Entry) *document.File {
	f, err := w.docs.Read(w.snap, e)
	if err != nil {
		w.unreadable[e.Path] = err
		return nil
	}
	return f
}

// raw is a document as an object that nothing has transformed.
func (w *worklist) raw(d *document.Document) *kustomize.Object {
	o := w.raws[d]
	if o == nil {
		o = w.memory.raw(d)
	}
	if o == nil {
		o = &kustomize.Object{Ref: d.Ref, Written: d.Ref, Tree: d.Tree, Origin: d.Pos}
	}
	w.raws[d] = o
	return o
}

// bootstraps reports whether a Kustomization in a file makes its own path a
// root. Below a path of its own that holds for any file near the top; the whole
// repository is a path only for the folder that `flux bootstrap` names after
// the namespace, because a Kustomization without spec.path beside its source
// is most often a tenant's, whose source is another repository.
func bootstraps(file, dir, namespace string) bool {
	if dir == "" {
		return path.Dir(file) == namespace
	}
	return below(file, dir) && strings.Count(file[len(dir):], "/") <= 3
}

func below(p, dir string) bool { return dir == "" || strings.HasPrefix(p, dir+"/") }

// join names the clusters of the roots that were found and adds those that the
// user declared. A declared root with the path of a found one only names it.
//
// self are the Kustomizations below their own path, source object or not. Where
// the user declares that path and names no Sync, a single one of them is the
// root's.
func (w *worklist) join(found []*root, self map[string][]*root) error {
	declared := slices.Clone(w.req.Roots)
	var roots []*root
	for _, r := range declared {
		dir := snapshotDir(r.Path)
		if !w.snap.IsDir(dir) {
			return &RootNotFoundError{Root: r}
		}
		r.Path = dir
		named := r.Namespace != "" || r.Name != ""
		r.Namespace, r.Name = cmp.Or(r.Namespace, "flux-system"), cmp.Or(r.Name, "flux-system")
		i := slices.IndexFunc(found, func(f *root) bool {
			return f.Path == dir && f.Namespace == r.Namespace && f.Name == r.Name
		})
		if i >= 0 {
			f := *found[i]
			f.Cluster = r.Cluster
			roots = append(roots, &f)
			continue
		}
		if len(self[dir]) == 1 && !named {
			f := *self[dir][0]
			f.Cluster, f.DeclaredBy = r.Cluster, r.DeclaredBy
			roots = append(roots, &f)
			continue
		}
		ref := object.Ref{Group: fluxKustomizeGroup, Version: "v1", Kind: "Kustomization", Namespace: r.Namespace, Name: r.Name}
		roots = append(roots, &root{Root: r, sync: &controller.Sync{
			Engine: w.engines[0].Name, Object: ref, Path: dir, Prune: true,
			Source: controller.SourceRef{Kind: "GitRepository", Namespace: r.Namespace, Name: r.Name},
		}})
	}
	rest := slices.DeleteFunc(slices.Clone(found), func(f *root) bool {
		return slices.ContainsFunc(roots, func(r *root) bool {
			return r.Path == f.Path && r.Namespace == f.Namespace && r.Name == f.Name
		})
	})
	rest = dropTwins(rest)
	taken := map[cluster.Name]bool{}
	for _, r := range roots {
		taken[r.Cluster] = true
	}
	names := clusterNames(rest, taken)
	for i, r := range rest {
		r.Cluster = names[i]
	}
	roots = append(roots, rest...)
	slices.SortFunc(roots, func(a, b *root) int {
		return cmp.Or(strings.Compare(string(a.Cluster), string(b.Cluster)), strings.Compare(a.Path, b.Path),
			strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	w.roots, w.rooted = roots, map[cluster.Name]bool{}
	for _, r := range roots {
		w.rooted[r.Cluster] = true
	}
	return nil
}

// dropTwins keeps one of several declarations of one root: a FluxInstance
// beside an old gotk-sync.yaml describes the same object.
func dropTwins(found []*root) []*root {
	var out []*root
	for _, f := range found {
		if !slices.ContainsFunc(out, func(o *root) bool {
			return o.Path == f.Path && o.Namespace == f.Namespace && o.Name == f.Name
		}) {
			out = append(out, f)
		}
	}
	return out
}

// snapshotDir cleans a path that a user wrote the way they write spec.path.
func snapshotDir(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	return p
}

// clusterNames names the clusters of found roots by the last element of their
// path, with as many elements before it as it takes to tell them apart.
func clusterNames(roots []*root, taken map[cluster.Name]bool) []cluster.Name {
	names := make([]cluster.Name, len(roots))
	for n := 1; ; n++ {
		count := map[cluster.Name]int{}
		for i, r := range roots {
			if names[i] == "" || count[names[i]] > 0 {
				names[i] = tail(r.Path, n)
			}
		}
		for _, name := range names {
			count[name]++
		}
		again := false
		for i, r := range roots {
			if (count[names[i]] > 1 || taken[names[i]]) && n < strings.Count(r.Path, "/")+1 {
				names[i], again = "", true
			}
		}
		if !again {
			break
		}
	}
	// Roots with one path differ by the name of their Sync.
	seen := map[cluster.Name]bool{}
	for i, r := range roots {
		for seen[names[i]] || taken[names[i]] {
			names[i] += cluster.Name("@" + r.Namespace + "/" + r.Name)
		}
		seen[names[i]] = true
	}
	return names
}

func tail(p string, n int) cluster.Name {
	if p == "" {
		return "cluster"
	}
	parts := strings.Split(p, "/")
	return cluster.Name(strings.Join(parts[max(0, len(parts)-n):], "/"))
}

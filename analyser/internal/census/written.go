package census

import (
	"path"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// asWritten are the documents that a failed build would have read, as they are
// written: what they declare may exist from an earlier revision, so it is
// followed, but everything that comes of it is blocked.
func (w *worklist) asWritten(a *placement.Applied) []*kustomize.Object {
	var out []*kustomize.Object
	for _, u := range a.Result.Uses {
		if u.Role != kustomize.RoleObject {
			continue
		}
		e, ok := w.snap.Lookup(u.Path)
		if !ok || !e.IsFile() {
			continue
		}
		f, err := w.docs.Read(w.snap, e)
		if err != nil {
			continue
		}
		for _, d := range f.Documents {
			if d.Ref.Kind != "" && d.Ref.Name != "" {
				out = append(out, w.raw(d))
			}
		}
	}
	return out
}

// below are the manifests below the path of a blocked Sync that its build does
// not name.
func (w *worklist) below(a *placement.Applied) []kustomize.Use {
	named := map[string]bool{}
	for _, u := range a.Result.Uses {
		named[u.Path] = true
	}
	var out []kustomize.Use
	for _, e := range w.snap.Below(a.Directory) {
		if !e.IsFile() || !isManifest(e.Path) || named[e.Path] {
			continue
		}
		out = append(out, kustomize.Use{Path: e.Path, Role: w.ownRole(e)})
	}
	return out
}

// ownRole is the role of a manifest by its content alone.
func (w *worklist) ownRole(e snapshot.Entry) kustomize.Role {
	if kustomize.IsKustomizationFile(path.Base(e.Path)) {
		return kustomize.RoleKustomization
	}
	if f := w.file(e); f != nil && len(objects(f)) > 0 {
		return kustomize.RoleObject
	}
	return kustomize.RoleOther
}

// emptied are the files that hold objects none of which is in the build.
func (w *worklist) emptied(a *placement.Applied) map[string]bool {
	left := map[string]bool{}
	for _, o := range a.Result.Objects {
		left[w.positions.Position(o.Origin).Path] = true
	}
	out := map[string]bool{}
	for _, u := range a.Result.Uses {
		if u.Role != kustomize.RoleObject || left[u.Path] {
			continue
		}
		if e, ok := w.snap.Lookup(u.Path); ok && e.IsFile() {
			if f := w.file(e); f != nil && len(objects(f)) > 0 {
				out[u.Path] = true
			}
		}
	}
	return out
}

// objects are the resources of a file that are Kubernetes objects.
func objects(f *document.File) []document.Resource {
	var out []document.Resource
	for _, r := range f.Resources() {
		if r.Ref.Kind != "" && r.Ref.Name != "" && r.Ref.Version != "" && r.Ref.Group != "kustomize.config.k8s.io" {
			out = append(out, r)
		}
	}
	return out
}

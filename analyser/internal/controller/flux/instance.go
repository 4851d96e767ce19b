package flux

import (
	"regexp"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// readFluxInstance reads the root that a FluxInstance creates with spec.sync:
// a source and a Kustomization of one name, which stand in no file (upstream:
// flux-operator, api/v1 FluxInstance and the sync template of its builder).
func readFluxInstance(r *reader, d *controller.Declared) {
	sync := r.spec().get("sync")
	if !sync.set() {
		return
	}
	ns := r.obj.Ref.Namespace
	name := or(sync.get("name").text(), ns)
	kind := sync.get("kind").required().oneOf("OCIRepository", "GitRepository", "Bucket")
	url, ref := sync.get("url").required().text(), sync.get("ref").required().text()
	path := sync.get("path").required()

	source := controller.Source{
		Engine: Name,
		Object: object.Ref{Group: groupSource, Version: "v1", Kind: kind, Namespace: ns, Name: name},
		Pos:    sync.pos(), URL: url,
		Ref: map[string]string{"OCIRepository": "tag:", "Bucket": "bucket:"}[kind] + ref,
	}
	if kind == "GitRepository" {
		source.Ref = "name:" + ref
	}
	root := controller.Root{
		Source: source,
		Sync: controller.Sync{
			Engine:  Name,
			Object:  object.Ref{Group: groupKustomize, Version: "v1", Kind: "Kustomization", Namespace: ns, Name: name},
			Pos:     sync.pos(),
			Path:    path.text(),
			PathPos: path.pos(),
			Source:  controller.SourceRef{Kind: kind, Namespace: ns, Name: name},
			Prune:   true,
		},
	}
	root.Sync.Problem, root.Source.Problem = r.problem(), r.problem()
	if r.problem() == nil {
		patchRoot(r, &root)
	}
	d.Roots = append(d.Roots, root)
}

// patchRoot applies the patches of spec.kustomize.patches that may touch the
// root's own objects, which are part of the instance's kustomize build: they
// can move the path, add decryption or substitution, or suspend it. The
// patched objects are read like any others; a root that cannot be patched is a
// Problem.
func patchRoot(r *reader, root *controller.Root) {
	source, sync := root.Source.Object, root.Sync.Object
	var patches []kustomize.Patch
	var at position.Pos
	for _, p := range r.spec().get("kustomize").get("patches").list() {
		patch := kustomize.Patch{Text: p.get("patch").required().text(), Target: readSelector(p.get("target"))}
		if touches(patch, source) || touches(patch, sync) {
			patches, at = append(patches, patch), p.pos()
		}
	}
	if len(patches) == 0 {
		return
	}
	view := snapshot.FromMap(map[string]string{
		"kustomization.yaml": "resources: [sync.yaml]\n",
		"sync.yaml":          rootText(root),
	})
	docs := document.NewReader(&position.Set{}, document.Limits{})
	b := kustomize.NewBuilder(view, docs).Build(kustomize.Target{Flux: &kustomize.Overlay{Patches: patches}})
	problem := &controller.Problem{
		Code: "patched_root", Pos: at,
		Message: "a patch in spec.kustomize.patches changes the root that spec.sync creates, and cannot be applied",
	}
	var patched controller.Declared
	for _, o := range b.Objects {
		content := o.Tree.Open()
		setLines(content.Node, int(at)) // of a set of its own, which nobody else knows
		o := newReader(&kustomize.Object{Ref: o.Ref, Tree: packed.Of(content.Node, content.Unknown), Origin: at})
		switch o.obj.Ref.Kind {
		case "Kustomization":
			readKustomization(o, &patched)
		case "GitRepository":
			readGitRepository(o, &patched)
		case "OCIRepository":
			readOCIRepository(o, &patched)
		case "Bucket":
			readBucket(o, &patched)
		}
	}
	if b.Failure != nil || b.Unresolved != nil || len(patched.Syncs) != 1 || len(patched.Sources) != 1 {
		root.Sync.Problem, root.Source.Problem = problem, problem
		return
	}
	root.Sync, root.Source = patched.Syncs[0], patched.Sources[0]
}

// touches reports that a patch may select an object: by its target, or, for a
// patch without one, by the kind and name that it holds.
func touches(p kustomize.Patch, o object.Ref) bool {
	if t := p.Target; t != nil {
		return selects(t.Kind, o.Kind) && selects(t.Name, o.Name) && selects(t.Namespace, o.Namespace) &&
			selects(t.Group, o.Group) && selects(t.Version, o.Version)
	}
	f := document.NewReader(&position.Set{}, document.Limits{}).Text(p.Text, 0)
	for _, d := range f.Documents {
		if d.Ref.Kind == o.Kind && d.Ref.Name == o.Name {
			return true
		}
	}
	return false
}

// rootText is the source and the Kustomization as the operator writes them.
func rootText(root *controller.Root) string {
	kind, ref, _ := strings.Cut(root.Source.Ref, ":")
	sourceSpec := map[string]any{"interval": "1m", "url": root.Source.URL, "ref": map[string]any{kind: ref}}
	if kind == "bucket" {
		sourceSpec = map[string]any{"interval": "1m", "endpoint": root.Source.URL, "bucketName": ref}
	}
	var b strings.Builder
	for _, o := range []struct {
		ref  object.Ref
		spec map[string]any
	}{
		{root.Source.Object, sourceSpec},
		{root.Sync.Object, map[string]any{
			"interval": "10m0s", "path": root.Sync.Path, "prune": true,
			"sourceRef": map[string]any{"kind": root.Sync.Source.Kind, "name": root.Sync.Source.Name},
		}},
	} {
		text, err := sigsyaml.Marshal(map[string]any{
			"apiVersion": o.ref.APIVersion(), "kind": o.ref.Kind,
			"metadata": map[string]any{"name": o.ref.Name, "namespace": o.ref.Namespace}, "spec": o.spec,
		})
		if err != nil {
			return "" // maps of strings can always be written
		}
		b.WriteString("---\n" + string(text))
	}
	return b.String()
}

// selects matches as kustomize's selectors do: an anchored expression, or
// anything when it is empty.
func selects(expr, s string) bool {
	if expr == "" {
		return true
	}
	re, err := regexp.Compile("^(?:" + expr + ")$")
	return err != nil || re.MatchString(s)
}

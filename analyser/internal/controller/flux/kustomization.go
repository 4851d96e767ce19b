package flux

import (
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// readKustomization reads a Kustomization (upstream:
// kustomize-controller/api v1, v1beta2, v1beta1).
func readKustomization(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	s := controller.Sync{Engine: Name, Object: r.obj.Ref, Pos: r.obj.Origin, Declared: r.obj.Tree}

	spec.get("interval").required().duration()
	s.Prune = spec.get("prune").required().boolean()
	s.Suspend = spec.get("suspend").boolean()

	p := spec.get("path")
	s.Path, s.PathPos = p.text(), p.pos()
	s.Source = readSourceRef(spec.get("sourceRef").required(), r.obj.Ref.Namespace,
		"OCIRepository", "GitRepository", "Bucket", "ExternalArtifact")
	s.KubeConfig = readKubeConfig(spec.get("kubeConfig"), r.obj.Ref.Namespace)
	s.DependsOn = readDependsOn(spec.get("dependsOn"), r.obj.Ref.Kind, r.obj.Ref.Namespace)
	s.Overlay = readOverlay(spec)
	s.Variables = readPostBuild(spec.get("postBuild"))

	common := spec.get("commonMetadata")
	s.CommonLabels, _ = common.get("labels").textMap()
	s.CommonAnnotations, _ = common.get("annotations").textMap()

	if dec := spec.get("decryption"); dec.set() {
		s.Decryption = dec.get("provider").required().oneOf("sops") == "sops"
	}
	s.Overlay.KeepsEncrypted = !s.Decryption
	s.ServiceAccount = spec.get("serviceAccountName").detail()
	checkKustomization(spec)
	s.Problem = r.problem()
	d.Syncs = append(d.Syncs, s)
}

// readSourceRef reads a reference to a source; the namespace defaults to that
// of the referring object.
func readSourceRef(f field, namespace string, kinds ...string) controller.SourceRef {
	ref := controller.SourceRef{
		Kind:      f.get("kind").text(),
		Namespace: f.get("namespace").text(),
		Name:      f.get("name").text(),
	}
	if f.set() {
		f.get("kind").required().oneOf(kinds...)
		f.get("name").required()
	}
	if ref.Namespace == "" {
		ref.Namespace = namespace
	}
	return ref
}

// readKubeConfig reads spec.kubeConfig. The CRD wants exactly one of secretRef
// and configMapRef (a CEL rule of pkg/apis/meta KubeConfigReference). With
// both the reference that older kustomize-controllers use is returned beside
// the Problem.
func readKubeConfig(f field, namespace string) *controller.KubeConfigRef {
	if !f.set() {
		return nil
	}
	secret, config := f.get("secretRef"), f.get("configMapRef")
	if secret.set() && config.set() {
		f.r.fail("two_kubeconfigs", later(secret, config),
			"spec.kubeConfig has both secretRef and configMapRef; the API server accepts exactly one")
	}
	switch {
	case secret.set():
		n := secret.get("name").required()
		return &controller.KubeConfigRef{
			Kind: "Secret", Namespace: namespace, Name: n.text(),
			Key: secret.get("key").text(), Pos: n.pos(),
		}
	case config.set():
		n := config.get("name").required()
		return &controller.KubeConfigRef{Kind: "ConfigMap", Namespace: namespace, Name: n.text(), Pos: n.pos()}
	}
	f.r.fail("invalid_spec", f.pos(), "spec.kubeConfig needs a secretRef or a configMapRef")
	return nil
}

// later is the place that was added last: that of a patch, else the later line;
// files are numbered in the order in which they are read.
func later(a, b field) position.Pos {
	p, q := a.get("name").pos(), b.get("name").pos()
	switch x, y := a.r.patched(p), a.r.patched(q); {
	case x && !y:
		return p
	case y && !x:
		return q
	}
	return max(p, q)
}

// patched reports that a patch wrote the line at pos: of the places that
// contributed to the object it is the last that starts before it.
func (r *reader) patched(pos position.Pos) bool {
	start, patch := position.Pos(0), false
	if r.obj.Origin <= pos {
		start = r.obj.Origin
	}
	for _, s := range r.obj.Steps {
		if s.Kind == kustomize.StepPatch && s.Pos <= pos && s.Pos > start {
			start, patch = s.Pos, true
		}
	}
	return patch
}

func readDependsOn(f field, kind, namespace string) []controller.Dependency {
	var out []controller.Dependency
	for _, e := range f.list() {
		dep := controller.Dependency{
			Kind: kind, Namespace: e.get("namespace").detail(), Name: e.get("name").required().detail(),
			OwnCheck: e.get("readyExpr").set(), Pos: e.pos(),
		}
		if dep.Namespace == "" {
			dep.Namespace = namespace
		}
		out = append(out, dep)
	}
	return out
}

func readPostBuild(f field) controller.Variables {
	v := controller.Variables{Declared: f.set()}
	if !v.Declared {
		return v
	}
	v.Always = f.get("substituteStrategy").oneOf("WithVariables", "Always") == "Always"
	v.Inline, v.Unknown = f.get("substitute").textMap()
	for _, e := range f.get("substituteFrom").list() {
		v.From = append(v.From, controller.VariablesFrom{
			Kind:     e.get("kind").required().oneOf("Secret", "ConfigMap"),
			Name:     e.get("name").required().between(1, 253),
			Optional: e.get("optional").boolean(),
			Pos:      e.pos(),
		})
	}
	return v
}

func readOverlay(spec field) kustomize.Overlay {
	o := kustomize.Overlay{
		TargetNamespace:         spec.get("targetNamespace").between(1, 63),
		NamePrefix:              spec.get("namePrefix").between(1, 200),
		NameSuffix:              spec.get("nameSuffix").between(1, 200),
		Components:              spec.get("components").texts(),
		IgnoreMissingComponents: spec.get("ignoreMissingComponents").boolean(),
		BuildMetadata:           buildMetadata(spec.get("buildMetadata")),
	}
	for _, e := range spec.get("patchesStrategicMerge").list() {
		o.Patches = append(o.Patches, inlinePatch(e, nil))
	}
	for _, e := range spec.get("patches").list() {
		text := e.get("patch").required()
		p := kustomize.Patch{Text: text.text(), Target: readSelector(e.get("target"))}
		if text.set() {
			p.Pos = scalarStart(text.node)
		}
		o.Patches = append(o.Patches, p)
	}
	for _, e := range spec.get("patchesJson6902").list() {
		o.Patches = append(o.Patches, inlinePatch(e.get("patch").required(), readSelector(e.get("target").required())))
	}
	for _, e := range spec.get("images").list() {
		o.Images = append(o.Images, kustomize.Image{
			Name:    e.get("name").required().text(),
			NewName: e.get("newName").detail(),
			NewTag:  e.get("newTag").detail(),
			Digest:  e.get("digest").detail(),
		})
	}
	return o
}

// inlinePatch is a patch that the deprecated fields of v1beta1 and v1beta2
// hold as YAML, not as text.
func inlinePatch(f field, target *kustomize.Selector) kustomize.Patch {
	p := kustomize.Patch{Pos: f.pos(), Target: target}
	if !f.set() {
		return p
	}
	text, err := yaml.Marshal(f.node)
	if err != nil {
		f.wrong("a patch")
	}
	p.Text = string(text)
	return p
}

func readSelector(f field) *kustomize.Selector {
	if !f.set() {
		return nil
	}
	return &kustomize.Selector{
		Group:              f.get("group").text(),
		Version:            f.get("version").text(),
		Kind:               f.get("kind").text(),
		Name:               f.get("name").text(),
		Namespace:          f.get("namespace").text(),
		LabelSelector:      f.get("labelSelector").text(),
		AnnotationSelector: f.get("annotationSelector").text(),
	}
}

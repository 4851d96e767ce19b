package census

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// apply decides whether what a Sync built is certain to be refused when it is
// applied. kustomize-controller applies in stages, and before it applies one it
// asks the API server about every object of it: one that is refused stops its
// stage and the later ones (upstream: fluxcd/pkg/ssa ApplyAllStaged, ApplyAll).
func (w *worklist) apply(a *placement.Applied) {
	first := lastStage
	var sealed bool
	for _, o := range w.suspects(a.Result) {
		if !a.Sync.Decryption && encryptedSecret(o) {
			sealed = true
			a.Rejected = append(a.Rejected, placement.Rejected{
				Object: o, Reason: "secret_encrypted", Pos: o.Origin,
				Detail: o.Ref.String() + " is encrypted with SOPS and spec.decryption is not set",
			})
			continue
		}
		if inMetadata(o, "prune", "disabled") {
			if a.Kept == nil {
				a.Kept = map[*kustomize.Object]bool{}
			}
			a.Kept[o] = true
		}
		if c := condition(o); c != "" {
			if a.Conditions == nil {
				a.Conditions = map[*kustomize.Object]string{}
			}
			a.Conditions[o] = c
		}
		if skipsApply(o) {
			continue
		}
		if r := w.refused(a, o); r != nil {
			a.Rejected = append(a.Rejected, *r)
			first = min(first, stage(o.Ref))
		}
	}
	if len(a.Rejected) == 0 {
		return
	}
	slices.SortStableFunc(a.Rejected, func(x, y placement.Rejected) int {
		p, q := w.positions.Position(x.Pos), w.positions.Position(y.Pos)
		return cmp.Or(strings.Compare(p.Path, q.Path), cmp.Compare(p.Line, q.Line))
	})
	detail := a.Rejected[0].Detail
	if n := len(a.Rejected) - 1; n > 0 {
		detail += fmt.Sprintf(" (and %d more)", n)
	}
	a.Outcome = placement.Outcome{State: placement.Failed, Reason: "apply_failed", Detail: detail, Pos: a.Rejected[0].Pos}
	if sealed {
		return // the controller looks for these before the first stage
	}
	a.Arrived = map[*kustomize.Object]bool{}
	for _, o := range a.Result.Objects {
		if stage(o.Ref) < first {
			a.Arrived[o] = true
		}
	}
}

// suspects are the objects of a build that are marked in some way or that some
// cluster could refuse. They are looked for once, however many clusters apply
// the build.
func (w *worklist) suspects(r *controller.Result) []*kustomize.Object {
	if out, ok := w.suspected[r]; ok {
		return out
	}
	if out, ok := w.memory.suspects(r); ok {
		w.suspected[r] = out
		return out
	}
	plain := &placement.Applied{Sync: &controller.Sync{}}
	found := func(string, *yaml.Node, string, ...any) *placement.Rejected { return &placement.Rejected{} }
	var out []*kustomize.Object
	for _, o := range r.Objects {
		k, ns := o.Ref.GroupKind(), o.Ref.Namespace
		if ns == "" && k.Scope() != object.ClusterScoped || ns != "" && !isLabel(ns) || !validName(k, o.Ref.Name) ||
			encryptedSecret(o) || inMetadata(o, "prune", "disabled") || condition(o) != "" ||
			w.refusedMetadata(plain, o, found) != nil || len(w.declared(o).Refused()) > 0 {
			out = append(out, o)
		}
	}
	w.suspected[r] = out
	return out
}

// refused is why the API server of the cluster where a applies is certain to
// refuse an object; nil when it is not certain.
func (w *worklist) refused(a *placement.Applied, o *kustomize.Object) *placement.Rejected {
	if o.UnknownIdentity || a.Sync.Decryption && field(o.Node(), "sops") != nil {
		return nil // what is encrypted is not what is applied
	}
	no := func(reason string, at *yaml.Node, format string, args ...any) *placement.Rejected {
		pos := o.Origin
		if at != nil && at.Line != 0 {
			pos = position.Pos(at.Line)
		}
		return &placement.Rejected{Object: o, Reason: reason, Detail: o.Ref.String() + " " + fmt.Sprintf(format, args...), Pos: pos}
	}
	gk := o.Ref.GroupKind()
	scope := w.scope(a.Target, gk)
	meta := field(o.Node(), "metadata")
	switch ns := o.Ref.Namespace; {
	case scope == object.Namespaced && ns == "":
		return no("namespace_missing", nil, "has no namespace, and Flux knows no default one")
	case scope == object.Namespaced && !isLabel(ns):
		return no("invalid_namespace", field(meta, "namespace"), "names a namespace that cannot exist")
	case scope != object.ScopeUnknown && !o.UnknownName && !validName(gk, o.Ref.Name):
		return no("invalid_name", field(meta, "name"), "has a name that the API server refuses")
	}
	if r := w.refusedMetadata(a, o, no); r != nil {
		return r
	}
	if ps := w.declared(o).Refused(); len(ps) > 0 && !w.isRootSource(a.Target, o) {
		p := ps[0]
		return &placement.Rejected{Object: o, Reason: p.Code, Detail: o.Ref.String() + ": " + p.Message, Pos: cmp.Or(p.Pos, o.Origin)}
	}
	return nil
}

// refusedMetadata looks at labels and annotations. A value that is no string,
// most often a number that a variable put between quotes which kustomize drops,
// is refused in an annotation. In a label it is not: the controller then finds
// no labels and replaces them all by its own (upstream: ssa SetOwnerLabels and
// SetCommonMetadata over unstructured GetLabels, GetAnnotations).
func (w *worklist) refusedMetadata(a *placement.Applied, o *kustomize.Object, no func(string, *yaml.Node, string, ...any) *placement.Rejected) *placement.Rejected {
	content := o.Tree.Open()
	meta := field(content.Node, "metadata")
	if key, v := notText(field(meta, "annotations"), content.Unknown); v != nil && len(a.Sync.CommonAnnotations) == 0 {
		return no("invalid_metadata", v, "has a value that is no string in the annotation %s", key)
	}
	labels := field(meta, "labels")
	if _, v := notText(labels, content.Unknown); v != nil || labels == nil || labels.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(labels.Content); i += 2 {
		v := labels.Content[i+1]
		if _, unknown := content.Unknown[v]; !unknown && (len(v.Value) > 63 || !labelValue().MatchString(v.Value)) {
			return no("invalid_metadata", v, "has a value for the label %s that the API server refuses", labels.Content[i].Value)
		}
	}
	return nil
}

// notText is the first value of a mapping that is certainly no string, with its
// key; nil when there is none.
func notText(m *yaml.Node, unknown map[*yaml.Node]string) (key string, value *yaml.Node) {
	if m == nil || m.Kind != yaml.MappingNode {
		return "", nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		v := m.Content[i+1]
		if _, is := unknown[v]; is {
			continue
		}
		switch tag := v.ShortTag(); {
		case v.Kind != yaml.ScalarNode, tag == "!!int", tag == "!!float", tag == "!!bool":
			return m.Content[i].Value, v
		}
	}
	return "", nil
}

// isRootSource reports the source object of a root. One that is written wrongly
// is a placeholder that is filled in when the cluster is bootstrapped; see view.
func (w *worklist) isRootSource(on cluster.Name, o *kustomize.Object) bool {
	return w.rootSource(on, controller.SourceRef{Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name}) != nil
}

// The syntax of names (upstream: apimachinery util/validation). Kinds whose
// names follow another rule are taken for right.
var (
	dnsLabel     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) })
	dnsSubdomain = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	})
	labelValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`) })
)

func isLabel(s string) bool { return len(s) <= 63 && dnsLabel().MatchString(s) }

func validName(k object.GroupKind, name string) bool {
	switch k.Group {
	case "rbac.authorization.k8s.io", "certificates.k8s.io", "apiregistration.k8s.io":
		return name != "." && name != ".." && !strings.ContainsAny(name, "/%")
	}
	switch k.Kind {
	case "Namespace":
		return k.Group != "" || isLabel(name)
	case "IPAddress":
		return true
	}
	return len(name) <= 253 && dnsSubdomain().MatchString(name)
}

// scope is whether objects of a kind have a namespace: what the cluster serves
// where somebody looked, then what Kubernetes and Flux say of their own kinds,
// then what a definition on the cluster says.
func (w *worklist) scope(on cluster.Name, k object.GroupKind) object.Scope {
	if s := w.req.Observed.On(on).Scope(k); s != object.ScopeUnknown {
		return s
	}
	if s := k.Scope(); s != object.ScopeUnknown {
		return s
	}
	if strings.HasSuffix(k.Group, ".toolkit.fluxcd.io") || k.Group == fluxOperatorGroup || k.Group == "source.extensions.fluxcd.io" {
		return object.Namespaced
	}
	if cf := w.prev.clusters[on]; cf != nil {
		if d := cf.definitions[k]; d != nil {
			return definedScope(d)
		}
	}
	return object.ScopeUnknown
}

func definedScope(definition *kustomize.Object) object.Scope {
	switch text(definition.Node(), "spec", "scope") {
	case "Cluster":
		return object.ClusterScoped
	case "Namespaced":
		return object.Namespaced
	}
	return object.ScopeUnknown
}

// The stages of an apply (upstream: fluxcd/pkg/ssa/utils IsClusterDefinition,
// IsClassDefinition). Stages that the user of the controller adds come before
// the last one and cannot be seen here.
const (
	definitionStage = iota
	classStage
	lastStage
)

func stage(r object.Ref) int {
	switch {
	case r.Group == "apiextensions.k8s.io" && strings.EqualFold(r.Kind, "CustomResourceDefinition"),
		r.Group == "" && r.Version == "v1" && strings.EqualFold(r.Kind, "Namespace"),
		r.Group == "rbac.authorization.k8s.io" && strings.EqualFold(r.Kind, "ClusterRole"):
		return definitionStage
	case strings.HasSuffix(r.Kind, "Class"):
		return classStage
	}
	return lastStage
}

// skipsApply reports an object that the controller leaves alone (upstream:
// shouldSkipApply with the exclusions of kustomize-controller): a label or
// annotation, whatever the case of its value.
func skipsApply(o *kustomize.Object) bool {
	return inMetadata(o, "reconcile", "disabled") || inMetadata(o, "ssa", "Ignore")
}

// condition is when the controller applies an object that is marked; "" for one
// that is not.
func condition(o *kustomize.Object) string {
	switch {
	case skipsApply(o):
		return "the object is marked to be left alone: it is not applied, whether or not the inventory lists it"
	case inMetadata(o, "ssa", "IfNotPresent"):
		return "the object is applied only while it is not there"
	}
	return ""
}

// inMetadata reports a label or annotation of kustomize-controller, whatever
// the case of its value (upstream: fluxcd/pkg/ssa/utils AnyInMetadata).
func inMetadata(o *kustomize.Object, key, value string) bool {
	for _, where := range []string{"labels", "annotations"} {
		if strings.EqualFold(text(o.Node(), "metadata", where, fluxKustomizeGroup+"/"+key), value) {
			return true
		}
	}
	return false
}

// encryptedSecret reports a Secret that is still encrypted after the build
// (upstream: kustomize-controller internal/decryptor IsEncryptedSecret,
// IsDecryptionDisabled).
func encryptedSecret(o *kustomize.Object) bool {
	return o.Ref.Kind == "Secret" && o.Ref.APIVersion() == "v1" && field(o.Node(), "sops") != nil &&
		!strings.EqualFold(text(o.Node(), "metadata", "annotations", fluxKustomizeGroup+"/decrypt"), "disabled")
}

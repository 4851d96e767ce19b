package ownership

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
)

// maker is who made an object that is in no inventory. What comes first wins:
// what every cluster has by itself, ownerReferences, then traces of a tool that
// name this very object and that a field manager confirms, then the field
// managers alone. A label alone is never enough.
func (t *tenant) maker(p *observed.Present) (Maker, string, string, observed.Manager) {
	if why := systemObject(p); why != "" {
		return System, "", why, observed.Manager{}
	}
	if len(p.Owners) > 0 {
		c := t.follow(p, 0)
		return c.maker, c.name, c.evidence, c.manager
	}
	return t.madeBy(p)
}

// madeBy is maker for an object without owners.
func (t *tenant) madeBy(p *observed.Present) (Maker, string, string, observed.Manager) {
	for _, tool := range []func(*observed.Present) (Maker, string, string, bool){t.helm, t.argo, sveltos, t.leftover} {
		if m, name, evidence, ok := tool(p); ok {
			return m, name, evidence, creator(p)
		}
	}
	m := creator(p)
	kind, evidence := managerKind(m, p)
	if kind == System && !systemNamespace(p) {
		kind = Program
	}
	if m.Name == "" {
		return kind, "", evidence, m
	}
	return kind, m.Name, evidence, m
}

// chain is where ownerReferences lead.
type chain struct {
	maker          Maker
	name, evidence string
	manager        observed.Manager
}

const maxOwners = 32

// follow goes from owner to owner until one is in an inventory, or has none.
func (t *tenant) follow(p *observed.Present, depth int) chain {
	if c, ok := t.chains[p]; ok {
		return c
	}
	// For the case that owners go in a circle.
	t.chains[p] = chain{maker: Nobody, evidence: "its ownerReferences go in a circle"}
	c := t.next(p, depth)
	t.chains[p] = c
	return c
}

func (t *tenant) next(p *observed.Present, depth int) chain {
	o := p.Owners[0]
	for _, x := range p.Owners {
		if x.Controller {
			o = x
			break
		}
	}
	owner := t.byUID[o.UID]
	if owner != nil && !mayOwn(owner, p, o) {
		// Kubernetes takes such an owner for absent.
		m, name, evidence, manager := t.madeBy(p)
		return chain{m, name, "its ownerReferences name " + owner.Object.Key().String() + ", which cannot own it; " + evidence, manager}
	}
	k := object.Key{Group: o.Object.Group, Kind: o.Object.Kind, Namespace: p.Object.Namespace, Name: o.Object.Name}
	if owner == nil || o.UID == "" {
		if owner = t.byKey[k]; owner == nil {
			owner = t.byKey[object.Key{Group: k.Group, Kind: k.Kind, Name: k.Name}]
		}
		if owner != nil && o.UID != "" && owner.UID != "" && owner.UID != o.UID {
			owner = nil // the one that it had is gone
		}
	}
	if owner != nil {
		k = owner.Object.Key()
	}
	for _, key := range []object.Key{k, {Group: k.Group, Kind: k.Kind, Name: k.Name}} {
		if claims := t.claims[t.place(t.Name, key)]; len(claims) > 0 {
			return chain{Owner, key.String(), "its owner " + key.String() + " is in the inventory of " + claims[0].String(), creator(p)}
		}
	}
	switch {
	case owner == nil:
		return chain{Owner, k.String(), "its owner " + k.String() + " was not read", creator(p)}
	case systemObject(owner) != "":
		return chain{System, "", "its owner " + k.String() + " is part of the system", observed.Manager{}}
	case len(owner.Owners) > 0 && depth < maxOwners:
		c := t.follow(owner, depth+1)
		return c
	case len(owner.Owners) > 0:
		return chain{Owner, k.String(), "its owners go on and on", creator(p)}
	}
	m, name, evidence, manager := t.madeBy(owner)
	return chain{m, name, "its owner " + k.String() + ": " + evidence, manager}
}

// mayOwn reports whether a reference means owner: one of its kind and name, in
// the namespace of p or in none (upstream: k8s.io/kubernetes
// pkg/controller/garbagecollector).
func mayOwn(owner, p *observed.Present, o observed.Owner) bool {
	k := owner.Object.Key()
	return k.Kind == o.Object.Kind && k.Name == o.Object.Name && (k.Namespace == "" || k.Namespace == p.Object.Namespace)
}

// helm recognises what Helm installed: both annotations and the label, and a
// field manager that is Helm or, where nothing is known of managers, none.
func (t *tenant) helm(p *observed.Present) (Maker, string, string, bool) {
	name, ns := p.Annotations["meta.helm.sh/release-name"], p.Annotations["meta.helm.sh/release-namespace"]
	byHelm := slices.ContainsFunc(p.Managers, func(m observed.Manager) bool {
		return m.Subresource == "" && strings.Contains(strings.ToLower(m.Name), "helm")
	})
	hook := p.Annotations["helm.sh/hook"]
	switch {
	case managedByHelm(p) && (byHelm || len(p.Managers) == 0):
	case byHelm && (hook != "" || p.Object.Kind == "CustomResourceDefinition"):
		// Neither hooks nor what is in a chart's crds directory is labelled.
		name, ns = p.Labels["helm.toolkit.fluxcd.io/name"], p.Labels["helm.toolkit.fluxcd.io/namespace"]
	default:
		return "", "", "", false
	}
	evidence := "annotations and label of Helm"
	if byHelm {
		evidence += ", and its field manager"
	}
	if name == "" {
		return Helm, "", "the field manager of Helm", true
	}
	if of := t.releasesIn(name, ns); len(of) > 0 {
		c := of[0]
		if c.HasInventory && hook == "" && p.Object.Kind != "CustomResourceDefinition" {
			return Leftover, c.String(), evidence + "; the release is that of " + c.String() + ", whose inventory does not list it", true
		}
		return Helm, c.String(), evidence + "; the release is that of " + c.String(), true
	}
	return Helm, "release " + ns + "/" + name, evidence, true
}

// managedByHelm reports the label and the annotation that Helm puts on what it
// installs.
func managedByHelm(p *observed.Present) bool {
	return strings.EqualFold(p.Labels["app.kubernetes.io/managed-by"], "Helm") && p.Annotations["meta.helm.sh/release-name"] != ""
}

// releasesOf are the HelmReleases whose release an object says that it is of.
func (t *tenant) releasesOf(p *observed.Present) []*claimant {
	return t.releasesIn(p.Annotations["meta.helm.sh/release-name"], p.Annotations["meta.helm.sh/release-namespace"])
}

// releasesIn are the HelmReleases that install a release of this name into a
// namespace.
func (t *tenant) releasesIn(name, namespace string) []*claimant {
	var out []*claimant
	for _, c := range t.releases[name] {
		if cmp.Or(c.ReleaseNamespace, c.Object.Namespace) == namespace {
			out = append(out, c)
		}
	}
	return out
}

// argo recognises an object that its tracking id names itself; a copied id names
// another one (upstream: argo-cd util/argo/resource_tracking.go).
func (t *tenant) argo(p *observed.Present) (Maker, string, string, bool) {
	parts := strings.SplitN(p.Annotations["argocd.argoproj.io/tracking-id"], ":", 3)
	if len(parts) != 3 {
		return "", "", "", false
	}
	group, kind, ok := strings.Cut(parts[1], "/")
	ns, name, ok2 := strings.Cut(parts[2], "/")
	o := p.Object
	if !ok || !ok2 || parts[0] == "" || group != o.Group || kind != o.Kind || name != o.Name {
		return "", "", "", false
	}
	if ns != o.Namespace && o.Namespace != "" {
		return "", "", "", false
	}
	app := parts[0]
	if in, name, ok := strings.Cut(app, "_"); ok {
		app = in + "/" + name
	}
	return ArgoCD, "Application " + app, "its tracking id names this object", true
}

// sveltos recognises what a Sveltos profile deployed: the label that names what
// the object comes from, and the annotation that names the profile.
func sveltos(p *observed.Present) (Maker, string, string, bool) {
	kind, name := p.Annotations["projectsveltos.io/owner-kind"], p.Annotations["projectsveltos.io/owner-name"]
	if name == "" || p.Labels["projectsveltos.io/reference-name"] == "" {
		return "", "", "", false
	}
	return Sveltos, joinWords(kind, name), "label and annotation of Sveltos", true
}

// leftover recognises what a Flux controller applied and no inventory lists any
// more.
func (t *tenant) leftover(p *observed.Present) (Maker, string, string, bool) {
	if t.declared[t.place(t.Name, p.Object.Key())] != nil {
		return "", "", "", false
	}
	for _, l := range ownerLabels {
		name, ns := p.Labels[l.prefix+"/name"], p.Labels[l.prefix+"/namespace"]
		if name == "" || !appliedBy(p, controllerOf(l.kind)) {
			continue
		}
		if _, known := t.labelled(object.Key{Group: l.kind.Group, Kind: l.kind.Kind, Namespace: ns, Name: name}); !known {
			continue // its inventory may list it
		}
		evidence := l.kind.Kind + " " + ns + "/" + name + " applied it, as label and field manager say"
		if p.Deleting {
			evidence += "; it is being deleted"
		}
		return Leftover, l.kind.Kind + " " + ns + "/" + name, evidence, true
	}
	return "", "", "", false
}

func joinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// creator is the field manager that made an object, as far as one can tell: the
// earliest entry that is not about a subresource.
func creator(p *observed.Present) observed.Manager {
	var best observed.Manager
	for _, m := range p.Managers {
		if m.Subresource != "" || m.Name == "" {
			continue
		}
		if best.Name == "" || m.Time.Before(best.Time) || m.Time.Equal(best.Time) && m.Name < best.Name {
			best = m
		}
	}
	return best
}

// managerKind is what kind of program a field manager is. Names of managers are
// chosen by programs and are evidence, no proof.
func managerKind(m observed.Manager, p *observed.Present) (Maker, string) {
	name := strings.ToLower(m.Name)
	evidence := "field manager " + m.Name + " (" + m.Operation + ")"
	switch {
	case name == "" && p.LastApplied:
		return Kubectl, "the annotation that kubectl apply leaves"
	case name == "":
		return Nobody, "nothing tells"
	case name == "kubectl", strings.HasPrefix(name, "kubectl-"), name == "oc", strings.HasPrefix(name, "oc-"):
		return Kubectl, evidence
	case slices.ContainsFunc(ciManagers, func(s string) bool { return strings.Contains(name, s) }):
		return CI, evidence
	case slices.Contains(systemManagers, name), strings.HasPrefix(name, "cluster-") && strings.HasSuffix(name, "-operator"):
		return System, evidence
	}
	return Program, evidence
}

// ciManagers are parts of the names that pipelines and infrastructure tools
// write with.
var ciManagers = []string{"gitlab", "jenkins", "github", "tekton", "terraform", "tofu", "pulumi", "ansible", "azure-pipelines", "azdo", "buildkite", "circleci", "drone", "spinnaker"}

// systemManagers are the programs of a control plane.
var systemManagers = []string{
	"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "cloud-controller-manager",
	"k3s", "rke2", "k3s-supervisor", "rke2-supervisor", "deploy@k3s", "hyperkube", "cluster-version-operator", "openshift-apiserver", "openshift-controller-manager",
	"machine-config-operator", "machine-config-controller", "aks-operator", "kubeadm",
}

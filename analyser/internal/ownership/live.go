package ownership

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// Maker is who made an object, by the best evidence.
type Maker string

// The makers of the output contract.
const (
	Flux     Maker = "flux"
	Owner    Maker = "owner"
	Helm     Maker = "helm"
	ArgoCD   Maker = "argocd"
	Sveltos  Maker = "sveltos"
	Leftover Maker = "flux_leftover"
	Kubectl  Maker = "kubectl"
	CI       Maker = "ci"
	Program  Maker = "controller"
	System   Maker = "system"
	Nobody   Maker = "unknown"
)

// LiveObject is an object on a cluster that is in no inventory, or in one
// although the commit does not declare it; or several that are alike.
type LiveObject struct {
	Cluster cluster.Name
	// Object has no name when the record stands for several.
	Object object.Ref
	Verdict
	Maker     Maker
	MakerName string
	Evidence  string
	Manager   observed.Manager
	Count     int
	Declared  bool
	// Inventories are the controller objects whose inventories list it.
	Inventories []string
}

// live judges what is on the clusters.
func (j *judge) live(r *Result) {
	j.twice(r)
	for _, n := range j.Observed.Names() {
		t := j.tenant(n)
		records := t.undeclared()
		for i := range t.Present {
			if rec := t.present(&t.Present[i], r); rec != nil {
				records = append(records, *rec)
			}
		}
		r.Objects = append(r.Objects, fold(records)...)
	}
	sortDisagreements(r.Disagreeing)
}

// tenant is a cluster with what it takes to judge its objects.
type tenant struct {
	*judge
	*observed.Cluster
	byUID map[string]*observed.Present
	byKey map[object.Key]*observed.Present
	// unknown is why an object may be in an inventory that was not told.
	unknown *Verdict
	// here are the claimants whose objects are on this cluster: the first that was
	// not told as a whole, those without an inventory by controller, and those
	// with entries that cannot be read.
	here       []*claimant
	torn       *claimant
	without    map[string]*claimant
	unreadable []*claimant
	releases   map[string][]*claimant
	// disagreed and outlived are where a group of the result is.
	disagreed map[disagreed]int
	outlived  map[string]int
	// chains memoises where ownerReferences lead.
	chains map[*observed.Present]chain
}

// tenant is nil for a cluster that nobody looked at.
func (j *judge) tenant(n cluster.Name) *tenant {
	if t, ok := j.tenants[n]; ok {
		return t
	}
	j.tenants[n] = j.newTenant(n)
	return j.tenants[n]
}

func (j *judge) newTenant(n cluster.Name) *tenant {
	on := j.Observed.On(n)
	if on == nil {
		return nil
	}
	t := &tenant{
		judge: j, Cluster: on, byUID: map[string]*observed.Present{}, byKey: map[object.Key]*observed.Present{},
		chains: map[*observed.Present]chain{}, without: map[string]*claimant{}, releases: map[string][]*claimant{},
		disagreed: map[disagreed]int{}, outlived: map[string]int{},
	}
	for i := range t.Present {
		p := &t.Present[i]
		if p.UID != "" {
			t.byUID[p.UID] = p
		}
		t.byKey[p.Object.Key()] = p
	}
	hubs := map[cluster.Name]bool{n: true}
	for _, c := range j.claimants {
		if c.target == n {
			t.here = append(t.here, c)
			hubs[c.on] = true
			t.index(c)
		}
	}
	for _, a := range j.Applied {
		if a.Target == n {
			hubs[a.Cluster] = true
		}
		for _, r := range a.Releases {
			if r.Target == n {
				hubs[r.Cluster] = true
			}
		}
	}
	if !t.met(hubs) {
		// Nothing says who applies to it: each of the controllers may.
		for _, a := range j.Applied {
			hubs[a.Cluster] = true
		}
	}
	for _, hub := range sortedNames(hubs) {
		for _, kind := range []object.GroupKind{kustomizationKind, helmReleaseKind} {
			outcome, detail := j.Observed.On(hub).CoversAll(kind)
			if outcome != observed.OK && t.unknown == nil {
				t.unknown = &Verdict{Abstain, string(outcome), joined("the inventories of "+kind.String()+" on "+string(hub)+" are not known", detail)}
			}
		}
	}
	return t
}

// met reports that something is known to apply to the cluster, hubs being those
// from which.
func (t *tenant) met(hubs map[cluster.Name]bool) bool {
	return len(hubs) > 1 || slices.ContainsFunc(t.Applied, func(a *placement.Applied) bool { return a.Cluster == t.Name })
}

func (t *tenant) index(c *claimant) {
	controller := controllerOf(c.Object.GroupKind())
	if !c.HasInventory && c.tried() && t.without[controller] == nil {
		t.without[controller] = c
	}
	if !c.Whole() && t.torn == nil {
		t.torn = c
	}
	if c.anyKind || len(c.unread) > 0 || len(c.nameless) > 0 {
		t.unreadable = append(t.unreadable, c)
	}
	if isRelease(c.Holder) {
		t.releases[c.ReleaseName] = append(t.releases[c.ReleaseName], c)
	}
}

func sortedNames(m map[cluster.Name]bool) []cluster.Name {
	out := make([]cluster.Name, 0, len(m))
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// undeclared are the objects that inventories list and the commit does not
// declare: of charts and of other objects that make objects, and what another
// revision declared.
func (t *tenant) undeclared() []LiveObject {
	var out []LiveObject
	seen := map[place]bool{}
	for _, c := range t.here {
		for _, e := range c.Entries {
			p := t.place(t.Name, e.Key)
			if e.Key.Name == "" || t.declared[p] != nil || seen[p] {
				continue
			}
			seen[p] = true
			claims := t.claims[p]
			k := p.key
			rec := LiveObject{
				Cluster: t.Name, Object: object.Ref{Group: k.Group, Version: e.Version, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name},
				Verdict: Verdict{Kind: In}, Maker: Flux, MakerName: claims[0].String(), Count: 1, Inventories: names(claims),
				Evidence: "an inventory lists it; this commit does not declare it",
			}
			if isRelease(c.Holder) {
				rec.Evidence = "the inventory of a HelmRelease lists it"
			}
			if t.byKey[k] == nil && len(t.Present) > 0 {
				if outcome, _ := t.CoversAll(k.GroupKind()); outcome == observed.OK {
					rec.Evidence += "; the cluster does not have it"
				}
			}
			out = append(out, rec)
		}
	}
	return out
}

func names(cs []*claimant) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.String())
	}
	return out
}

// present judges one object that exists; nil when an inventory lists it, which is
// told elsewhere.
func (t *tenant) present(p *observed.Present, r *Result) *LiveObject {
	at := t.place(t.Name, p.Object.Key())
	t.labels(p, at, r)
	if len(t.claims[at]) > 0 {
		return nil
	}
	rec := &LiveObject{Cluster: t.Name, Object: p.Object, Count: 1, Verdict: t.verdict(p, at), Declared: t.declared[at] != nil}
	rec.Maker, rec.MakerName, rec.Evidence, rec.Manager = t.maker(p)
	if rec.Maker == Helm && p.Annotations["helm.sh/hook"] != "" {
		rec.Verdict = Verdict{Abstain, "hook", "hooks are not in the inventory of a release"}
	}
	return rec
}

// verdict is NotIn unless an inventory that may list p is not known.
func (t *tenant) verdict(p *observed.Present, at place) Verdict {
	if t.unknown != nil {
		return *t.unknown
	}
	if c := t.namedWithout(p); c != nil {
		return Verdict{Abstain, "no_inventory", c.String() + " has no inventory, and the labels of the object name it"}
	}
	for _, m := range p.Managers {
		if c := t.without[m.Name]; c != nil && m.Subresource == "" && !t.ofKnownRelease(p) && !t.ofKnownSync(p) {
			return Verdict{Abstain, "no_inventory", c.String() + " has no inventory, and its controller applied the object"}
		}
	}
	if t.torn != nil {
		return Verdict{Abstain, "incomplete_inventory", "the inventory of " + t.torn.String() + " was not told as a whole"}
	}
	for _, c := range t.unreadable {
		if c.mayMean(p.Object.GroupKind()) {
			return Verdict{Abstain, "malformed_id", "the inventory of " + c.String() + " has an entry that cannot be read and may mean it"}
		}
	}
	if claims := t.ambiguous(at); len(claims) > 0 {
		return Verdict{Abstain, "malformed_id", "the inventory of " + claims[0].String() + " has an entry that may mean it or an object with a colon in its name"}
	}
	for _, c := range t.elsewhere[at.key] {
		if c.target != t.Name {
			return Verdict{Abstain, "identity_unknown", "the inventory of " + c.String() + " lists an object of this name on " + string(c.target) + ", which may be this cluster: nothing names it"}
		}
	}
	return Verdict{Kind: NotIn}
}

// tried reports a controller object that may have applied something.
// kustomize-controller notes which revision it attempts before it builds, so that
// one that still waits for its source or a dependency has done nothing.
func (c *claimant) tried() bool {
	return c.Object.GroupKind() != kustomizationKind || c.LastAttempted != "" || c.LastApplied != ""
}

// namedWithout is the controller object without an inventory that applied p
// before, by its labels and its managers: one that was made anew may list it yet.
func (t *tenant) namedWithout(p *observed.Present) *claimant {
	for _, l := range ownerLabels {
		name, ns := p.Labels[l.prefix+"/name"], p.Labels[l.prefix+"/namespace"]
		if name == "" || !appliedBy(p, controllerOf(l.kind)) {
			continue
		}
		c := t.targets[holderAt{t.Name, object.Key{Group: l.kind.Group, Kind: l.kind.Kind, Namespace: ns, Name: name}}]
		if c != nil && !c.HasInventory {
			return c
		}
	}
	return nil
}

// ofKnownSync reports an object that another Kustomization applied last than one
// without an inventory (namedWithout has those): kustomize-controller labels what
// it applies, each time, with the Kustomization that it applies it for.
func (t *tenant) ofKnownSync(p *observed.Present) bool {
	name, ns := p.Labels[kustomizeGroup+"/name"], p.Labels[kustomizeGroup+"/namespace"]
	if name == "" || !appliedBy(p, controllerOf(kustomizationKind)) {
		return false
	}
	_, known := t.labelled(object.Key{Group: kustomizeGroup, Kind: kustomizationKind.Kind, Namespace: ns, Name: name})
	return known
}

// ofKnownRelease reports an object whose release has an inventory. Helm marks
// what it installs with the release and touches nothing that another release
// marked (upstream: helm pkg/action/validate.go, checkOwnership), so that no
// other HelmRelease may list it.
func (t *tenant) ofKnownRelease(p *observed.Present) bool {
	if !appliedBy(p, controllerOf(helmReleaseKind)) || !managedByHelm(p) {
		return false
	}
	known := false
	for _, c := range t.releasesOf(p) {
		if !c.HasInventory {
			return false
		}
		known = true
	}
	return known
}

func controllerOf(k object.GroupKind) string {
	switch k {
	case kustomizationKind:
		return "kustomize-controller"
	case helmReleaseKind:
		return "helm-controller"
	}
	return "flux-operator"
}

// appliedBy reports that a controller set fields of p beside its status.
func appliedBy(p *observed.Present, manager string) bool {
	return slices.ContainsFunc(p.Managers, func(m observed.Manager) bool { return m.Name == manager && m.Subresource == "" })
}

// fold puts records that are alike into one: what is part of the system by
// namespace and kind, and what objects of an inventory made by the object.
func fold(records []LiveObject) []LiveObject {
	type alike struct {
		maker           Maker
		kind            object.GroupKind
		namespace, name string
		verdict         Verdict
	}
	at := map[alike]int{}
	out := records[:0]
	for _, r := range records {
		if r.Maker != System && r.Maker != Owner {
			out = append(out, r)
			continue
		}
		k := alike{r.Maker, r.Object.GroupKind(), r.Object.Namespace, r.MakerName, r.Verdict}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			if r.Maker == System {
				r.Object.Name = ""
			}
			out = append(out, r)
			continue
		}
		out[i].Count++
		out[i].Object.Name = ""
		out[i].Manager = observed.Manager{}
		out[i].Declared = out[i].Declared || r.Declared
	}
	slices.SortStableFunc(out, func(a, b LiveObject) int {
		return cmp.Or(a.Object.Compare(b.Object), strings.Compare(string(a.Maker), string(b.Maker)), strings.Compare(a.MakerName, b.MakerName),
			strings.Compare(a.Reason, b.Reason))
	})
	return out
}

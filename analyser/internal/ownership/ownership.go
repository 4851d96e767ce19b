// Package ownership says who owns each object: objects joined with the
// inventories that controllers keep on their own cluster.
//
// An inventory that lists an object decides: the object is in it, whatever else
// is the case. That an object is not in an inventory is said only where nothing
// else can be the reason: the inventory was read as a whole, its controller is
// done with the newest spec, is not suspended, and applied the commit that the
// census read. Everything else is an abstention with its reason. What was denied
// is never empty.
//
// Labels decide nothing by themselves. They are copied by operators, and they
// name whoever applied an object last.
package ownership

import (
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// Kind is the kind of a verdict.
type Kind string

// The verdicts of the output contract.
const (
	In      Kind = "in_inventory"
	NotIn   Kind = "not_in_inventory"
	Abstain Kind = "abstain"
)

// Verdict is what can be said of one object. Reason is a stable code: that of an
// outcome ("denied", "unreachable", ...), or "not_asked", "controller_missing",
// "no_inventory", "incomplete_inventory", "malformed_id", "revision_differs",
// "revision_unknown", "not_ready", "generation_behind", "suspended",
// "being_deleted", "skipped", "hook", "identity_unknown"; "in_other_inventory"
// beside NotIn. Detail is for people.
type Verdict struct {
	Kind           Kind
	Reason, Detail string
}

// Input is what a judgement rests on.
type Input struct {
	// Observed is nil when nobody looked at a cluster.
	Observed *observed.Set
	Applied  []*placement.Applied
	Objects  []placement.Object
	// Commit is the full id of the commit that was read.
	Commit string
	// Scope is what is known without a cluster.
	Scope func(cluster.Name, object.GroupKind) object.Scope
	// Spoke names the cluster behind a reference.
	Spoke func(cluster.Name, observed.KubeConfig) cluster.Name
	// Unnamed reports a spoke that may be any cluster: nothing but a reference
	// names it.
	Unnamed func(cluster.Name) bool
	// Skipped is why the controller leaves an object alone by its own metadata;
	// empty for an object that it applies like any other.
	Skipped func(*kustomize.Object) string
}

// Result is the judgement.
type Result struct {
	// Verdicts are those of Input.Objects, in their order.
	Verdicts []Verdict
	// Syncs and Releases are what clusters say of controller objects; without
	// those on clusters that nobody looked at.
	Syncs    map[*placement.Applied]*Live
	Releases map[*placement.Release]*Live
	// Revisions by the cluster of the controllers.
	Revisions map[cluster.Name]*Revision
	// Objects that are on clusters, in order of cluster and identity.
	Objects []LiveObject
	// Twice are objects in two inventories, Disagreeing and Outlived objects
	// whose labels say what no inventory does.
	Twice       []Twice
	Disagreeing []Disagreement
	Outlived    []Outlived
}

// Judge joins objects with inventories. Without facts every verdict is an
// abstention with the reason not_asked.
func Judge(in Input) *Result {
	r := &Result{Verdicts: make([]Verdict, len(in.Objects))}
	if in.Observed == nil {
		for i := range r.Verdicts {
			r.Verdicts[i] = Verdict{Abstain, string(observed.NotAsked), ""}
		}
		return r
	}
	j := newJudge(in)
	for i := range in.Objects {
		r.Verdicts[i] = j.object(&in.Objects[i])
	}
	r.Syncs, r.Releases = j.controllers()
	r.Revisions = j.revisions()
	j.live(r)
	return r
}

// place is an object on a cluster, under the one identity that it has there.
type place struct {
	cluster cluster.Name
	key     object.Key
}

// claimant is a controller object whose inventory was told.
type claimant struct {
	*observed.Holder
	// on is its cluster, target the one on which its objects are.
	on, target cluster.Name
	// unread are the kinds of the entries that cannot be read, nameless those of
	// entries without a name; anyKind: one does not even have a kind.
	unread, nameless map[object.GroupKind]bool
	anyKind          bool
}

// mayMean reports that an entry that cannot be read, or has no name, may stand
// for an object of a kind. Of what cannot be read only the kind is certain.
func (c *claimant) mayMean(k object.GroupKind) bool {
	return c.anyKind || c.nameless[k] || c.unread[object.GroupKind{Kind: k.Kind}]
}

func (c *claimant) index() {
	c.unread, c.nameless = map[object.GroupKind]bool{}, map[object.GroupKind]bool{}
	for _, id := range c.Malformed {
		if i := strings.LastIndexByte(id, '_'); i >= 0 {
			c.unread[object.GroupKind{Kind: id[i+1:]}] = true
		} else {
			c.anyKind = true
		}
	}
	for _, e := range c.Entries {
		if e.Key.Name == "" {
			c.nameless[e.Key.GroupKind()] = true
		}
	}
}

// String is "hub: Kustomization flux-system/apps".
func (c *claimant) String() string {
	return string(c.on) + ": " + c.Object.Kind + " " + c.Object.Namespace + "/" + c.Object.Name
}

type judge struct {
	Input
	claimants []*claimant
	// at finds the claimant of a holder.
	at map[holderAt]*claimant
	// claims are the claimants that list an object, in their order.
	claims map[place][]*claimant
	// scopeless are kinds of which some inventory lists an object without a
	// namespace: as recorded by a server, that is a cluster-scoped kind.
	scopeless map[kindOn]bool
	// targets finds the first claimant of a holder by the cluster that it applies
	// to.
	targets map[holderAt]*claimant
	// declared are the objects that the commit declares, arriving or not.
	declared map[place]*declaration
	// elsewhere are the claimants that list an object on a cluster that nothing
	// names, and of these the first for a holder.
	elsewhere map[object.Key][]*claimant
	strangers map[object.Key]*claimant
	scopes    map[kindOn]object.Scope
	tenants   map[cluster.Name]*tenant
}

type declaration struct {
	applied *placement.Applied
	object  *kustomize.Object
}

type holderAt struct {
	on  cluster.Name
	key object.Key
}

type kindOn struct {
	on   cluster.Name
	kind object.GroupKind
}

func newJudge(in Input) *judge {
	j := &judge{
		Input: in, at: map[holderAt]*claimant{}, claims: map[place][]*claimant{}, scopeless: map[kindOn]bool{},
		targets: map[holderAt]*claimant{}, declared: map[place]*declaration{}, scopes: map[kindOn]object.Scope{},
		tenants: map[cluster.Name]*tenant{}, elsewhere: map[object.Key][]*claimant{}, strangers: map[object.Key]*claimant{},
	}
	for _, n := range in.Observed.Names() {
		on := in.Observed.On(n)
		for _, k := range sortedKeys(on.Holders) {
			c := &claimant{Holder: on.Holders[k], on: n, target: n}
			if c.KubeConfig != nil {
				c.target = in.Spoke(n, *c.KubeConfig)
			}
			j.claimants = append(j.claimants, c)
			j.at[holderAt{n, k}] = c
			if to := (holderAt{c.target, k}); j.targets[to] == nil {
				j.targets[to] = c
			}
			c.index()
			for _, e := range c.Entries {
				if e.Key.Namespace == "" && e.Key.Name != "" {
					j.scopeless[kindOn{c.target, e.Key.GroupKind()}] = true
				}
			}
		}
	}
	for _, c := range j.claimants {
		stranger := j.Unnamed != nil && j.Unnamed(c.target)
		if k := c.Object.Key(); stranger && j.strangers[k] == nil {
			j.strangers[k] = c
		}
		for _, e := range c.Entries {
			if e.Key.Name == "" {
				continue
			}
			p := j.place(c.target, e.Key)
			if stranger {
				j.elsewhere[p.key] = append(j.elsewhere[p.key], c)
			}
			if !slices.Contains(j.claims[p], c) {
				j.claims[p] = append(j.claims[p], c)
			}
		}
	}
	for _, a := range in.Applied {
		for _, o := range a.Objects {
			if p := j.place(a.Target, o.Ref.Key()); j.declared[p] == nil {
				j.declared[p] = &declaration{a, o}
			}
		}
	}
	return j
}

func sortedKeys[V any](m map[object.Key]V) []object.Key {
	out := make([]object.Key, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}

// place is the identity of an object on a cluster: kustomize gives custom
// resources a namespace whatever their definition says, and older controllers
// recorded it; the API server drops it.
func (j *judge) place(on cluster.Name, k object.Key) place {
	if k.Namespace != "" && j.scope(on, k.GroupKind()) == object.ClusterScoped {
		k.Namespace = ""
	}
	return place{on, k}
}

// scope is what the cluster serves, else what is known without it, else what
// inventories show.
func (j *judge) scope(on cluster.Name, k object.GroupKind) object.Scope {
	at := kindOn{on, k}
	if s, ok := j.scopes[at]; ok {
		return s
	}
	s := j.Observed.On(on).Scope(k)
	if s == object.ScopeUnknown {
		s = j.Scope(on, k)
	}
	if s == object.ScopeUnknown && j.scopeless[at] {
		s = object.ClusterScoped
	}
	j.scopes[at] = s
	return s
}

// holder is the controller object whose inventory should list an object, and
// the cluster on which it is.
func holderOf(o *placement.Object) holderAt {
	if maker, ok := o.Applied.Makers[o.Object]; ok {
		return holderAt{o.Applied.Target, maker}
	}
	return holderAt{o.ControllerCluster, o.Applied.Sync.Object.Key()}
}

// object is the verdict on one object of one placement.
func (j *judge) object(o *placement.Object) Verdict {
	at := holderOf(o)
	c := j.at[at]
	if c == nil {
		return j.noHolder(at)
	}
	if o.Object.UnknownName || o.Object.UnknownIdentity {
		return Verdict{Abstain, "identity_unknown", "what the object is called depends on what this repository does not hold"}
	}
	p := j.place(o.Cluster, o.Ref.Key())
	claims := j.claims[p]
	listed := slices.Contains(claims, c)
	t := j.tenant(o.Cluster)
	var there *observed.Present
	if t != nil {
		there = t.byKey[p.key]
	}
	why := j.Skipped(o.Object)
	if why == "" && there != nil {
		why = skippedLive(there)
	}
	if why != "" {
		// Whether the inventory lists such an object depends on the version of the
		// controller and says nothing about who manages it.
		if listed {
			why += "; the inventory lists it"
		} else {
			why += "; the inventory does not list it"
		}
		return Verdict{Abstain, "skipped", why}
	}
	if listed {
		return Verdict{In, "", j.caveat(c)}
	}
	if v, unsettled := j.unsettled(c, o, p.key); unsettled {
		return v
	}
	if slices.Contains(j.ambiguous(p), c) {
		return Verdict{Abstain, "malformed_id", "the inventory of " + c.String() + " has an entry that may mean it or an object with a colon in its name"}
	}
	v := Verdict{Kind: NotIn, Detail: "the inventory of " + c.String() + " does not list it"}
	if len(claims) > 0 {
		v.Reason = "in_other_inventory"
		v.Detail += ", that of " + claims[0].String() + " does"
	}
	switch {
	case there != nil:
		maker, name, evidence, _ := t.maker(there)
		v.Detail += "; it is on the cluster: " + joined(joinWords(string(maker), name), evidence)
	case t != nil && len(t.Present) > 0:
		if outcome, _ := t.CoversAll(p.key.GroupKind()); outcome == observed.OK {
			v.Detail += "; it is not on the cluster"
		}
	}
	return v
}

// ambiguous are the claimants that list an object under an id that Flux itself
// reads as another one: "__" in an id stands for a colon in a name, and the names
// of RBAC may hold both.
func (j *judge) ambiguous(p place) []*claimant {
	read, err := object.ParseID(p.key.ID())
	if err != nil || read == p.key {
		return nil
	}
	return j.claims[place{p.cluster, read}]
}

// skippedLive is why controllers leave an object alone by what stands on it on
// the cluster (upstream: fluxcd/pkg/ssa, values without regard to case).
func skippedLive(p *observed.Present) string {
	for _, in := range []map[string]string{p.Labels, p.Annotations} {
		if strings.EqualFold(in[kustomizeGroup+"/reconcile"], "disabled") || strings.EqualFold(in[kustomizeGroup+"/ssa"], "ignore") {
			return "the object is marked on the cluster to be left alone"
		}
	}
	return ""
}

// noHolder is the verdict where the controller object was not seen.
func (j *judge) noHolder(at holderAt) Verdict {
	on := j.Observed.On(at.on)
	outcome, detail := on.Covers(at.key)
	if outcome == observed.OK {
		missing := at.key.String() + " is not on " + string(at.on)
		if s, known := on.Serves(at.key.GroupKind()); s == nil && known {
			missing = string(at.on) + " does not serve " + at.key.GroupKind().String()
		}
		return Verdict{Abstain, "controller_missing", missing}
	}
	return Verdict{Abstain, string(outcome), joined(at.key.GroupKind().String()+" on "+string(at.on), detail)}
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

// caveat is what a reader should know about the inventory that lists an object.
func (j *judge) caveat(c *claimant) string {
	if v, unsettled := j.unready(c); unsettled {
		return "listed; " + v.Detail
	}
	if state := j.revision(c); state == Differs {
		return "listed as of " + c.applied() + ", which is not the commit that was read"
	}
	return ""
}

// unready reports a controller object whose inventory may not be what its spec
// asks for.
func (j *judge) unready(c *claimant) (Verdict, bool) {
	name := c.String()
	switch {
	case c.Deleting:
		return Verdict{Abstain, "being_deleted", name + " is being deleted"}, true
	case c.Suspend:
		return Verdict{Abstain, "suspended", name + " is suspended: it keeps what it applied last, " + orNothing(c.applied())}, true
	// A controller that fails keeps the observedGeneration of its last success,
	// -1 where there was none; the condition tells that it has seen this one.
	case c.Generation != c.ObservedGeneration && (c.Ready.Status != "False" || c.Ready.ObservedGeneration != c.Generation):
		return Verdict{Abstain, "generation_behind", name + " has not been reconciled since its spec changed"}, true
	case c.Ready.Status != "True":
		detail := name + " is not ready"
		if c.Ready.Reason != "" {
			detail += " (" + c.Ready.Reason + ")"
		}
		return Verdict{Abstain, "not_ready", detail}, true
	}
	return Verdict{}, false
}

func orNothing(s string) string {
	if s == "" {
		return "which is nothing"
	}
	return s
}

// unsettled is why an object that an inventory does not list may be owned all
// the same.
func (j *judge) unsettled(c *claimant, o *placement.Object, k object.Key) (Verdict, bool) {
	if v, ok := j.unready(c); ok {
		return v, true
	}
	name := c.String()
	switch {
	case !c.HasInventory:
		return Verdict{Abstain, "no_inventory", name + " has no inventory"}, true
	case !c.Whole():
		return Verdict{Abstain, "incomplete_inventory", "the inventory of " + name + " was not told as a whole"}, true
	case c.mayMean(k.GroupKind()):
		return Verdict{Abstain, "malformed_id", "the inventory of " + name + " has an entry that cannot be read and may mean it"}, true
	}
	switch j.revision(c) {
	case Differs:
		return Verdict{Abstain, "revision_differs", name + " applied " + c.applied() + ", which is not the commit that was read"}, true
	case Unknown:
		return Verdict{Abstain, "revision_unknown", joined(name+" does not say which commit it applied", c.applied())}, true
	}
	return Verdict{}, false
}

package ownership

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
)

// Twice is an object that several inventories list.
type Twice struct {
	Cluster cluster.Name
	Object  object.Key
	By      []string
	// Active are those that are not suspended.
	Active int
}

// Disagreement are objects whose labels name a controller object that does not
// list them.
type Disagreement struct {
	Cluster cluster.Name
	// Labelled is what the labels say: "Kustomization flux-system/apps".
	Labelled string
	// Truth is who made them or lists them.
	Truth string
	// Listed reports that Truth is an inventory that lists them.
	Listed bool
	// Owned reports that their ownerReferences say so.
	Owned   bool
	Objects []object.Key
}

// Outlived are objects that a controller applied and that no inventory lists any
// more.
type Outlived struct {
	Cluster cluster.Name
	// Holder is "Kustomization flux-system/apps"; Gone reports that it does not
	// exist any more, NoPrune that it never prunes.
	Holder        string
	Gone, NoPrune bool
	Objects       []object.Key
}

// ownerLabels are the labels that Flux puts on what it applies.
var ownerLabels = []struct {
	prefix string
	kind   object.GroupKind
}{
	{kustomizeGroup, kustomizationKind},
	{helmGroup, helmReleaseKind},
	{"resourceset." + operatorGroup, resourceSetKind},
}

// twice finds objects that several inventories list.
func (j *judge) twice(r *Result) {
	for p, claims := range j.claims {
		if len(claims) < 2 {
			continue
		}
		t := Twice{Cluster: p.cluster, Object: p.key, By: names(claims)}
		for _, c := range claims {
			if !c.Suspend {
				t.Active++
			}
		}
		slices.Sort(t.By)
		r.Twice = append(r.Twice, t)
	}
	slices.SortFunc(r.Twice, func(a, b Twice) int {
		return cmp.Or(strings.Compare(string(a.Cluster), string(b.Cluster)), a.Object.Compare(b.Object))
	})
}

// labels compares what the labels of an object say with the inventories.
func (t *tenant) labels(p *observed.Present, at place, r *Result) {
	for _, l := range ownerLabels {
		name, ns := p.Labels[l.prefix+"/name"], p.Labels[l.prefix+"/namespace"]
		if name == "" {
			continue
		}
		labelled := object.Key{Group: l.kind.Group, Kind: l.kind.Kind, Namespace: ns, Name: name}
		if p.Object.Key() == labelled {
			continue // bootstrapped: it applies itself
		}
		c, known := t.labelled(labelled)
		claims := t.claims[at]
		if !known || c != nil && slices.Contains(claims, c) {
			continue
		}
		if c != nil {
			if _, unready := t.unready(c); unready && len(claims) == 0 || !c.HasInventory || !c.Whole() || c.mayMean(p.Object.GroupKind()) {
				continue // its inventory may come to list the object
			}
		}
		if d := t.declared[at]; d != nil && len(claims) == 0 && t.Skipped(d.object) != "" {
			continue // left alone: the inventory need not list it
		}
		text := l.kind.Kind + " " + ns + "/" + name
		switch applied := appliedBy(p, controllerOf(l.kind)); {
		case len(claims) > 0:
			t.disagree(r, disagreed{labelled: text, truth: "the inventory of " + claims[0].String(), listed: true}, at.key)
		case len(p.Owners) > 0 && !applied:
			maker, by, _, _ := t.maker(p)
			t.disagree(r, disagreed{labelled: text, truth: joinWords(string(maker), by), owned: true}, at.key)
		case applied && (p.Annotations["helm.sh/hook"] != "" || l.kind == helmReleaseKind && p.Object.Kind == "CustomResourceDefinition"):
			// No inventory lists these.
		case applied && p.Deleting:
			// It waits for its finalizers.
		case applied && t.unknown == nil && t.declared[at] == nil && len(t.ambiguous(at)) == 0 && len(t.elsewhere[at.key]) == 0:
			t.outlive(r, text, c, at.key)
		case !applied:
			maker, by, _, _ := t.maker(p)
			t.disagree(r, disagreed{labelled: text, truth: joinWords(string(maker), by)}, at.key)
		}
	}
}

// labelled finds the controller object that labels name, on a cluster whose
// controllers apply to this one; known is false when that cannot be told.
func (t *tenant) labelled(k object.Key) (c *claimant, known bool) {
	if c := t.targets[holderAt{t.Name, k}]; c != nil {
		return c, true
	}
	if c := t.strangers[k]; t.unknown != nil || c != nil && c.target != t.Name {
		return nil, false
	}
	if outcome, _ := t.CoversAll(k.GroupKind()); outcome != observed.OK && k.GroupKind() == resourceSetKind {
		return nil, false
	}
	return nil, true
}

// disagreed is what the objects of a Disagreement have in common.
type disagreed struct {
	labelled, truth string
	owned, listed   bool
}

func (t *tenant) disagree(r *Result, at disagreed, k object.Key) {
	i, ok := t.disagreed[at]
	if !ok {
		i = len(r.Disagreeing)
		t.disagreed[at] = i
		r.Disagreeing = append(r.Disagreeing, Disagreement{Cluster: t.Name, Labelled: at.labelled, Truth: at.truth, Owned: at.owned, Listed: at.listed})
	}
	r.Disagreeing[i].Objects = append(r.Disagreeing[i].Objects, k)
}

func (t *tenant) outlive(r *Result, holder string, c *claimant, k object.Key) {
	i, ok := t.outlived[holder]
	if !ok {
		i = len(r.Outlived)
		t.outlived[holder] = i
		r.Outlived = append(r.Outlived, Outlived{Cluster: t.Name, Holder: holder, Gone: c == nil, NoPrune: c != nil && c.Prune != nil && !*c.Prune})
	}
	r.Outlived[i].Objects = append(r.Outlived[i].Objects, k)
}

func sortDisagreements(in []Disagreement) {
	slices.SortStableFunc(in, func(a, b Disagreement) int {
		return cmp.Or(strings.Compare(string(a.Cluster), string(b.Cluster)), strings.Compare(a.Labelled, b.Labelled), strings.Compare(a.Truth, b.Truth))
	})
}

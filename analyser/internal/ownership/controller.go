package ownership

import (
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// Live is what a cluster says of a controller object.
type Live struct {
	// Reason is why nothing can be said; all that follows is then empty.
	Reason, Detail                            string
	Suspended, GenerationBehind, BeingDeleted bool
	Ready, ReadyReason                        string
	AppliedRevision, AttemptedRevision        string
	Revision                                  RevisionState
	HasInventory                              bool
	Entries, Malformed, Undeclared            int
}

// controllers are what clusters say of Syncs and Releases.
func (j *judge) controllers() (map[*placement.Applied]*Live, map[*placement.Release]*Live) {
	syncs, releases := map[*placement.Applied]*Live{}, map[*placement.Release]*Live{}
	for _, a := range j.Applied {
		if j.Observed.On(a.Cluster) != nil {
			syncs[a] = j.state(holderAt{a.Cluster, a.Sync.Object.Key()}, delivers(a))
		}
		for _, r := range a.Releases {
			if j.Observed.On(r.Cluster) != nil {
				releases[r] = j.state(holderAt{r.Cluster, r.Release.Object.Key()}, false)
			}
		}
	}
	return syncs, releases
}

func (j *judge) state(at holderAt, compare bool) *Live {
	c := j.at[at]
	if c == nil {
		v := j.noHolder(at)
		return &Live{Reason: v.Reason, Detail: v.Detail}
	}
	l := &Live{
		Suspended: c.Suspend, GenerationBehind: c.Generation != c.ObservedGeneration, BeingDeleted: c.Deleting,
		Ready: c.Ready.Status, ReadyReason: c.Ready.Reason, AppliedRevision: c.LastApplied, AttemptedRevision: c.LastAttempted,
		HasInventory: c.HasInventory, Entries: len(c.Entries), Malformed: len(c.Malformed),
	}
	if c.LastOrigin != "" {
		l.AppliedRevision = c.LastOrigin
	}
	if compare {
		l.Revision = j.revision(c)
	}
	if !isRelease(c.Holder) {
		for _, e := range c.Entries {
			if e.Key.Name != "" && j.declared[j.place(c.target, e.Key)] == nil {
				l.Undeclared++
			}
		}
	}
	return l
}

const (
	kustomizeGroup = "kustomize.toolkit.fluxcd.io"
	helmGroup      = "helm.toolkit.fluxcd.io"
	operatorGroup  = "fluxcd.controlplane.io"
)

var (
	kustomizationKind = object.GroupKind{Group: kustomizeGroup, Kind: "Kustomization"}
	helmReleaseKind   = object.GroupKind{Group: helmGroup, Kind: "HelmRelease"}
	resourceSetKind   = object.GroupKind{Group: operatorGroup, Kind: "ResourceSet"}
)

// isRelease reports a HelmRelease: what it lists comes from a chart, which the
// census does not render.
func isRelease(h *observed.Holder) bool { return h.Object.GroupKind() == helmReleaseKind }

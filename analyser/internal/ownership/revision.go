package ownership

import (
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// RevisionState is whether what was applied last is the commit that was read.
type RevisionState string

// The states of the output contract. Mixed is that of a cluster only.
const (
	Current RevisionState = "current"
	Differs RevisionState = "differs"
	Unknown RevisionState = "unknown"
	Mixed   RevisionState = "mixed"
)

// Revision sums up the controller objects of a cluster whose source delivers
// this repository.
type Revision struct {
	State                     RevisionState
	Current, Differs, Unknown int
	// Applied counts the objects by what they applied last.
	Applied map[string]int
	// Fetched is what the cluster's sources hold, by "Kind/namespace/name".
	Fetched map[string]string
}

// applied is the revision that tells which commit was applied last.
func (c *claimant) applied() string {
	if c.LastOrigin != "" {
		return c.LastOrigin
	}
	return c.LastApplied
}

// revision compares what a Kustomization applied with the commit.
func (j *judge) revision(c *claimant) RevisionState {
	applied := c.applied()
	if c.LastOrigin == "" && c.Source.Kind != "GitRepository" {
		// A digest says nothing about a commit, unless the source does.
		s := j.Observed.On(c.on).Sources[c.Source]
		if s == nil || s.OriginRevision == "" || s.Revision != c.LastApplied {
			return Unknown
		}
		applied = s.OriginRevision
	}
	switch id := commitOf(applied); {
	case id == "" || j.Commit == "":
		return Unknown
	case id == j.Commit:
		return Current
	}
	return Differs
}

// commitOf is the id of a commit in a revision as Flux writes it:
// "main@sha1:<hex>", "sha1:<hex>", of older controllers "main/<hex>"; empty when
// there is none (upstream: fluxcd/pkg/git Hash, TransformRevision).
func commitOf(revision string) string {
	id := revision
	if i := strings.LastIndexByte(id, '@'); i >= 0 {
		id = id[i+1:]
	}
	if algorithm, hex, ok := strings.Cut(id, ":"); ok {
		if algorithm != "sha1" && algorithm != "sha256" {
			return ""
		}
		id = hex
	} else if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	if len(id) != 40 && len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// delivers reports a Sync that reads this repository at the ref of the census.
func delivers(a *placement.Applied) bool {
	return a.HasDirectory && a.State != placement.External && a.State != placement.SpokeApplied
}

func (j *judge) revisions() map[cluster.Name]*Revision {
	out := map[cluster.Name]*Revision{}
	seen := map[holderAt]bool{}
	for _, a := range j.Applied {
		on := j.Observed.On(a.Cluster)
		at := holderAt{a.Cluster, a.Sync.Object.Key()}
		if on == nil || !delivers(a) || seen[at] {
			continue
		}
		seen[at] = true
		r := out[a.Cluster]
		if r == nil {
			r = &Revision{Applied: map[string]int{}, Fetched: map[string]string{}}
			out[a.Cluster] = r
		}
		c := j.at[at]
		if c == nil {
			r.Unknown++
			continue
		}
		if rev := c.applied(); rev != "" {
			r.Applied[rev]++
		}
		if s := on.Sources[c.Source]; s != nil {
			r.Fetched[sourceName(c.Source)] = s.Revision
		}
		switch j.revision(c) {
		case Current:
			r.Current++
		case Differs:
			r.Differs++
		default:
			r.Unknown++
		}
	}
	for _, r := range out {
		switch {
		case r.Differs > 0 && r.Current > 0:
			r.State = Mixed
		case r.Differs > 0:
			r.State = Differs
		case r.Unknown > 0:
			r.State = Unknown
		default:
			r.State = Current
		}
	}
	return out
}

func sourceName(k object.Key) string { return k.Kind + "/" + k.Namespace + "/" + k.Name }

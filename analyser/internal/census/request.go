// Package census composes the stages: from a snapshot and what the user knows
// to placements, findings and coverage. It is the only package that imports
// them all.
package census

import (
	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/coverage"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/ownership"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/platform"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

// Request is what only the user knows.
type Request struct {
	// Roots in addition to those that the repository declares. Path may be
	// written like a spec.path; DeclaredBy is "flag" or "config".
	Roots []placement.Root
	// Sources say which source objects deliver this repository.
	Sources []source.Mapping
	// Spokes name the clusters behind references.
	Spokes []cluster.Mapping
	// Clusters is what the user states about clusters.
	Clusters []Statement
	// OriginURL is the URL of the clone's remote, a hint when no root's source
	// object is in the repository. May be empty.
	OriginURL string
	// Commit is the full id of the commit that the snapshot shows, or empty.
	Commit string
	Limits Limits
	// Observed is what was seen on clusters; nil when nobody looked.
	Observed *observed.Set
	// Engines are the reconciliation engines to look for.
	Engines []controller.Engine
	// NoShortcuts parses every document with the YAML library, substitutes every
	// object by way of its text and shares no builds. The result is the same.
	NoShortcuts bool
	// Memory is what censuses before this one left; nil remembers nothing.
	Memory *Memory
	// Progress is called now and then, from one goroutine at a time; nil for
	// none.
	Progress func(Progress)
}

// Statement is what the user states about a cluster.
type Statement struct {
	Cluster     cluster.Name
	Controllers []string
	// KustomizeControllerVersion is "1.9.6", or empty when unknown.
	KustomizeControllerVersion string
	FeatureGates               map[string]bool
}

// Limits bound the work. Zero values mean the defaults.
type Limits struct {
	Document document.Limits
	// Build bounds each build; Trace and Unshared stay false.
	Build kustomize.Options
	// Depth of Syncs that make Syncs; default 64.
	Depth int
	// Syncs at the most; default 200,000.
	Syncs int
}

// Progress is how far the work has come.
type Progress struct {
	Phase       string // "reading", "building", "placing"
	Done, Total int64
	Unit        string
}

// RootNotFoundError says that a declared root's path is not a directory of the
// commit.
type RootNotFoundError struct {
	Root placement.Root
}

func (e *RootNotFoundError) Error() string {
	return "root " + string(e.Root.Cluster) + ": there is no directory " + quote(e.Root.Path) +
		" in this commit; give a path that exists there, as in --root " + string(e.Root.Cluster) + "=clusters/" + string(e.Root.Cluster)
}

// Census is the result.
type Census struct {
	// OriginURL is the URL from which the roots' sources take this repository,
	// without user and password; empty when none says.
	OriginURL string
	Positions *position.Set
	Clusters  []Cluster
	Roots     []placement.Root
	// Proposals are directories that may be roots, where none was found.
	Proposals  []Proposal
	Applied    []*placement.Applied
	Placements []*placement.Placement
	Objects    []placement.Object
	// Ownership is who owns the objects, and what else is on the clusters.
	Ownership *ownership.Result
	Files     []coverage.File
	Rows      []coverage.Row
	Packs     []coverage.PackCount
	Findings  []finding.Finding
	Rules     []finding.Result
	// Notes are what the census could not look at or decided by assumption.
	Notes []string
	// NotConsidered counts the files that are no manifests and that nothing
	// reads, by extension.
	NotConsidered map[string]int
	FilesInCommit int
	// BytesRead is the size of all files that were looked at, each content once.
	BytesRead int64
	// Views are the artifacts that Syncs read, by placement.Applied.ViewKey.
	Views map[string]*controller.View
}

// Reference is a kubeConfig, "Secret namespace/name#key", that a controller
// cluster uses.
type Reference struct {
	Controller cluster.Name
	KubeConfig string
}

// Cluster is a cluster that the census met.
type Cluster struct {
	Name cluster.Name
	// Controller and KubeConfig are how it is reached; empty for roots.
	Controller cluster.Name
	KubeConfig string
	// References are all ways to it, sorted; Controller and KubeConfig are the
	// first.
	References []Reference
	RunsFlux   bool
	// Controllers that are known to run there, "kustomize-controller 1.9.6",
	// sorted.
	Controllers []string
	// Evidence is what says that Flux runs there.
	Evidence string
	// Flavour and Platform are empty where nobody looked; Signals are what tells.
	Flavour, Platform string
	Signals           []platform.Signal
	// Observed is what was seen there, nil where nobody looked; Revision what its
	// controllers reconcile.
	Observed *observed.Cluster
	Revision *ownership.Revision
	// StrictSubstitution reports that an undeclared variable fails a build
	// there.
	StrictSubstitution bool
}

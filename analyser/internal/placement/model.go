// Package placement joins files, objects and clusters: one Placement for each
// (file, class, cluster, controller), with the way that leads there.
//
// It takes what the worklist found as plain values (Applied, Release) and
// reads nothing itself. No file is placed without a trace, and nothing that
// could not be decided is placed as local: it is Unresolved, with the reason.
package placement

import (
	"cmp"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Class is where, in relation to its controller, a file lands.
type Class string

// The classes of the output contract.
const (
	Local           Class = "local"
	RemoteDirect    Class = "remote_direct"
	RemoteHubRender Class = "remote_hub_render"
	Uncovered       Class = "uncovered"
	Unresolved      Class = "unresolved"
)

// State is what became of a Sync.
type State string

// The states of the output contract.
const (
	Resolved        State = "resolved"
	Suspended       State = "suspended"
	Failed          State = "failed"
	PathMissing     State = "path_missing"
	External        State = "external"
	StateUnresolved State = "unresolved"
	SpokeApplied    State = "spoke_applied"
)

// Outcome is a state with a stable reason code and the fact behind it, for
// people. Reason is empty for Resolved, whose Detail is a condition if any.
type Outcome struct {
	State  State
	Reason string
	Detail string
	// Pos is the line to look at, if there is one.
	Pos position.Pos
}

// Root is where the reconciliation of a cluster starts.
type Root struct {
	Cluster cluster.Name
	// Path is the directory of the repository from which the cluster
	// reconciles itself, "" is all of it.
	Path string
	// Sync names the Kustomization of the root.
	Namespace, Name string
	// DeclaredBy is "gotk-sync", "flux-instance", "flag", "config" or "spoke".
	DeclaredBy string
	// Declared is the document that declares it; zero when the user did.
	Declared position.Pos
}

// Applied is a Sync that lives on a cluster, and what became of it.
type Applied struct {
	// Cluster is where the object lives, Target where it applies.
	Cluster, Target cluster.Name
	Sync            *controller.Sync
	// Object declares the Sync; nil for roots that stand in no file.
	Object *kustomize.Object
	// Parent applies Object; nil for roots.
	Parent *Applied
	// Root is set for the Sync of a root.
	Root *Root
	Outcome
	// Blocked is set when what this Sync builds cannot be known to arrive: its
	// own outcome or that of an ancestor. All its placements are Unresolved.
	Blocked *Outcome
	// Rejected are the objects of the build that the API server is certain to
	// refuse, in the order of their place; the Outcome is then failed.
	Rejected []Rejected
	// Arrived are the objects of earlier stages that are applied although a
	// later one fails. They are placed although the Sync is blocked.
	Arrived map[*kustomize.Object]bool
	// Conditions say of objects that are not applied like the others when they
	// are.
	Conditions map[*kustomize.Object]string
	// Kept are the objects that are marked not to be pruned.
	Kept map[*kustomize.Object]bool
	// Path is the directory of the artifact that spec.path means, "" is its
	// root.
	Path string
	// Directory is the directory of the repository that the path means; known
	// is HasDirectory.
	Directory    string
	HasDirectory bool
	// ViewKey names the artifact that the path is relative to.
	ViewKey string
	// Result is nil when nothing was built.
	Result *controller.Result
	// Objects are those of Result, with those that other objects make of
	// themselves (a ResourceSet's).
	Objects []*kustomize.Object
	// Makers are the objects that make other objects of Objects of themselves.
	Makers map[*kustomize.Object]object.Key
	// Releases that this Sync applies.
	Releases []*Release
	// Below are the other manifests below Directory of a Sync that is blocked
	// itself: nobody can say that it does not mean them.
	Below []kustomize.Use
	// Emptied are the files read as objects of which no document is left in the
	// build, because patches delete them: they land nowhere by this Sync.
	Emptied map[string]bool
}

// Uses are the files that the Sync reads or may read.
func (a *Applied) Uses() []kustomize.Use {
	return append(a.Result.Uses[:len(a.Result.Uses):len(a.Result.Uses)], a.Below...)
}

// Class is the class of a plain object of the Sync.
func (a *Applied) Class() Class {
	if a.Sync.KubeConfig != nil {
		return RemoteDirect
	}
	return Local
}

// Controller is "namespace/name" of the Sync.
func (a *Applied) Controller() string {
	return a.Sync.Object.Namespace + "/" + a.Sync.Object.Name
}

// Rejected is an object that cannot be applied.
type Rejected struct {
	Object *kustomize.Object
	// Reason is a stable code: "namespace_missing", "invalid_name",
	// "invalid_namespace", "invalid_metadata", "secret_encrypted", or that of the
	// controller.Problem for which the API server refuses it.
	Reason string
	// Detail names the object and what is wrong with it.
	Detail string
	Pos    position.Pos
}

// blocks reports that an object of a's build cannot be known to arrive.
func (a *Applied) blocks(o *kustomize.Object) bool {
	return a.Blocked != nil && !(a.Blocked == &a.Outcome && a.Arrived[o])
}

// Release is a HelmRelease that lives on a cluster.
type Release struct {
	// Cluster is where the HelmRelease lives, Target where its chart installs.
	Cluster, Target cluster.Name
	Release         *controller.Release
	Object          *kustomize.Object
	// Applied is the Sync that applies Object.
	Applied *Applied
	Class   Class
	Outcome
	// Files of this repository that make up the chart and its values.
	Files []ChartFile
	// ChartBlocked is why it cannot be said that Files are what is installed.
	ChartBlocked *Outcome
}

// ChartFile is a file of a chart that stands in the repository.
type ChartFile struct {
	Path string
	Role kustomize.Role
	// Detail is what a change of the file waits for; empty for nothing.
	Detail string
	Pos    position.Pos
}

// Controller is "namespace/name" of the release.
func (r *Release) Controller() string {
	return r.Release.Object.Namespace + "/" + r.Release.Object.Name
}

// Placement is one landing of a file.
type Placement struct {
	Path              string
	Role              kustomize.Role
	Class             Class
	Cluster           cluster.Name
	ControllerCluster cluster.Name
	Controller        string
	ControllerKind    string
	Outcome

	// What the trace is made from.
	applied *Applied
	release *Release
	object  *kustomize.Object
	at      position.Pos
}

// Object is one object on one cluster as built, without those of builds that
// are blocked.
type Object struct {
	Ref               object.Ref
	Cluster           cluster.Name
	ControllerCluster cluster.Name
	Applied           *Applied
	Object            *kustomize.Object
	Class             Class
}

// Compare orders placements by path, class, cluster, controller cluster,
// controller kind and controller.
func (p *Placement) Compare(o *Placement) int {
	return cmp.Or(
		strings.Compare(p.Path, o.Path), strings.Compare(string(p.Class), string(o.Class)),
		strings.Compare(string(p.Cluster), string(o.Cluster)),
		strings.Compare(string(p.ControllerCluster), string(o.ControllerCluster)),
		strings.Compare(p.ControllerKind, o.ControllerKind),
		strings.Compare(p.Controller, o.Controller),
	)
}

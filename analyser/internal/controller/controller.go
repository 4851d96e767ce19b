// Package controller is the seam between reconciliation engines and the rest:
// what any engine declares (Sync, Source, Release, Root) and what an engine is
// (Engine, a value). Nothing here knows Flux from Argo CD.
package controller

import (
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// SourceRef names a source object. Namespace is filled in with the default of
// the referring object.
type SourceRef struct {
	Kind, Namespace, Name string
}

func (r SourceRef) String() string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// KubeConfigRef is how a controller object names another cluster. Together
// with the cluster of the object it is the identity of the destination.
type KubeConfigRef struct {
	// Kind is "Secret" or "ConfigMap".
	Kind, Namespace, Name string
	// Key inside a Secret as written; empty means the engine's default.
	Key string
	// Pos is the line that sets it, possibly in a patch.
	Pos position.Pos
}

// Variables are how an engine substitutes text after a build.
type Variables struct {
	// Declared reports that the object asks for substitution at all.
	Declared bool
	// Always reports that text is substituted even when no variable is set
	// (Flux: spec.postBuild.substituteStrategy).
	Always bool
	// Inline variables win over those of From.
	Inline map[string]string
	// Unknown are the inline variables whose own value depends on a variable
	// that could not be read, in ascending order. They are not in Inline, and
	// Build takes them out of the values it is given.
	Unknown []string
	// From lists ConfigMaps and Secrets in the namespace of the object on its
	// own cluster, later ones win.
	From []VariablesFrom
	// Hidden are the names of variables whose values come from Secrets, in
	// ascending order. Build uses them to tell whether the build succeeds; in
	// what it returns they are unknown, so that no value of a Secret becomes
	// part of a name, a path or a message.
	Hidden []string
}

// VariablesFrom names a ConfigMap or Secret whose data are variables.
type VariablesFrom struct {
	Kind, Name string
	Optional   bool
	Pos        position.Pos
}

// Dependency is an entry of dependsOn; Kind is the kind of the object that
// declares it.
type Dependency struct {
	Kind, Namespace, Name string
	// OwnCheck reports that the entry says itself when the dependency is ready
	// (Flux: readyExpr), in place of its Ready condition.
	OwnCheck bool
	Pos      position.Pos
}

// Sync is a controller object that applies what Source@revision/Path builds to
// a destination cluster.
type Sync struct {
	// Engine is the name of the Engine, "flux".
	Engine string
	// Object names it on the cluster where it lives.
	Object object.Ref
	Pos    position.Pos
	// Path as written; the engine's Directory says what it means.
	Path    string
	PathPos position.Pos
	Source  SourceRef
	// KubeConfig is nil for the cluster where the object lives.
	KubeConfig *KubeConfigRef
	Suspend    bool
	Prune      bool
	DependsOn  []Dependency
	Overlay    kustomize.Overlay
	Variables  Variables
	// Labels and annotations that are put on every object after the build.
	CommonLabels, CommonAnnotations map[string]string
	// Declared is the object that declares it, for the lines of what its spec
	// sets; nil for a Sync that stands in no file.
	Declared *packed.Tree
	// Decryption reports spec.decryption with provider sops.
	Decryption bool
	// ServiceAccount that is impersonated on the destination; empty for none.
	ServiceAccount string
	// Problem is why the object cannot be what it says: the API server rejects
	// it or the controller cannot read it. Nil when it can.
	Problem *Problem
}

// Release is a Helm release that an engine installs.
type Release struct {
	Engine     string
	Object     object.Ref
	Pos        position.Pos
	KubeConfig *KubeConfigRef
	Suspend    bool
	// Name, Namespace and StorageNamespace with the engine's defaults applied.
	ReleaseName, ReleaseNamespace, StorageNamespace string
	// Chart is the chart, nil when the object names none.
	Chart *Chart
	// ValuesFrom are ConfigMaps and Secrets on the cluster of the object.
	ValuesFrom []VariablesFrom
	DependsOn  []Dependency
	Problem    *Problem
}

// Chart says where a chart comes from.
type Chart struct {
	// Source is a HelmRepository, GitRepository, Bucket, OCIRepository,
	// HelmChart or ExternalArtifact.
	Source SourceRef
	// Name is the chart's name in a HelmRepository, or its directory in the
	// artifact of another source; empty when Source is the chart itself.
	Name    string
	Version string
	// ValuesFiles are relative to the artifact root of the source for charts
	// in a GitRepository or Bucket, inside the package otherwise.
	ValuesFiles []string
	// IgnoreMissingValuesFiles skips values files that do not exist.
	IgnoreMissingValuesFiles bool
	// ReconcileStrategy says what makes a new chart out of new content
	// (Flux: "ChartVersion" or "Revision"); empty when the engine has none.
	ReconcileStrategy string
	Pos               position.Pos
}

// Source is a source object: content at a revision.
type Source struct {
	Engine string
	Object object.Ref
	Pos    position.Pos
	// URL as written; empty for kinds without one.
	URL string
	// Ref is what the object resolves, "branch:main", "tag:v1",
	// "semver:>=1.0", "commit:<id>", "name:refs/heads/x", "digest:...";
	// precedence already applied, the engine's default filled in.
	Ref string
	// Ignore is spec.ignore; IgnoreSet tells an empty one from none.
	Ignore    string
	IgnoreSet bool
	// IgnorePos is the line on which the text of Ignore starts.
	IgnorePos position.Pos
	// Includes graft other sources into the artifact.
	Includes []Include
	// SparseCheckout limits the directories that are in the artifact.
	SparseCheckout []string
	// RecurseSubmodules also fetches submodules.
	RecurseSubmodules bool
	// LayerCopy reports an OCIRepository that keeps the layer as it was pushed:
	// no ignore rule of the controller applies to it.
	LayerCopy bool
	// Prefix limits a Bucket to the keys that start with it.
	Prefix  string
	Suspend bool
	// Chart is set for a HelmChart: the chart that the object itself names.
	Chart *Chart
	// Generator is set for an ArtifactGenerator.
	Generator *ArtifactGenerator
	Problem   *Problem
}

// Include is an entry of a GitRepository's spec.include.
type Include struct {
	Source           SourceRef
	FromPath, ToPath string
	Pos              position.Pos
}

// ArtifactGenerator makes ExternalArtifacts out of other sources.
type ArtifactGenerator struct {
	// Sources by alias.
	Sources   map[string]SourceRef
	Artifacts []GeneratedArtifact
	// PathPattern, "@alias/apps/{app}", makes one set of Artifacts for each
	// directory that it matches; their names and copies then hold "{app}".
	PathPattern string
}

// GeneratedArtifact is one artifact of an ArtifactGenerator: the
// ExternalArtifact of that name in the namespace of the generator.
type GeneratedArtifact struct {
	Name string
	// Namespace of the ExternalArtifact; empty for that of the generator.
	Namespace string
	Copy      []Copy
	Pos       position.Pos
}

// Copy is one copy operation, as written: "@alias/pattern" to
// "@artifact/path".
type Copy struct {
	From, To string
	Exclude  []string
	Strategy string
	// Optional copies may match nothing.
	Optional bool
	Pos      position.Pos
}

// Root is where reconciliation of a cluster starts, as declared by an object:
// a Sync that stands in no file (FluxInstance spec.sync), with its source.
type Root struct {
	Sync   Sync
	Source Source
}

// Problem is a reason with a stable code and the missing or wrong fact.
type Problem struct {
	// Code, for example "invalid_spec", "two_kubeconfigs", "external_inputs".
	Code    string
	Message string
	Pos     position.Pos
	// Refused reports that the API server refuses the object: it is never
	// there in this form, and what applies it fails.
	Refused bool
}

// Declared is what one object on a cluster declares to an engine. Objects are
// further objects that the engine creates on the same cluster (a ResourceSet's),
// which are then read in turn.
type Declared struct {
	Syncs    []Sync
	Releases []Release
	Sources  []Source
	Roots    []Root
	Objects  []*kustomize.Object
	// Problem is set when the object declares more than can be told.
	Problem *Problem
}

// Refused are the problems for which the API server refuses the object.
func (d Declared) Refused() []Problem {
	var out []Problem
	add := func(p *Problem) {
		if p != nil && p.Refused {
			out = append(out, *p)
		}
	}
	add(d.Problem)
	for _, s := range d.Syncs {
		add(s.Problem)
	}
	for _, r := range d.Releases {
		add(r.Problem)
	}
	for _, s := range d.Sources {
		add(s.Problem)
	}
	for _, r := range d.Roots {
		add(r.Sync.Problem)
	}
	return out
}

// Result of building a Sync.
type Result struct {
	*kustomize.Build
	// Undeclared are the variables without a value and without a default that
	// the text uses, with the object and the line of each use, sorted by name,
	// then object.
	Undeclared []Undeclared
	// Unknown are the uses of variables whose value could not be read, in the
	// same order. The text then keeps "${NAME}"; see kustomize.Object.Unknown.
	Unknown []Undeclared
	// Dropped are objects of the build that the engine does not apply, without
	// saying so: not in Objects.
	Dropped []Dropped
	// Built are the objects as kustomize built them, when what the controller
	// does with them afterwards fails; nil otherwise.
	Built []*kustomize.Object
}

// Dropped is an object that the engine leaves out silently.
type Dropped struct {
	// Object as far as it can be read.
	Object object.Ref
	Pos    position.Pos
	// Reason is a stable code: "not_a_kubernetes_object" (its name, kind or
	// apiVersion is no string, for example because a variable made it a
	// number), "kustomize_config" (a kustomization file as an object).
	Reason string
}

// Undeclared is a use of a variable that nobody declares.
type Undeclared struct {
	Name   string
	Object object.Ref
	Pos    position.Pos
}

// Engine is a reconciliation engine as a value. Its functions must be pure and
// safe for concurrent use.
type Engine struct {
	// Name as in the output, "flux".
	Name string
	// Handles reports whether objects of a kind mean anything to the engine.
	Handles func(object.GroupKind) bool
	// Read says what an object declares. It never fails: what is wrong becomes
	// a Problem.
	Read func(*kustomize.Object) Declared
	// Directory is the directory of the artifact that a Sync's path means;
	// clean, "" is the root (Flux: filepath-securejoin, so ".." is clamped).
	// It need not exist.
	Directory func(path string) string
	// Target is what kustomize builds for a Sync.
	Target func(*Sync) kustomize.Target
	// Finish turns what kustomize built into what the controller applies; it
	// changes nothing of it. vars are the values of Variables with precedence
	// applied; complete is false when some could not be read, so that an
	// undeclared variable may have a value after all. strict is whether an
	// undeclared variable fails the build. byText substitutes without shortcuts.
	Finish func(k *kustomize.Build, s *Sync, vars map[string]string, complete, strict, byText bool) *Result
}

// Build builds a Sync from a view of its source's artifact: Target and Finish.
func (e Engine) Build(b *kustomize.Builder, s *Sync, vars map[string]string, complete, strict bool) *Result {
	return e.Finish(b.Build(e.Target(s)), s, vars, complete, strict, b.Options().NoShortcuts)
}

// View makes the artifact of a source out of the repository.
type View struct {
	*snapshot.Snapshot
	// Key is equal for equal views.
	Key string
	// Excluded are the files of the repository that are not in the artifact
	// although they lie below its root, by their path in the repository.
	Excluded map[string]Exclusion
	// Unknown are parts of the artifact whose content is not in this
	// repository, sorted by path: files there may exist or not.
	Unknown []UnknownPart
}

// Exclusion is why a file is not in an artifact.
type Exclusion struct {
	// Reason is a stable code: "symlink", "submodule", "default" (the engine's
	// own exclusions), "vcs", "sourceignore" (a pattern in a file of the
	// repository), "spec.ignore", "sparse_checkout", "push" (what the pushing
	// tool leaves out), "prefix", "not_copied" (a generated artifact takes
	// other files), "replaced" (a later copy or include put another file
	// there).
	Reason string
	// Pattern that decided, if one did.
	Pattern string
	// File and Line of the pattern when it stands in a file of the repository.
	File string
	Line int
	// Pos of the pattern when it stands in the source object.
	Pos position.Pos
}

// UnknownPart is a file or directory of an artifact whose content cannot be
// told.
type UnknownPart struct {
	// Path inside the artifact; "" is all of it.
	Path    string
	Problem *Problem
}

// Package kustomize builds kustomization files the way `kustomize build` and
// Flux's kustomize-controller do, and remembers where everything came from.
//
// The build uses kustomize's own filters, transformers and generators
// (sigs.k8s.io/kustomize/api and kyaml); what is ours is the order in which
// they run (upstream: api/internal/target and api/internal/accumulator, which
// cannot be imported), the sharing of layers, and the origins. krusty is the
// oracle in tests and never runs here.
//
// It cannot see what is not in the snapshot: remote bases, remote files and
// Helm charts are named in Build.External, and a build with external inputs
// is Partial: what it lists is right, but there is more.
package kustomize

import (
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Target is what to build.
type Target struct {
	// Dir is a directory of the view; "" is its root.
	Dir string
	// Flux is what a Flux Kustomization adds; nil for a plain
	// `kustomize build`.
	Flux *Overlay
	// Declared is the Flux object behind Flux, for the lines of what its spec
	// sets; nil when the object stands in no file. Only traced builds look at
	// it.
	Declared *packed.Tree
}

// Overlay is the part of a Flux Kustomization's spec that its controller
// writes into the kustomization file before it builds, and what it does to
// the result before post-build substitution (upstream: fluxcd/pkg/kustomize
// kustomize_generator.go). With an Overlay a directory without a kustomization
// file gets a generated one.
type Overlay struct {
	TargetNamespace         string
	NamePrefix, NameSuffix  string
	Patches                 []Patch
	Images                  []Image
	Components              []string
	IgnoreMissingComponents bool
	// BuildMetadata, when not empty, replaces the field of the kustomization
	// file.
	BuildMetadata []string
	// KeepsEncrypted says that the controller does not decrypt (no
	// spec.decryption): generators then hash encrypted inputs as they stand.
	// Otherwise the hash of such an input is unknown.
	KeepsEncrypted bool
	// NoRemoteBases is the controller's flag: remote bases fail the build.
	NoRemoteBases bool
}

// Patch is one entry of spec.patches.
type Patch struct {
	// Text is the patch, strategic merge or JSON 6902.
	Text string
	// Pos is the first line of Text.
	Pos position.Pos
	// Target selects objects; nil for a strategic merge patch that names its
	// own object.
	Target *Selector
}

// Selector selects objects as kustomize's types.Selector does: every string
// of Group, Version, Kind, Name and Namespace is an anchored regular
// expression, empty matches everything.
type Selector struct {
	Group, Version, Kind, Name, Namespace string
	LabelSelector, AnnotationSelector     string
}

// Image is one entry of spec.images.
type Image struct {
	Name, NewName, NewTag, Digest string
}

// Build is what a target yields.
type Build struct {
	// Objects in the order of the real build. Empty when Failure is set.
	Objects []*Object
	// Uses are the files that the build reads or, when it fails, would have
	// read as far as that can be told: each file once per role, sorted by
	// path, then role.
	Uses []Use
	// Generated are the directories for which Flux writes a kustomization
	// file, sorted.
	Generated []string
	// External are inputs from outside the snapshot, sorted by URL.
	External []External
	// Failure is why the real tool fails; nil when it does not.
	Failure *Failure
	// Unwritten are the objects of a build that fails only where it is written:
	// kustomize-controller substitutes in the objects before the first Unwritable
	// one, and any of them may fail first. Empty without such a Failure.
	Unwritten []*Object
	// Unresolved is why it cannot be told what the real tool does; nil when it
	// can. Objects are then the best that is known.
	Unresolved *Failure
}

// Partial reports that the real build yields more than Objects lists.
func (b *Build) Partial() bool { return len(b.External) > 0 || b.Unresolved != nil }

// Object is one object of a build. It is immutable; two builds that share a
// layer may share it.
type Object struct {
	// Ref is the identity after the build.
	Ref object.Ref
	// Tree is the object itself; the Line of each node is a position.Pos of
	// the file that wrote the value, 0 where a transformer computed it.
	//
	// Its Unknown are scalar nodes (values or keys) whose text depends on a
	// post-build variable that could not be read, with the variable's name. The
	// text keeps "${NAME}" in its place. A kustomize build leaves it nil.
	Tree *packed.Tree
	// Origin is where the object is written: the first line of its document,
	// or of the generator's entry in the kustomization file.
	Origin position.Pos
	// Written is the identity at Origin, before any layer touched it. Its Name
	// is empty for generated objects.
	Written object.Ref
	// Steps are what contributed to the object, in order: layers from the
	// innermost to the outermost, with the patches, generators, components and
	// transformers of each.
	Steps []Step
	// UnknownName reports that the name ends in a hash that cannot be
	// computed (input encrypted or absent, or a kind that no generator makes):
	// Ref.Name is the part before it.
	UnknownName bool
	// UnknownIdentity reports that apiVersion, kind, name or namespace is among
	// the Unknown of Tree.
	UnknownIdentity bool
	// Conceals reports that a value from a Secret came into the object and does not
	// stand there: the text has Concealed in its place, and Unknown holds the scalar.
	Conceals bool
	// Unwritable is why kustomize cannot write the object; nil for all Objects.
	Unwritable *Failure
	// History is what the steps of the build did to each value; nil when the
	// build was not traced.
	History *History
}

// Node is the root of Tree.
func (o *Object) Node() *yaml.Node { return o.Tree.Node() }

// StepKind says what a Step is.
type StepKind string

// The kinds of steps.
const (
	StepLayer       StepKind = "layer"       // a kustomization file that the object passed through
	StepPatch       StepKind = "patch"       // a patch that selected the object
	StepGenerator   StepKind = "generator"   // a generator that made the object or merged into it
	StepInput       StepKind = "input"       // a file that a generator read for the object
	StepTransformer StepKind = "transformer" // a transformer, replacement or configuration file that applied to the object
	// StepSubstitution and StepMetadata are what a Flux controller does after
	// the build; they are causes in a History, never Steps.
	StepSubstitution StepKind = "substitution"
	StepMetadata     StepKind = "metadata"
)

// Step is one contribution to an object.
type Step struct {
	Kind StepKind
	// Pos is the file and line of the contribution: for a patch in a file, the
	// patch itself; for an inline patch, the line where its text starts.
	Pos position.Pos
}

// Role is what a file is to the layer that reads it.
type Role string

// The roles of files, as in the output contract.
const (
	RoleObject         Role = "object"
	RoleKustomization  Role = "kustomization"
	RolePatch          Role = "patch"
	RoleComponent      Role = "component" // the kustomization file of a component
	RoleGeneratorInput Role = "generator_input"
	RoleValues         Role = "values"
	RoleTransformer    Role = "transformer"
	RoleOther          Role = "other"
)

// Use is a file that a build reads.
type Use struct {
	// Path in the repository.
	Path string
	Role Role
	// Pos is where the reference to it is written; the zero Pos for the
	// target's own kustomization file and for generated ones.
	Pos position.Pos
}

// External is an input from outside the snapshot.
type External struct {
	// Kind is "remote_base", "remote_file", "helm_chart".
	Kind string
	// URL or chart reference as written.
	URL string
	Pos position.Pos
}

// Failure is why a build fails or cannot be decided.
type Failure struct {
	// Code is stable: "not_found", "no_kustomization_file",
	// "several_kustomization_files", "bad_kustomization_file", "bad_yaml",
	// "not_an_object", "duplicate_id", "patch_no_match", "bad_patch",
	// "outside_root", "cycle", "component_kind", "bad_generator",
	// "bad_transformer", "bad_replacement", "unsupported", "limit",
	// "plugin", "encrypted", "remote_base_forbidden", ...
	Code string
	// Pos is the line to look at.
	Pos position.Pos
	// Message says what is wrong, for people; it quotes no values of objects.
	Message string
}

func (f *Failure) Error() string { return f.Message }

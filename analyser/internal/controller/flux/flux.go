// Package flux reads what Flux objects declare and builds what its controllers
// apply.
//
// Read decodes the objects of all API versions that were ever served with a
// typed reader of its own: the upstream API modules drag in an HTTP stack, and
// a decoded struct no longer knows its lines. A value of the wrong type, a
// missing required field or a value that the CRD forbids becomes a Problem
// with its line: the API server refuses such an object, and nothing is
// guessed in its place.
//
// Build adds to the kustomize build what kustomize-controller does next:
// post-build substitution (upstream: fluxcd/pkg/kustomize SubstituteVariables),
// the conversion to objects (fluxcd/pkg/ssa/utils ReadObjects) and
// spec.commonMetadata, in this order.
//
// Variables whose value is not known (they come from a Secret that is
// encrypted or from an object that is not in the repository) are never
// replaced by nothing: the text keeps "${NAME}", kustomize.Object.Unknown names
// the scalars concerned, and Read turns a field that depends on one into a
// Problem. When the identity of an object depends on one, UnknownIdentity is
// set and the build is Unresolved.
//
// The package cannot see: what an encrypted value contains (it may use
// variables itself), which controller version runs (the caller says whether
// substitution is strict), and validation by admission webhooks.
package flux

import (
	"path"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// Name of the engine, as in the output.
const Name = "flux"

// The API groups of Flux and of the controllers that extend it.
const (
	groupKustomize  = "kustomize.toolkit.fluxcd.io"
	groupHelm       = "helm.toolkit.fluxcd.io"
	groupSource     = "source.toolkit.fluxcd.io"
	groupExtensions = "source.extensions.fluxcd.io"
	groupOperator   = "fluxcd.controlplane.io"
)

// Engine returns Flux as a value.
func Engine() controller.Engine {
	return controller.Engine{
		Name:      Name,
		Handles:   func(gk object.GroupKind) bool { return readers[gk] != nil },
		Read:      read,
		Directory: Directory,
		Target:    target,
		Finish:    postBuild,
	}
}

// readers maps the kinds that mean something to what reads them.
var readers = map[object.GroupKind]func(*reader, *controller.Declared){
	{Group: groupKustomize, Kind: "Kustomization"}:      readKustomization,
	{Group: groupHelm, Kind: "HelmRelease"}:             readHelmRelease,
	{Group: groupSource, Kind: "GitRepository"}:         readGitRepository,
	{Group: groupSource, Kind: "OCIRepository"}:         readOCIRepository,
	{Group: groupSource, Kind: "Bucket"}:                readBucket,
	{Group: groupSource, Kind: "HelmRepository"}:        readHelmRepository,
	{Group: groupSource, Kind: "HelmChart"}:             readHelmChart,
	{Group: groupSource, Kind: "ExternalArtifact"}:      readExternalArtifact,
	{Group: groupExtensions, Kind: "ArtifactGenerator"}: readArtifactGenerator,
	{Group: groupOperator, Kind: "FluxInstance"}:        readFluxInstance,
	{Group: groupOperator, Kind: "ResourceSet"}:         readResourceSet,
}

func read(o *kustomize.Object) controller.Declared {
	var d controller.Declared
	if f := readers[o.Ref.GroupKind()]; f != nil {
		f(newReader(o), &d)
	}
	return d
}

// Directory is the directory of an artifact that spec.path means: clean,
// without leading slash, "" for the root. Paths that lead out of the artifact
// are clamped to its root, backslashes are ordinary characters (upstream:
// filepath-securejoin's SecureJoin, which is lexical here because artifacts
// hold no symbolic links).
func Directory(p string) string { return path.Clean("/" + p)[1:] }

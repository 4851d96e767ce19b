// Package dump is the language between analyser/testdata/dumpbuilds and
// hack/agreement: what the analyser builds, in full, for comparison with the
// real tools. It is for tests alone; the product speaks proto/reach/v1.
//
// A Request is one JSON value on standard input, its Reply one on standard
// output, until the input ends.
package dump

import "encoding/json"

// Request asks for the builds of one repository.
type Request struct {
	// Repository is a clone; its HEAD is read.
	Repository string
	// Changes replace the content of files, nil removes one. The commit stays
	// as it is.
	Changes map[string]*string
	Roots   []Root
	Sources []Source
	Spokes  []Spoke
	// Clusters is what is stated about clusters.
	Clusters []Cluster
	// Plain are the directories to build as `kustomize build` does; AllPlain
	// asks for all that hold a kustomization file.
	Plain    []string
	AllPlain bool
	// Generated asks for a Flux build of every directory of the repository's
	// artifact that holds manifests somewhere below and no kustomization file:
	// what Flux generates one for when a Kustomization names it.
	Generated bool
	// Kustomizations asks for Flux builds of the repository's artifact, each
	// from a Kustomization as it would stand in a cluster.
	Kustomizations []json.RawMessage
	// Files asks for the files of the commit with their digests.
	Files bool
}

// Root is a declared root.
type Root struct{ Cluster, Path, Namespace, Name string }

// Source is a source mapping.
type Source struct {
	Kind, Namespace, Name, URL, Ref, Subdirectory, Cluster string
	External                                               bool
}

// Spoke names the cluster behind a reference.
type Spoke struct{ Controller, Namespace, Kind, Reference, Key, Cluster string }

// Cluster is what is stated about a cluster.
type Cluster struct {
	Name                       string
	Controllers                []string
	KustomizeControllerVersion string
	FeatureGates               map[string]bool
}

// Reply is what the analyser builds.
type Reply struct {
	// Error is why there is nothing else.
	Error string
	Files []File
	Plain []Plain
	// Views are the artifacts by ViewKey.
	Views map[string]View
	// Strict are the clusters on which an undeclared variable fails a build.
	Strict map[string]bool
	Syncs  []Sync
	// Generated and Kustomizations are the answers, of no cluster.
	Generated, Kustomizations []Sync
	// Builds that Sync.Build counts into.
	Builds []Build
}

// File is a file of the commit.
type File struct {
	// Path may hold any byte.
	Path []byte
	// Mode as git writes it, "100644".
	Mode string
	Blob string
	// Digest is the SHA-256 of the content, hexadecimal; empty for submodules.
	Digest string
}

// Plain is a kustomize build of a directory.
type Plain struct {
	Dir   string
	Build Build
}

// View is an artifact.
type View struct {
	// Files are paths in the repository by path in the artifact.
	Files map[string]string
	// Dirs are its directories, without the root.
	Dirs []string
	// Unknown reports that it also holds content that is not in the repository.
	Unknown bool
}

// Sync is a Flux Kustomization and what became of it.
type Sync struct {
	Cluster, Target, Namespace, Name string
	State, Reason                    string
	// Blocked reports that its objects may not arrive.
	Blocked bool
	// Object is the Kustomization; for one that stands in no file, as the
	// analyser has it.
	Object json.RawMessage
	// ViewKey is empty when nothing is built.
	ViewKey string
	// Directory of the artifact that is built.
	Directory string
	// Build is -1 when nothing is built.
	Build int
	// Made are objects that objects of the build make (ResourceSet).
	Made []Object
}

// Build is the result of one.
type Build struct {
	Objects  []Object
	Uses     []string
	External []string
	Failure  *Failure
	// Unresolved is why it is not decided.
	Unresolved *Failure
	// Unknown are the variables whose values are not known.
	Unknown []string
}

// Failure is why a build fails.
type Failure struct {
	Code, Message, File string
	Line                int
}

// Object is one object.
type Object struct {
	Group, Version, Kind, Namespace, Name string
	// Content is the object.
	Content json.RawMessage
	// UnknownName says that a hash is missing at the end of the name.
	UnknownName bool `json:",omitempty"`
	// Unknown are the places of values that depend on variables that are not
	// known: ".spec.hosts[0]".
	Unknown []string `json:",omitempty"`
	// File and Line are where it is written.
	File string
	Line int
}

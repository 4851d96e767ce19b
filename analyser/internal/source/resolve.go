package source

import (
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

// Meaning is what a source object stands for.
type Meaning string

// What a source object can stand for.
const (
	// ThisCommit: it delivers this repository at the commit of the census.
	ThisCommit Meaning = "this_commit"
	// OtherRef: it delivers this repository at another ref, which may or may
	// not be the same content.
	OtherRef Meaning = "other_ref"
	// OtherRepository: its content is not in this repository.
	OtherRepository Meaning = "other_repository"
	// Undecided: it cannot be told; Resolution.Detail says what is missing.
	Undecided Meaning = "undecided"
)

// Home is how the clusters get this repository: the URL and ref of a root's
// own source, which by definition delivers the commit of the census. The zero
// value means that it is not known.
type Home struct {
	Kind, URL, Ref string
	// Subdirectory of the repository that is the root of the artifact.
	Subdirectory string
	// Commit of the census, in full.
	Commit string
}

// Mapping is the user's word on some source objects. Empty fields match
// everything; at least URL or Name is set.
type Mapping struct {
	Kind, Namespace, Name string
	URL                   string // compared normalised
	// Ref at which the source delivers the commit of the census; empty means
	// whatever ref the object names.
	Ref          string
	Subdirectory string
	Cluster      string
	External     bool
}

// Resolution is what a source object means.
type Resolution struct {
	Meaning Meaning
	// Subdirectory of this repository that is the root of the artifact.
	Subdirectory string
	// Detail says why, for people.
	Detail string
}

// Resolve tells what a source object on a cluster means. The user's mappings
// come first, in their order; then the homes: any of them that has the URL of
// the object makes it this repository. A path that happens to exist here never
// does. Sources made of others (HelmChart, ExternalArtifact,
// ArtifactGenerator) are undecided: ask for the sources that they name.
func Resolve(src controller.Source, cluster string, homes []Home, mappings []Mapping) Resolution {
	for _, m := range mappings {
		if !m.matches(src, cluster) {
			continue
		}
		switch {
		case m.External:
			return Resolution{Meaning: OtherRepository, Detail: "the configuration says that it is external"}
		case m.Ref != "" && !sameRef(m.Ref, src.Ref):
			return Resolution{OtherRef, clean(m.Subdirectory), fmt.Sprintf("it follows %s; the configuration names %s", src.Ref, m.Ref)}
		}
		return Resolution{ThisCommit, clean(m.Subdirectory), "the configuration says so"}
	}
	if src.Problem != nil && src.Problem.Code == "substitution_unknown" {
		return Resolution{Meaning: Undecided, Detail: src.Problem.Message}
	}
	switch src.Object.Kind {
	case "GitRepository", "OCIRepository", "Bucket":
		return fromHomes(src, homes)
	case "HelmRepository":
		return Resolution{Meaning: OtherRepository, Detail: "it is a chart repository"}
	}
	return Resolution{Meaning: Undecided, Detail: "its content is made of other sources"}
}

func fromHomes(src controller.Source, homes []Home) Resolution {
	if src.URL == "" {
		return Resolution{Meaning: Undecided, Detail: "it names no URL"}
	}
	url, known := Normalise(src.URL), false
	best := Resolution{Meaning: OtherRepository, Detail: "its URL is that of another repository"}
	for _, h := range homes {
		if h.URL == "" || h.Kind != "" && h.Kind != src.Object.Kind {
			continue
		}
		known = true
		switch home := Normalise(h.URL); {
		case home == url && src.Object.Kind == "Bucket" && h.Ref != src.Ref:
			// The ref of a bucket is its name: another bucket, other content.
		case home == url && atHome(src.Ref, h):
			return Resolution{ThisCommit, clean(h.Subdirectory), "it has the URL and ref of a root's source"}
		case home == url:
			best = Resolution{OtherRef, clean(h.Subdirectory), fmt.Sprintf("it follows %s; the root's source follows %s", src.Ref, h.Ref)}
		case withoutPort(home) == withoutPort(url) && best.Meaning == OtherRepository:
			best = Resolution{Meaning: Undecided, Detail: "host and path of its URL are those of this repository, but the port differs; declare it in the configuration"}
		}
	}
	if best.Meaning == OtherRepository {
		switch {
		case src.Object.Kind != "GitRepository":
			return Resolution{Meaning: Undecided, Detail: "what is pushed there is not in the repository; declare it in the configuration"}
		case !known:
			return Resolution{Meaning: Undecided, Detail: "no root tells the URL of this repository; declare it in the configuration"}
		}
	}
	return best
}

// atHome reports that a ref delivers the commit of the census.
func atHome(ref string, h Home) bool {
	if id, ok := strings.CutPrefix(ref, "commit:"); ok && h.Commit != "" {
		return strings.EqualFold(id, h.Commit)
	}
	return sameRef(ref, h.Ref)
}

// sameRef compares refs of the form "kind:value"; a name below refs/heads/ or
// refs/tags/ is a branch or tag.
func sameRef(a, b string) bool { return plainRef(a) == plainRef(b) }

func plainRef(ref string) string {
	if name, ok := strings.CutPrefix(ref, "name:"); ok {
		if b, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			return "branch:" + b
		}
		if t, ok := strings.CutPrefix(name, "refs/tags/"); ok {
			return "tag:" + strings.TrimSuffix(t, "^{}")
		}
	}
	return ref
}

func (m Mapping) matches(src controller.Source, cluster string) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return (m.URL != "" || m.Name != "") && is(m.Cluster, cluster) &&
		is(m.Kind, src.Object.Kind) && is(m.Namespace, src.Object.Namespace) && is(m.Name, src.Object.Name) &&
		(m.URL == "" || Normalise(m.URL) == Normalise(src.URL))
}

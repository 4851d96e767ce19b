package finding

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// mutableTag finds images whose tag is meant to move and that land on several
// clusters: the clusters may run different code under one line.
//
// What counts is the image as built, after images transformers, patches and
// variables. A digest pins. Any tag can be moved; this rule speaks of those
// that say so: none at all, one without a digit ("latest", "stable"), a major
// version alone ("16", "v2-alpine"). A tag of two numbers may be a whole version
// (postgres:16.3) and is left alone, and so is what hangs on an unknown variable.
var mutableTag = &Rule{
	Name:     "reach.image.mutable_tag",
	Doc:      "An image by a tag that is meant to move lands on several clusters: each runs what the tag meant when it last pulled.",
	Severity: Info,
	Run: func(m *Model) []Finding {
		type use struct {
			at      position.Position
			object  object.Ref
			owner   string
			written *kustomize.Object
		}
		uses := map[string]byCluster[use]{}
		known := map[*kustomize.Object][]*yaml.Node{}
		for _, o := range m.Objects {
			nodes, ok := known[o.Object]
			if !ok {
				nodes = mutableImages(o.Object)
				known[o.Object] = nodes
			}
			for _, n := range nodes {
				image := strings.TrimSpace(n.Value)
				if uses[image] == nil {
					uses[image] = byCluster[use]{}
				}
				uses[image][o.Cluster] = append(uses[image][o.Cluster], use{m.written(o.Object, n), o.Ref, o.Applied.Controller(), o.Object})
			}
		}
		var out []Finding
		for _, image := range slices.Sorted(maps.Keys(uses)) {
			by := uses[image]
			clusters := by.names()
			if len(clusters) < 2 {
				continue
			}
			var first *use
			for _, c := range clusters {
				for i := range by[c] {
					if u := &by[c][i]; first == nil || earlier(u.at, first.at) < 0 {
						first = u
					}
				}
			}
			f := Finding{
				At: first.at, Kind: first.object.Kind, Namespace: first.object.Namespace, Name: first.object.Name, Count: len(clusters),
				Message: "Image " + image + " is used on " + some(clusters, 6) + ", and " + whyMutable(image) +
					": each of them runs what the tag meant when it last pulled.",
				Remedy: "Name a whole version or a digest, here or in the images of a kustomization file; keep the tag if the clusters are meant to follow it.",
			}
			for _, c := range clusters {
				if len(f.Facts) == mostFacts {
					break
				}
				u := by[c][0]
				what := u.object.String() + ", applied by " + u.owner
				if n := len(by[c]); n > 1 {
					what += ", and " + plural(n-1, "other use", "other uses")
				}
				f.Facts = append(f.Facts, Fact{Cluster: c, Text: what, At: u.at})
			}
			out = append(out, f)
		}
		return out
	},
}

// podSpecs are the paths to the specification of pods, in built-in kinds and in
// the custom ones that follow them (Rollout, Knative Service).
var podSpecs = [][]string{
	{"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}, {"template", "spec"}, {"spec"},
}

// mutableImages are the nodes of an object that name an image by a tag that
// moves.
func mutableImages(o *kustomize.Object) []*yaml.Node {
	switch o.Ref.Kind {
	case "CustomResourceDefinition", "ConfigMap", "Secret", "HelmRelease":
		return nil
	}
	content := o.Tree.Open()
	var out []*yaml.Node
	add := func(n *yaml.Node) {
		if n != nil && n.Kind == yaml.ScalarNode && whyMutable(n.Value) != "" {
			if _, unknown := content.Unknown[n]; !unknown {
				out = append(out, n)
			}
		}
	}
	for _, path := range podSpecs {
		spec := field(content.Node, path...)
		for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
			for _, c := range items(spec, list) {
				add(field(c, "image"))
			}
		}
		for _, v := range items(spec, "volumes") {
			add(field(v, "image", "reference"))
		}
	}
	return out
}

var (
	withoutDigit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^0-9]+$`) })
	majorAlone   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v?[0-9]{1,2}(-[a-z][a-z0-9.]*)*$`) })
	commitID     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-f]{7,40}$`) })
)

// whyMutable says why the tag of an image is one that moves; "" when it is not
// known to, or when there is no image.
func whyMutable(image string) string {
	image = strings.TrimSpace(image)
	if image == "" || strings.ContainsAny(image, "@ ${}<>") {
		return "" // pinned, or not an image yet
	}
	name, tag := image, ""
	if i := strings.LastIndexByte(image, ':'); i >= 0 && !strings.Contains(image[i:], "/") {
		name, tag = image[:i], image[i+1:]
	}
	switch {
	case name == "":
		return ""
	case tag == "" && name == image:
		return "it has no tag, which means latest"
	case tag == "" || commitID().MatchString(tag):
		return ""
	case withoutDigit().MatchString(tag):
		return "the tag " + tag + " names no version"
	case majorAlone().MatchString(tag):
		return "the tag " + tag + " names no more than a major version"
	}
	return ""
}

// clustersOf are the clusters on which things land, sorted.
func clustersOf(names []cluster.Name) []cluster.Name {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

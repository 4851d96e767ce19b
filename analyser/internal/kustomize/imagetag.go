package kustomize

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// The image transformer looks through all of every object for containers, then once
// more at each field that the configuration names, with a chain of filters at every
// step and a regular expression that is compiled for every image. Here the images are
// found by one walk and their nodes are written, and objects without an image of the
// name are not copied (upstream: api/filters/imagetag). An object in which it is not
// plain what the filters find, or that they fail at, leaves all of them to kustomize.
// TestTransformers and FuzzTransformers compare the two, node by node.

// setImages applies an entry of images.
func (m *resources) setImages(p *builtins.ImageTagTransformerPlugin) error {
	if m.long {
		return p.Transform(m)
	}
	matches := matchingImages(p.ImageTag.Name)
	found := make([]bool, len(m.list))
	for i, e := range m.list {
		images, plain := imagesOf(e.res, p.FieldSpecs)
		if !plain {
			return p.Transform(m)
		}
		found[i] = slices.ContainsFunc(images, func(n *yaml.Node) bool { return matches(n.Value) })
	}
	for i, e := range m.list {
		if !found[i] {
			continue
		}
		images, _ := imagesOf(e.own(), p.FieldSpecs)
		for _, n := range images { // one that is found twice is set twice
			if matches(n.Value) {
				*n = yaml.Node{Kind: yaml.ScalarNode, Value: newImage(n.Value, p.ImageTag), Style: n.Style}
			}
		}
	}
	return nil
}

// matchingImages tells images of a name, which is a part of a regular expression
// (upstream: api/internal/image, IsImageMatched).
func matchingImages(name string) func(string) bool {
	re, err := regexp.Compile("^" + name + "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$")
	if err != nil {
		return func(string) bool { return false }
	}
	return re.MatchString
}

// newImage is an image with another name, tag or digest (upstream: imageTagUpdater in
// api/filters/imagetag, Split in api/internal/image).
func newImage(image string, by types.Image) string {
	name, tag, digest := splitImage(image)
	if by.NewName != "" {
		name = by.NewName
	}
	switch {
	case by.NewTag != "":
		tag, digest = by.NewTag, by.Digest
	case by.Digest != "":
		tag, digest = "", by.Digest
	case by.TagSuffix != "":
		tag, digest = tag+by.TagSuffix, ""
	}
	if tag != "" {
		name += ":" + tag
	}
	if digest != "" {
		name += "@" + digest
	}
	return name
}

func splitImage(image string) (name, tag, digest string) {
	host := max(strings.IndexByte(image, '/'), 0)
	colon, at := strings.IndexByte(image[host:], ':'), strings.IndexByte(image[host:], '@')
	switch {
	case colon < 0 && at < 0:
		return image, "", ""
	case at >= 0 && (colon < 0 || at < colon):
		return image[:host+at], "", image[host+at+1:]
	case at >= 0:
		return image[:host+colon], image[host+colon+1 : host+at], image[host+at+1:]
	}
	return image[:host+colon], image[host+colon+1:], ""
}

// imagesOf are the nodes that the filters look at, in their order: the images of
// containers wherever they stand, then those of the fields. plain is false when only
// the filters can tell.
func imagesOf(r *resource.Resource, specs []types.FieldSpec) (_ []*yaml.Node, plain bool) {
	n := r.YNode()
	kind, ok := only(n, "kind")
	version, once := only(n, "apiVersion")
	if n == nil || !ok || !once || !word(kind) || !word(version) {
		return nil, false
	}
	if kind.Value == "CustomResourceDefinition" {
		return nil, true
	}
	f := imageFinder{plain: true}
	f.containers(n)
	group, v := resid.ParseGroupVersion(version.Value)
	for _, s := range specs {
		if s.Kind != "" && s.Kind != kind.Value || s.Group != "" && s.Group != group || s.Version != "" && s.Version != v {
			continue
		}
		if !plainPath(s.Path) {
			return nil, false
		}
		f.field(n, s.Path)
	}
	if len(f.images) > 0 {
		f.plain = f.plain && singleKeys(n)
	}
	return f.images, f.plain
}

// word reports a scalar that says something.
func word(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.Value != "" && n.Tag != kyaml.NodeTagNull
}

// imageFinder finds images, and what makes an object one for the filters.
type imageFinder struct {
	images []*yaml.Node
	plain  bool
}

// containers finds the images of containers below a node.
func (f *imageFinder) containers(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			f.containers(v)
			if k.Value != "containers" && k.Value != "initContainers" || v.Kind != yaml.SequenceNode {
				continue
			}
			for _, c := range v.Content {
				f.image(c, "image")
			}
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			f.containers(c)
		}
	case yaml.AliasNode:
		f.plain = false
	}
}

// image finds the value of a key of a mapping, which has to be a scalar.
func (f *imageFinder) image(n *yaml.Node, key string) {
	v, once := only(n, key)
	if !once || v != nil && (v.Kind != yaml.ScalarNode || v.Tag == kyaml.NodeTagNull) {
		f.plain = false
		return
	}
	if v != nil {
		f.images = append(f.images, v)
	}
}

// field finds what stands at a path of the configuration.
func (f *imageFinder) field(n *yaml.Node, path string) {
	if n.Kind == yaml.SequenceNode && n.Tag != kyaml.NodeTagNull {
		for _, c := range n.Content {
			f.field(c, path)
		}
		return
	}
	part, rest, more := strings.Cut(path, "/")
	part = strings.TrimSuffix(part, "[]")
	if !more {
		f.image(n, part)
		return
	}
	v, once := only(n, part)
	if !once || v != nil && v.Tag == kyaml.NodeTagNull {
		f.plain = false
		return
	}
	if v != nil {
		f.field(v, rest)
	}
}

// singleKeys reports a tree in which no mapping has a key twice.
func singleKeys(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode && !plainKeys(n) {
		return false
	}
	for _, c := range n.Content {
		if !singleKeys(c) {
			return false
		}
	}
	return true
}

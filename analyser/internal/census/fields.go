package census

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/kustomize"
)

// field returns the node at a path of keys of a mapping; a number is an index
// of a sequence. It is nil when there is none.
func field(n *yaml.Node, path ...string) *yaml.Node {
	for _, p := range path {
		if n == nil {
			return nil
		}
		switch n.Kind {
		case yaml.MappingNode:
			var next *yaml.Node
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == p {
					next = n.Content[i+1]
				}
			}
			n = next
		case yaml.SequenceNode:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(n.Content) {
				return nil
			}
			n = n.Content[i]
		default:
			return nil
		}
	}
	return n
}

// text is the scalar at a path, or "".
func text(n *yaml.Node, path ...string) string {
	if f := field(n, path...); f != nil && f.Kind == yaml.ScalarNode {
		return f.Value
	}
	return ""
}

// containers are the containers of a workload with a pod template.
func containers(o *kustomize.Object) []*yaml.Node {
	if f := field(o.Node(), "spec", "template", "spec", "containers"); f != nil && f.Kind == yaml.SequenceNode {
		return f.Content
	}
	return nil
}

// deploymentImage is the image of the first container.
func deploymentImage(o *kustomize.Object) string {
	for _, c := range containers(o) {
		return text(c, "image")
	}
	return ""
}

// imageVersion is the tag of an image without its leading "v": "1.9.6".
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	i := strings.LastIndexByte(image, ':')
	if i < 0 || strings.ContainsRune(image[i:], '/') {
		return ""
	}
	return strings.TrimPrefix(image[i+1:], "v")
}

// instanceComponents are the controllers that a FluxInstance installs: the
// operator's default are the first four.
func instanceComponents(o *kustomize.Object) []string {
	f := field(o.Node(), "spec", "components")
	if f == nil || f.Kind != yaml.SequenceNode || len(f.Content) == 0 {
		return []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller"}
	}
	var out []string
	for _, c := range f.Content {
		out = append(out, c.Value)
	}
	return out
}

func quote(s string) string { return strconv.Quote(s) }

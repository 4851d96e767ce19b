package flux

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
)

// VariablesOf returns what a ConfigMap or Secret contributes to
// postBuild.substituteFrom: data of a ConfigMap (not binaryData), data and
// stringData of a Secret. complete is false when a value cannot be read: it is
// encrypted with SOPS, depends on an unknown variable, or is not what the API
// server accepts. The values of Secrets are for substitution only and must
// never be shown.
func VariablesOf(o *kustomize.Object) (vars map[string]string, complete bool) {
	vars, complete = map[string]string{}, true
	if o.Ref.Group != "" || o.Ref.Kind != "ConfigMap" && o.Ref.Kind != "Secret" {
		return vars, false
	}
	content := o.Tree.Open()
	add := func(section string, decode func(string) (string, bool)) {
		m := lookup(content.Node, section)
		if m == nil || m.ShortTag() == "!!null" {
			return
		}
		if m.Kind != yaml.MappingNode {
			complete = false
			return
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			k, v := m.Content[i], m.Content[i+1]
			s, ok := plainText(content, v)
			if ok {
				s, ok = decode(s)
			}
			if _, unknownKey := content.Unknown[k]; !ok || unknownKey {
				complete = false
				delete(vars, k.Value)
				continue
			}
			vars[k.Value] = s
		}
	}
	same := func(s string) (string, bool) { return s, true }
	if o.Ref.Kind == "ConfigMap" {
		add("data", same)
		return vars, complete
	}
	add("data", func(s string) (string, bool) {
		b, err := base64.StdEncoding.DecodeString(s)
		return string(b), err == nil
	})
	add("stringData", same)
	return vars, complete
}

// plainText is the text of a value that the API server takes for a string and
// that is not encrypted. An empty value of a Secret may be null.
func plainText(of *packed.Content, n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	if _, ok := of.Unknown[n]; ok {
		return "", false
	}
	switch n.ShortTag() {
	case "!!null":
		return "", true
	case "!!str":
		return n.Value, !strings.HasPrefix(n.Value, "ENC[")
	case "!!binary":
		return n.Value, true
	}
	return "", false
}

// withoutNewlines strips newlines from values as kustomize-controller does
// when it loads them.
func withoutNewlines(vars map[string]string) map[string]string {
	out := make(map[string]string, len(vars))
	for k, v := range vars {
		out[k] = strings.ReplaceAll(v, "\n", "")
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package explanation

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
)

// Value is a value as it may be shown.
type Value struct {
	// Text of a scalar; "{}" or "[]" for an empty mapping or list; empty when
	// Secret.
	Text string
	// Secret says that the value is not shown: it belongs to a Secret, is
	// encrypted, or was taken from either.
	Secret bool
	// Unknown names the variable on which the value depends and whose own value
	// cannot be read; Text then holds "${NAME}".
	Unknown string
	// Truncated says that Text is the beginning of a longer one.
	Truncated bool
	// Tag is the YAML type, "str", "int", "bool", "null", "float", "map", "seq".
	Tag string
}

// maxValue bounds the text of a value that is shown, in bytes.
const maxValue = 1024

// Secrets are values that must not be shown wherever they turn up, because a
// Secret of the repository holds them. The zero value knows none.
type Secrets struct {
	whole map[string]bool
	parts []string
	seen  map[*kustomize.Object]bool
}

// Values of fewer bytes are not looked for: they stand everywhere by chance.
// Values are looked for inside others from longSecret bytes on.
const (
	shortSecret = 4
	longSecret  = 8
)

// Add takes in the values of an object that is a Secret.
func (s *Secrets) Add(o *kustomize.Object) {
	if o.Ref.Group != "" || o.Ref.Kind != "Secret" && o.Written.Kind != "Secret" || s.seen[o] {
		return
	}
	if s.seen == nil {
		s.seen, s.whole = map[*kustomize.Object]bool{}, map[string]bool{}
	}
	s.seen[o] = true
	fieldpath.Leaves(o.Node(), func(p fieldpath.Path, _, n *yaml.Node) bool {
		if secretField(p) {
			s.add(n.Value)
			if decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), "")); err == nil {
				s.add(string(decoded))
			}
		}
		return true
	})
}

func (s *Secrets) add(value string) {
	for _, v := range []string{value, strings.TrimSpace(value)} {
		if len(v) < shortSecret || s.whole[v] {
			continue
		}
		s.whole[v] = true
		if len(v) >= longSecret {
			s.parts = append(s.parts, v)
		}
	}
}

// holds reports a text that is or contains a value of a Secret.
func (s *Secrets) holds(text string) bool {
	if s == nil || len(text) < shortSecret {
		return false
	}
	if s.whole[text] || s.whole[strings.TrimSpace(text)] {
		return true
	}
	for _, part := range s.parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// secretField reports a field of a Secret that holds its values, or a copy of
// them.
func secretField(p fieldpath.Path) bool {
	if len(p) == 0 {
		return true
	}
	switch p[0].Key {
	case "apiVersion", "kind", "type", "immutable":
		return false
	case "metadata":
		return len(p) > 2 && p[1].Key == "annotations" && strings.HasSuffix(p[2].Key, "/last-applied-configuration")
	}
	return true
}

// value is a node as it may be shown.
func (e *explainer) value(p fieldpath.Path, n *yaml.Node, secret bool) Value {
	v := Value{Tag: strings.TrimPrefix(n.ShortTag(), "!!")}
	o := e.Object
	kind := o.Ref.Group == "" && (o.Ref.Kind == "Secret" || o.Written.Kind == "Secret")
	switch {
	case secret, kind && secretField(p), len(p) > 0 && p[0].Key == "sops", strings.Contains(n.Value, "ENC[AES256_GCM"), strings.HasPrefix(n.Value, "ENC["), e.secrets.holds(n.Value):
		v.Secret, v.Tag = true, ""
		return v
	case n.Kind == yaml.MappingNode:
		v.Text = "{}"
		return v
	case n.Kind == yaml.SequenceNode:
		v.Text = "[]"
		return v
	}
	if e.content.Unknown[n] == kustomize.Concealed {
		return Value{Secret: true}
	}
	v.Text, v.Unknown = n.Value, e.content.Unknown[n]
	if v.Unknown != "" && e.Variables[v.Unknown].Secret {
		v = Value{Secret: true, Unknown: v.Unknown}
	}
	if len(v.Text) > maxValue {
		end := maxValue
		for end > 0 && !utf8.RuneStart(v.Text[end]) {
			end--
		}
		v.Text, v.Truncated = v.Text[:end], true
	}
	return v
}

// path is a path as it may be shown: an element is not named by a secret.
func (e *explainer) path(p fieldpath.Path) string {
	o := e.Object
	kind := o.Ref.Group == "" && (o.Ref.Kind == "Secret" || o.Written.Kind == "Secret")
	shown := make(fieldpath.Path, len(p))
	for i, s := range p {
		if s.Element && (kind && secretField(p[:i+1]) || e.secrets.holds(s.Value) || strings.HasPrefix(s.Value, "ENC[")) {
			s.Key, s.Value = "", ""
		}
		shown[i] = s
	}
	return shown.String()
}

package flux

import (
	"strings"

	"github.com/fluxcd/pkg/envsubst/parse"
	"go.yaml.in/yaml/v3"
)

// simple reports a string that stays as it is on every way through text: a word
// that is plain in all versions of YAML.
func simple(n *yaml.Node) bool {
	return (n.Tag == "!!str" || n.Tag == "" && n.Style == 0) && simpleWord(n.Value)
}

func simpleWord(v string) bool {
	if len(v) == 0 || len(v) > 60 {
		return false
	}
	for i := 0; i < len(v); i++ {
		switch b := v[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '/':
		case i > 0 && (b >= '0' && b <= '9' || b == '.' || b == '-' || b == '_'):
		default:
			return false
		}
	}
	if len(v) > 5 {
		return true
	}
	switch strings.ToLower(v) {
	case "y", "yes", "on", "n", "no", "off", "true", "false", "null":
		return false
	}
	return true
}

// emitted is a scalar in the text of its object.
type emitted struct {
	before     string // "k: " and the scalar
	expression *expression
	lines      int
}

// wide reports a scalar that could be broken into lines at a place that depends
// on where it stands: text with spaces near the right margin.
func (w *emitted) wide(at place) bool {
	if w.lines > 1 {
		return !strings.HasPrefix(w.before, "k: |")
	}
	return strings.IndexByte(w.before[len("k: "):], ' ') >= 0 && 2*at.depth+at.key+len(w.before) > 70
}

var (
	writtenScalars = newCache[*emitted]()
	normalScalars  = newCache[*yaml.Node]()
	normalKeys     = newCache[*yaml.Node]()
	readScalars    = newCache[*yaml.Node]()
	keyOrders      = newCache[[]int]()
)

// alone is a document that holds nothing but a scalar.
func alone(n *yaml.Node) *yaml.Node {
	k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "k"}
	v := &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Style: n.Style, Value: n.Value}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{k, v}}
}

func scalarKey(n *yaml.Node) string { return n.Tag + string(rune('0'+n.Style)) + n.Value }

func writtenScalar(n *yaml.Node) *emitted {
	if len(n.Value) > maxShortcutText {
		return nil
	}
	return writtenScalars.get(scalarKey(n), func() *emitted {
		text, err := asText(alone(n))
		if err != nil || !strings.HasPrefix(text, "k: ") {
			return nil
		}
		e, err := parseExpression(text)
		if err != nil || strings.Count(text, "$") > maxShortcutUses {
			return nil
		}
		for _, p := range e.parts {
			// An expression that holds white space may be torn apart.
			var b strings.Builder
			if fn, ok := p.(*parse.FuncNode); ok {
				write(&b, fn)
			}
			if strings.ContainsAny(b.String(), " \n") {
				return nil
			}
		}
		return &emitted{before: strings.TrimSuffix(text, "\n"), expression: e, lines: strings.Count(text, "\n")}
	})
}

// normalScalar is what the way through text makes of a scalar without
// variables; nil when that is no scalar.
func normalScalar(n *yaml.Node, flow bool) *yaml.Node {
	make := func() *yaml.Node {
		doc := alone(n)
		if flow {
			doc.Style = yaml.FlowStyle
		}
		text, err := asText(doc)
		if err != nil {
			return nil
		}
		return scalarIn(text)
	}
	if len(n.Value) > maxShortcutText {
		return make()
	}
	key := scalarKey(n)
	if flow {
		key = "[" + key
	}
	return normalScalars.get(key, make)
}

// normalKey is what it makes of a key; nil when that is another text.
func normalKey(k *yaml.Node, flow bool) *yaml.Node {
	if k.Kind != yaml.ScalarNode || strings.IndexByte(k.Value, '$') >= 0 {
		return nil
	}
	if simple(k) {
		if k.Tag == "!!str" && k.Style == 0 && bare(k) {
			return k
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.Value, Line: k.Line}
	}
	if flow || len(k.Value) > 100 {
		return nil
	}
	to := normalKeys.get(scalarKey(k), func() *yaml.Node {
		doc := alone(&yaml.Node{Tag: "!!int", Value: "1"})
		doc.Content[0] = &yaml.Node{Kind: yaml.ScalarNode, Tag: k.Tag, Style: k.Style, Value: k.Value}
		text, err := asText(doc)
		if err != nil {
			return nil
		}
		n, err := asNode(text)
		if err != nil || len(n.Content) != 2 || n.Content[0].Value != k.Value || n.Content[0].Tag != "!!str" {
			return nil
		}
		return n.Content[0]
	})
	if to == nil {
		return nil
	}
	c := *to
	c.Line, c.Column = k.Line, 0
	return &c
}

// readScalar reads the text of a scalar after its variables are replaced; nil
// when it is not surely the scalar alone.
func readScalar(text string) *yaml.Node {
	if len(text) > maxShortcutText || !printable(text) {
		return nil
	}
	if v, ok := strings.CutSuffix(text[len("k: "):], "\n"); ok && simpleWord(v) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
	}
	return readScalars.get(text, func() *yaml.Node { return scalarIn(text) })
}

func scalarIn(text string) *yaml.Node {
	n, err := asNode(text)
	if err != nil || len(n.Content) != 2 || n.Content[0].Value != "k" || n.Content[1].Kind != yaml.ScalarNode {
		return nil
	}
	return n.Content[1]
}

// printable reports text without control characters and without the line ends
// and spaces of Unicode.
func printable(text string) bool {
	for _, r := range text {
		if r < ' ' && r != '\n' || r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
			return false
		}
	}
	return true
}

var firstOnly = []int{0}

// keyOrder is the order in which the library writes the keys of a mapping: the
// index of each. Nil for keys that are no strings, or not all different.
func keyOrder(n *yaml.Node) []int {
	if len(n.Content) == 2 && n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Tag == "!!str" {
		return firstOnly
	}
	var b strings.Builder
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
			return nil
		}
		b.WriteString(n.Content[i].Value)
		b.WriteByte(0)
	}
	return keyOrders.get(b.String(), func() []int {
		at := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			at[n.Content[i].Value] = i / 2
		}
		if 2*len(at) != len(n.Content) {
			return nil
		}
		text, err := yaml.Marshal(at)
		if err != nil {
			return nil
		}
		var doc yaml.Node
		if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) != 1 || len(doc.Content[0].Content) != len(n.Content) {
			return nil
		}
		var out []int
		for i := 0; i+1 < len(n.Content); i += 2 {
			from, ok := at[doc.Content[0].Content[i].Value]
			if !ok {
				return nil
			}
			out = append(out, from)
		}
		return out
	})
}

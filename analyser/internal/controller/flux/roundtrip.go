package flux

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// asText is the YAML in which variables are substituted: upstream's
// Resource.AsYAML, with the same library calls.
func asText(n *yaml.Node) (string, error) {
	j, err := kyaml.NewRNode(n).MarshalJSON()
	if err != nil {
		return "", err
	}
	text, err := sigsyaml.JSONToYAML(j)
	return string(text), err
}

// asNode reads the substituted YAML back as upstream does: through JSON, so
// that values may change their type and keys are sorted.
func asNode(text string) (*yaml.Node, error) {
	j, err := sigsyaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var r kyaml.RNode
	if err := r.UnmarshalJSON(j); err != nil {
		return nil, err
	}
	n := r.YNode()
	if n == nil {
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	return n, nil
}

// carryLines gives the nodes of a tree that was written and read again the
// lines of the tree that it comes from, by their place: keys by name (rename
// is what substitution makes of a key), elements by index. What has no
// counterpart gets the line of the closest thing that has.
func carryLines(from, to *yaml.Node, rename func(string) string) {
	to.Line, to.Column = from.Line, 0
	switch {
	case from.Kind != to.Kind || to.Kind == yaml.ScalarNode:
		if to.Kind == yaml.ScalarNode && from.Kind == yaml.ScalarNode {
			to.Style = carriedStyle(from, to)
		}
		for _, c := range to.Content {
			setLines(c, from.Line)
		}
	case to.Kind == yaml.MappingNode:
		at := map[string]int{}
		for i := 0; i+1 < len(from.Content); i += 2 {
			key := from.Content[i].Value
			if strings.Contains(key, "$") {
				key = rename(key)
			}
			at[key] = i
		}
		for i := 0; i+1 < len(to.Content); i += 2 {
			k, v := to.Content[i], to.Content[i+1]
			j, ok := at[k.Value]
			if !ok {
				setLines(k, from.Line)
				setLines(v, from.Line)
				continue
			}
			k.Line, k.Column = from.Content[j].Line, 0
			carryLines(from.Content[j+1], v, rename)
		}
	default:
		for i, c := range to.Content {
			if i < len(from.Content) {
				carryLines(from.Content[i], c, rename)
			} else {
				setLines(c, from.Line)
			}
		}
	}
}

// carriedStyle keeps what the style says about lines, without changing what the
// scalar is: text that stood in a block scalar starts below its line, other
// text does not.
func carriedStyle(from, to *yaml.Node) yaml.Style {
	const block = yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case to.ShortTag() != "!!str":
		return to.Style
	case from.Style&block != 0 && strings.Contains(to.Value, "\n"):
		return from.Style
	case to.Style&block != 0:
		return yaml.DoubleQuotedStyle
	}
	return to.Style
}

func setLines(n *yaml.Node, line int) {
	n.Line, n.Column = line, 0
	for _, c := range n.Content {
		setLines(c, line)
	}
}

// marks stand for unknown variables in a text while it is parsed as YAML. They
// are made of a private-use character that the text does not hold, so that
// they stay inside whatever scalar they are in.
type marks struct {
	fence string
	names []string
	index map[string]int
}

func newMarks(text string) *marks {
	fence := "\ue000"
	for strings.Contains(text, fence) {
		fence += "\ue001"
	}
	return &marks{fence: fence, index: map[string]int{}}
}

func (m *marks) mark(name string) string {
	i, ok := m.index[name]
	if !ok {
		i = len(m.names)
		m.index[name] = i
		m.names = append(m.names, name)
	}
	return m.fence + strconv.Itoa(i) + "\ue002"
}

// restore puts "${NAME}" in the place of each mark and returns the first name.
func (m *marks) restore(s string) (out, first string) {
	var b strings.Builder
	for {
		i := strings.Index(s, m.fence)
		if i < 0 {
			b.WriteString(s)
			return b.String(), first
		}
		b.WriteString(s[:i])
		num, rest, _ := strings.Cut(s[i+len(m.fence):], "\ue002")
		n, err := strconv.Atoi(num)
		if err != nil || n >= len(m.names) {
			b.WriteString(s[i:])
			return b.String(), first
		}
		if first == "" {
			first = m.names[n]
		}
		b.WriteString("${" + m.names[n] + "}")
		s = rest
	}
}

// markUnknown turns the marks in an object into text again and returns the
// scalars that had one. While it is not even certain that anything is
// substituted, every scalar that substitution would change is unknown.
func (s *substitution) markUnknown(root *yaml.Node, m *marks) map[*yaml.Node]string {
	unknown := map[*yaml.Node]string{}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			for _, c := range n.Content {
				walk(c)
			}
			return
		}
		if strings.Contains(n.Value, m.fence) {
			var name string
			n.Value, name = m.restore(n.Value)
			unknown[n] = name
		}
		if !s.certain() && strings.Contains(n.Value, "$") {
			if name, changes := s.couldChange(n.Value); changes {
				unknown[n] = name
			}
		}
	}
	walk(root)
	if len(unknown) == 0 {
		return nil
	}
	return unknown
}

// couldChange reports a text that substitution would change, with a variable
// that it uses.
func (s *substitution) couldChange(text string) (name string, changes bool) {
	e, err := parseExpression(text)
	if err != nil {
		return "", true
	}
	e.uses(func(n string, _ bool) {
		if name == "" {
			name = n
		}
	})
	return name, name != "" || strings.Contains(text, "$$")
}

// unknownIdentity reports that what names the object is among the unknown
// scalars.
func unknownIdentity(n *yaml.Node, unknown map[*yaml.Node]string) bool {
	if len(unknown) == 0 {
		return false
	}
	meta := lookup(n, "metadata")
	for _, v := range []*yaml.Node{lookup(n, "apiVersion"), lookup(n, "kind"), lookup(meta, "name"), lookup(meta, "namespace")} {
		if _, ok := unknown[v]; ok && v != nil {
			return true
		}
	}
	return false
}

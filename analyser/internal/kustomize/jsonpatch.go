package kustomize

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// decodeJSONPatch reads the text of a JSON 6902 patch, in JSON or YAML.
func decodeJSONPatch(text string) (jsonpatch.Patch, error) {
	if text == "" {
		return nil, fmt.Errorf("empty")
	}
	if text[0] != '[' {
		j, err := k8syaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		text = string(j)
	}
	return jsonpatch.DecodePatch([]byte(text))
}

// applyJSONPatch does what kustomize's filter does (upstream:
// api/filters/patchjson6902), which writes and parses the object as text twice
// on the way: the object becomes JSON, is patched, and becomes YAML again.
// The result is a DocumentNode, as upstream's is.
func applyJSONPatch(ops jsonpatch.Patch, n *yaml.Node) (*yaml.Node, error) {
	text, err := toJSON(n)
	if err != nil {
		return nil, err
	}
	if text, err = ops.Apply(text); err != nil {
		return nil, err
	}
	var after map[string]any
	if err := json.Unmarshal(text, &after); err != nil {
		return nil, err
	}
	root, err := fromJSON(after, stringNode)
	if err != nil {
		return nil, err
	}
	return &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}, nil
}

// toJSON writes an object as JSON, as RNode.MarshalJSON does: by way of its
// text as YAML, which the library does not write without loss (folded scalars
// with indented lines gain blank ones). The detour is left out where no value
// can be affected.
func toJSON(n *yaml.Node) ([]byte, error) {
	if lossy(n, false) {
		return kyaml.NewRNode(n).MarshalJSON()
	}
	m := map[string]any{}
	if err := n.Decode(&m); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// asWritten returns the object that kustomize's output holds, which is written
// as text and read again: n itself unless that changes something.
func asWritten(n *yaml.Node) (*yaml.Node, error) {
	if !lossy(n, false) {
		return n, nil
	}
	text, err := kyaml.NewRNode(n).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var m, direct map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	if err := n.Decode(&direct); err == nil {
		if same, err := json.Marshal(direct); err == nil && string(same) == string(text) {
			return n, nil
		}
	}
	written, err := fromJSON(m, quotedNode)
	if err != nil {
		return nil, err
	}
	alignLines(n, written)
	return written, nil
}

// lossy reports an object that may change when it is written: folded text,
// nulls that are not spelled out in flow style, unusual keys and characters.
func lossy(n *yaml.Node, flow bool) bool {
	flow = flow || n.Style&yaml.FlowStyle != 0
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&yaml.FoldedStyle != 0,
		n.Kind == yaml.ScalarNode && strings.HasSuffix(n.Value, "\n\n"),
		flow && n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0:
		return true
	case n.Kind == yaml.ScalarNode:
		for i := range len(n.Value) {
			if c := n.Value[i]; c < ' ' && c != '\n' || c == 0x7f {
				return true
			}
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind != yaml.ScalarNode || k.ShortTag() != kyaml.NodeTagString || len(k.Value) > 100 {
				return true
			}
		}
	}
	for _, c := range n.Content {
		if lossy(c, flow) {
			return true
		}
	}
	return false
}

// fromJSON makes the nodes that writing a value as YAML and parsing it makes.
// Tags and styles matter: kyaml keeps the style of a value that it overwrites.
// text makes the nodes of strings.
func fromJSON(v any, text func(string) (*yaml.Node, error)) (*yaml.Node, error) {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: kyaml.NodeTagMap}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			key, err := text(k)
			if err != nil {
				return nil, err
			}
			value, err := fromJSON(v[k], text)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, key, value)
		}
		return n, nil
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: kyaml.NodeTagSeq}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		for _, e := range v {
			c, err := fromJSON(e, text)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, c)
		}
		return n, nil
	case string:
		return text(v)
	case float64:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: kyaml.NodeTagInt, Value: strconv.FormatFloat(v, 'g', -1, 64)}
		if strings.ContainsAny(n.Value, ".e") {
			n.Tag = kyaml.NodeTagFloat
		}
		return n, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: kyaml.NodeTagBool, Value: strconv.FormatBool(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: kyaml.NodeTagNull, Value: "null"}, nil
}

// quotedNode is a string as it is.
func quotedNode(s string) (*yaml.Node, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: kyaml.NodeTagString, Style: yaml.DoubleQuotedStyle, Value: s}, nil
}

// stringNode is a string as the encoder would write it: plain where that is
// obvious, otherwise as the encoder says.
func stringNode(s string) (*yaml.Node, error) {
	if isPlain(s) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: kyaml.NodeTagString, Value: s}, nil
	}
	if n := writtenStrings.get(s); n != nil {
		return n, nil
	}
	text, err := kyaml.Marshal(s)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	n := doc.Content[0]
	n.Line, n.Column = 0, 0
	writtenStrings.put(s, *n)
	return n, nil
}

// writtenStrings remembers how strings are written: the same ones, of a base, pass
// through the patches of every cluster. It forgets all when it is full.
var writtenStrings stringNodes

type stringNodes struct {
	mu    sync.Mutex
	nodes map[string]yaml.Node
	size  int
}

const (
	maxWritten  = 4 << 20 // bytes of strings, and what an entry costs beside them
	writtenCost = 300
)

func (m *stringNodes) get(s string) *yaml.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.nodes[s]
	if !ok {
		return nil
	}
	return &n
}

func (m *stringNodes) put(s string, n yaml.Node) {
	cost := 2*len(s) + writtenCost
	if cost > maxWritten/16 || len(n.Content) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size += cost; m.nodes == nil || m.size > maxWritten {
		m.nodes, m.size = map[string]yaml.Node{}, cost
	}
	m.nodes[strings.Clone(s)] = n
}

// isPlain reports a word that YAML reads as a string without quotes.
func isPlain(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789_-./", rune(c))) {
			return false
		}
	}
	if len(s) > 5 {
		return true
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}

// patchJSON applies JSON 6902 operations to what a selector selects. remember
// keeps the id that the objects had, as `patches` does and `patchesJson6902`
// does not.
func (m *resources) patchJSON(ops jsonpatch.Patch, target types.Selector, text *patchText, remember bool) error {
	selected, err := m.selected(target)
	if err != nil {
		return fail(codeBadPatch, 0, "the target of a patch is not a valid selector")
	}
	var plain []operation
	if !m.long && len(selected) > 0 {
		plain = plainOperations(ops)
	}
	for _, e := range selected {
		r := e.own()
		e.step(StepPatch, text.pos)
		if remember {
			storePreviousID(r, m.long)
		}
		before, id := *r.YNode(), r.CurId()
		internal := kioutil.GetInternalAnnotations(&r.RNode)
		patched, ok := applyPlainly(plain, r.YNode())
		if !ok {
			patched, err = applyJSONPatch(ops, r.YNode())
		}
		if err != nil {
			if n := unwritable(r.YNode(), true); n != nil {
				return cannotWrite(n, id)
			}
			return fail(codeBadPatch, text.pos, "an operation of the patch fails on "+idString(id))
		}
		r.RNode = *kyaml.NewRNode(patched)
		annotations := r.GetAnnotations()
		for key, value := range internal {
			annotations[key] = value
		}
		if err := setAnnotations(&r.RNode, annotations, m.long); err != nil && !remember {
			return fail(codeBadPatch, text.pos, "the patch leaves "+idString(id)+" without usable metadata")
		}
		alignLines(&before, r.YNode())
		alignOperations(text, r.YNode())
		e.noteEach(Cause{Kind: StepPatch, What: "patches", Pos: text.pos}, func(p fieldpath.Path, _, value *yaml.Node) Cause {
			c := Cause{Kind: StepPatch, What: "patches", Pos: text.pos}
			if at := text.operationOn(p); value == nil && at != 0 {
				c.Pos = at
			}
			return c
		})
	}
	return nil
}

// operationOn is the line of the last operation on a field or on what holds it.
func (t *patchText) operationOn(p fieldpath.Path) position.Pos {
	if len(t.doc.Documents) == 0 {
		return 0
	}
	ops := t.doc.Documents[0].Node()
	if ops.Kind != yaml.SequenceNode {
		return 0
	}
	var at position.Pos
	for _, op := range ops.Content {
		if path := lookup(op, "path"); path != nil && holds(path.Value, p) {
			at = position.Pos(op.Line)
		}
	}
	return at
}

// holds reports that a JSON pointer leads to a field or to what holds it.
func holds(pointer string, p fieldpath.Path) bool {
	parts := strings.Split(pointer, "/")[1:]
	if len(parts) > len(p) {
		return false
	}
	for i, part := range parts {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if s := p[i]; s.Element && part != "-" && part != strconv.Itoa(s.Index) || !s.Element && part != s.Key {
			return false
		}
	}
	return true
}

// deepest is the line of the deepest field of a patch on the way to a path.
func deepest(n *yaml.Node, p fieldpath.Path) position.Pos {
	at := 0
	for _, s := range p {
		var next *yaml.Node
		switch {
		case !s.Element:
			next = lookup(n, s.Key)
		case n.Kind == yaml.SequenceNode && s.Key != "":
			for _, c := range n.Content {
				if v := lookup(c, s.Key); v != nil && v.Value == s.Value {
					next = c
				}
			}
		}
		if next == nil {
			break
		}
		n = next
		at = n.Line
		if d := lookup(n, "$patch"); d != nil {
			return position.Pos(d.Line)
		}
	}
	return position.Pos(at)
}

// alignOperations gives what the operations of a patch wrote their lines.
func alignOperations(text *patchText, to *yaml.Node) {
	if len(text.doc.Documents) == 0 {
		return
	}
	ops := text.doc.Documents[0].Node()
	if ops.Kind != yaml.SequenceNode {
		return
	}
	for _, op := range ops.Content {
		path, value := lookup(op, "path"), lookup(op, "value")
		if path == nil || op.Kind != yaml.MappingNode {
			continue
		}
		key, n := resolvePointer(to, path.Value)
		if n == nil {
			continue
		}
		if key != nil && key.Line == 0 {
			key.Line = path.Line
		}
		if value != nil {
			alignLines(value, n)
		}
		if lookup(op, "op") != nil {
			setLines(n, op.Line)
		}
	}
}

// resolvePointer follows a JSON pointer and returns the node and, in a
// mapping, its key; nil where there is none. "-" is the last element.
func resolvePointer(n *yaml.Node, pointer string) (key, value *yaml.Node) {
	parts := strings.Split(pointer, "/")[1:]
	value = n
	for _, p := range parts {
		p = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
		key = nil
		switch value.Kind {
		case yaml.MappingNode:
			found := false
			for i := 0; i+1 < len(value.Content); i += 2 {
				if value.Content[i].Value == p {
					key, value, found = value.Content[i], value.Content[i+1], true
					break
				}
			}
			if !found {
				return nil, nil
			}
		case yaml.SequenceNode:
			i := len(value.Content) - 1
			if p != "-" {
				if _, err := fmt.Sscanf(p, "%d", &i); err != nil {
					return nil, nil
				}
			}
			if i < 0 || i >= len(value.Content) {
				return nil, nil
			}
			value = value.Content[i]
		default:
			return nil, nil
		}
	}
	return key, value
}

package kustomize

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// A JSON 6902 patch makes an object anew even where it changes nothing: what was
// written as text and read again has its keys in order, its numbers as JSON's, and its
// strings in the encoder's style. Here that is done node by node, and the operations
// are applied to the nodes, for what has one meaning only:
//
//   - objects that toJSON writes without the detour, with keys that differ and tags of
//     the core schema, without anchors and aliases;
//   - add, replace and remove, and test of a plain word, at a pointer below the root,
//     in mappings that are there and at indices in decimal;
//   - operations that succeed.
//
// Everything else goes the long way. TestOperations and FuzzOperations compare the two,
// node by node.

// operation is one step of a patch.
type operation struct {
	op    string
	path  []string
	value any
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// plainOperations are the steps of a patch, or nil where it has others than those that
// are applied to nodes.
func plainOperations(patch jsonpatch.Patch) []operation {
	var out []operation
	for _, o := range patch {
		path, err := o.Path()
		if err != nil || !strings.HasPrefix(path, "/") || !utf8.ValidString(path) {
			return nil
		}
		op := operation{op: o.Kind(), path: strings.Split(path, "/")[1:]}
		for i, p := range op.path {
			op.path[i] = pointerEscapes.Replace(p)
		}
		value := o["value"]
		switch op.op {
		case "remove":
		case "add", "replace", "test":
			if value == nil || json.Unmarshal(*value, &op.value) != nil {
				return nil
			}
			if s, ok := op.value.(string); op.op == "test" && (!ok || !isPlain(s) || string(*value) != strconv.Quote(s)) {
				return nil
			}
		default:
			return nil
		}
		out = append(out, op)
	}
	return out
}

// applyPlainly does what applyJSONPatch does, or reports that it is to be done the long
// way. The object is not changed.
func applyPlainly(ops []operation, n *yaml.Node) (*yaml.Node, bool) {
	if len(ops) == 0 || n.Kind != yaml.MappingNode || lossy(n, false) {
		return nil, false
	}
	root, ok := rewritten(n)
	if !ok {
		return nil, false
	}
	for _, op := range ops {
		if !op.apply(root) {
			return nil, false
		}
	}
	return &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}, true
}

// rewritten is a value that was written as JSON, read and written as YAML, and read.
func rewritten(n *yaml.Node) (*yaml.Node, bool) {
	if n.Anchor != "" {
		return nil, false
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return rewrittenScalar(n)
	case yaml.SequenceNode:
		if n.Tag != "" && n.Tag != kyaml.NodeTagSeq {
			return nil, false
		}
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: kyaml.NodeTagSeq}
		if len(n.Content) == 0 {
			out.Style = yaml.FlowStyle
			return out, true
		}
		out.Content = make([]*yaml.Node, len(n.Content))
		for i, c := range n.Content {
			var ok bool
			if out.Content[i], ok = rewritten(c); !ok {
				return nil, false
			}
		}
		return out, true
	case yaml.MappingNode:
		return rewrittenMapping(n)
	}
	return nil, false
}

func rewrittenMapping(n *yaml.Node) (*yaml.Node, bool) {
	if n.Tag != "" && n.Tag != kyaml.NodeTagMap || len(n.Content)%2 != 0 {
		return nil, false
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: kyaml.NodeTagMap}
	if len(n.Content) == 0 {
		out.Style = yaml.FlowStyle
		return out, true
	}
	var few [32]int
	order := few[:0]
	for i := 0; i < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Anchor != "" || k.Value == "<<" || !utf8.ValidString(k.Value) {
			return nil, false
		}
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(n.Content[a].Value, n.Content[b].Value) })
	out.Content = make([]*yaml.Node, 0, len(n.Content))
	for at, i := range order {
		if at > 0 && n.Content[order[at-1]].Value == n.Content[i].Value {
			return nil, false
		}
		key, err := stringNode(n.Content[i].Value)
		value, ok := rewritten(n.Content[i+1])
		if err != nil || !ok {
			return nil, false
		}
		out.Content = append(out.Content, key, value)
	}
	return out, true
}

func rewrittenScalar(n *yaml.Node) (*yaml.Node, bool) {
	var v any
	switch tag := n.ShortTag(); {
	case tag == kyaml.NodeTagString && utf8.ValidString(n.Value):
		out, err := stringNode(n.Value)
		return out, err == nil
	case tag == kyaml.NodeTagBool && (n.Value == "true" || n.Value == "false"):
		v = n.Value == "true"
	case tag == kyaml.NodeTagInt && decimal(n.Value):
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			return nil, false
		}
		v = float64(i)
	default:
		if n.Decode(&v) != nil {
			return nil, false
		}
		text, err := json.Marshal(v)
		if v = nil; err != nil || json.Unmarshal(text, &v) != nil {
			return nil, false
		}
	}
	out, err := fromJSON(v, stringNode)
	return out, err == nil
}

// decimal reports a number that is written in one way only, and is exact as JSON's.
func decimal(s string) bool {
	if s == "" || len(s) > 15 || len(s) > 1 && s[0] == '0' {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// apply applies a step to an object that is rewritten, or reports false: where it
// fails, and where it is not plain what it means.
func (o *operation) apply(root *yaml.Node) bool {
	at := root
	for _, part := range o.path[:len(o.path)-1] {
		i := place(at, part)
		if i < 0 || i >= len(at.Content) {
			return false
		}
		if at = at.Content[i]; at.Kind == yaml.ScalarNode {
			return false
		}
	}
	key := o.path[len(o.path)-1]
	i := place(at, key)
	if o.op == "test" {
		return i >= 0 && i < len(at.Content) && at.Content[i].Tag == kyaml.NodeTagString && at.Content[i].Value == o.value
	}
	var value *yaml.Node
	if o.op != "remove" {
		var err error
		if value, err = fromJSON(o.value, stringNode); err != nil {
			return false
		}
	}
	if at.Kind == yaml.SequenceNode {
		return o.element(at, key, i, value)
	}
	switch {
	case o.op == "remove" && i < 0:
		return false
	case o.op == "remove":
		at.Content = slices.Delete(at.Content, i-1, i+1)
	case i >= 0: // replace may add, add may replace
		at.Content[i] = value
	default:
		k, err := stringNode(key)
		if err != nil {
			return false
		}
		before := 0
		for before < len(at.Content) && at.Content[before].Value < key {
			before += 2
		}
		at.Content = slices.Insert(at.Content, before, k, value)
	}
	at.Style = emptyStyle(at)
	return true
}

// element applies a step to an element, of which i is the index, or -1.
func (o *operation) element(list *yaml.Node, key string, i int, value *yaml.Node) bool {
	switch {
	case o.op == "add" && key == "-":
		list.Content = append(list.Content, value)
	case i < 0 || i > len(list.Content) || i == len(list.Content) && o.op != "add":
		return false
	case o.op == "add":
		list.Content = slices.Insert(list.Content, i, value)
	case o.op == "replace":
		list.Content[i] = value
	default:
		list.Content = slices.Delete(list.Content, i, i+1)
	}
	list.Style = emptyStyle(list)
	return true
}

func emptyStyle(n *yaml.Node) yaml.Style {
	if len(n.Content) == 0 {
		return yaml.FlowStyle
	}
	return 0
}

// place is where the value of a key, or the element of an index, stands in the content
// of a node; -1 for what is not there and for what is no plain index, and for an index
// no less than the length what it says.
func place(n *yaml.Node, part string) int {
	if n.Kind == yaml.SequenceNode {
		if !decimal(part) {
			return -1
		}
		i, err := strconv.Atoi(part)
		if err != nil {
			return -1
		}
		return i
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == part {
			return i + 1
		}
	}
	return -1
}

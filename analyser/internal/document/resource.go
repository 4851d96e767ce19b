package document

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Reason is why a document is not an object. The zero Reason means that it is
// one.
type Reason string

// The reasons in the order in which they are looked for. kustomize rejects the
// whole file for each of them but NoAPIVersion, which only an API server
// refuses.
const (
	NotAMapping  Reason = "not_a_mapping"
	NoKind       Reason = "no_kind"
	NoName       Reason = "no_name"
	BadList      Reason = "bad_list" // a *List whose items are not a list, or whose content is not JSON
	NoAPIVersion Reason = "no_api_version"
)

// Rejected reports that kustomize refuses a file with such a document among
// its resources.
func (r Reason) Rejected() bool { return r != "" && r != NoAPIVersion }

// Resource is a document, or an item of a list, as kustomize sees it.
type Resource struct {
	// Document it is written in.
	Document *Document
	// Pos is its first line.
	Pos position.Pos
	// Node must not be changed.
	Node *yaml.Node
	// Ref is the identity as kustomize reads it: any scalar is text, and the
	// version may be missing.
	Ref object.Ref
	// Reason is why it is none; empty when it is one.
	Reason Reason

	// json says that Node is known to survive the way through JSON.
	json bool
}

// Resources returns what kustomize makes of the file's documents, in its
// order: lists are replaced by their items (those of a file's only List
// in place, those of others after everything else), empty items are left out.
// Upstream: RNodesFromBytes in kustomize api/resource/factory.go.
func (f *File) Resources() []Resource {
	var queue, out []Resource
	for _, d := range f.Documents {
		if !d.unwrapped {
			queue = append(queue, newResource(d, d.Node()))
			continue
		}
		for _, item := range d.items() {
			if !empty(item) {
				queue = append(queue, newResource(d, item))
			}
		}
	}
	for len(queue) > 0 {
		r := queue[0]
		queue = queue[1:]
		if r.Reason.Rejected() || !strings.HasSuffix(r.Ref.Kind, "List") {
			out = append(out, r)
			continue
		}
		items := field(r.Node, "items")
		switch {
		case !r.json && !isJSON(r.Node):
			r.Reason = BadList
			out = append(out, r)
		case items == nil:
			out = append(out, r)
		case items.Tag == nullTag:
		case items.Kind != yaml.SequenceNode:
			r.Reason = BadList
			out = append(out, r)
		default:
			queue = append(queue, listItems(r.Document, items)...)
		}
	}
	return out
}

// listItems returns the items of an embedded list. An item that is itself a
// List is taken apart at once, because upstream reads every item like a file.
func listItems(d *Document, items *yaml.Node) (out []Resource) {
	for _, item := range items.Content {
		nodes := []*yaml.Node{item}
		if ok, inner := unwrap(item); ok {
			nodes = inner
		}
		for _, n := range nodes {
			if !empty(n) {
				r := newResource(d, n)
				r.json = true
				out = append(out, r)
			}
		}
	}
	return out
}

func newResource(d *Document, n *yaml.Node) Resource {
	r := Resource{Document: d, Pos: position.Pos(n.Line), Node: n}
	if n.Kind != yaml.MappingNode {
		r.Reason = NotAMapping
		return r
	}
	r.Ref = readRef(n)
	switch {
	case r.Ref.Kind == "":
		r.Reason = NoKind
	case r.Ref.Name == "" && !strings.HasSuffix(r.Ref.Kind, "List"):
		r.Reason = NoName
	case r.Ref.Version == "":
		r.Reason = NoAPIVersion
	}
	return r
}

// isJSON reports whether a mapping survives the way through JSON by which
// upstream takes lists apart: no duplicate keys, no keys but strings, no
// infinite numbers.
func isJSON(n *yaml.Node) bool {
	if DuplicateKey(n) != 0 {
		return false
	}
	for part := range slices.Chunk(narrow(n).Content, 2*narrowWidth) {
		var m map[string]any
		if (&yaml.Node{Kind: yaml.MappingNode, Tag: n.Tag, Content: part}).Decode(&m) != nil {
			return false
		}
		if _, err := json.Marshal(m["items"]); err != nil {
			return false
		}
	}
	return true
}

// DuplicateKey returns the line of the first key that its mapping holds
// already, or 0. kustomize reads such a document and fails when it writes it,
// or takes it apart as a list. Keys are equal as in the YAML library: by kind
// of node and text, whatever their type.
func DuplicateKey(n *yaml.Node) position.Pos {
	if n.Kind == yaml.MappingNode {
		type key struct {
			kind  yaml.Kind
			value string
		}
		seen := make(map[key]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := key{n.Content[i].Kind, n.Content[i].Value}
			if seen[k] {
				return position.Pos(n.Content[i].Line)
			}
			seen[k] = true
		}
	}
	for _, c := range n.Content {
		if pos := DuplicateKey(c); pos != 0 {
			return pos
		}
	}
	return 0
}

const narrowWidth = 1000

// narrow replaces wide mappings below n by lists of narrow ones: what cannot
// be decoded stays so, but the library, which compares all keys of a mapping
// with all, is done in time.
func narrow(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return n
	}
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = narrow(c)
		if m := out.Content[i]; m.Kind == yaml.MappingNode && len(m.Content) > 2*narrowWidth {
			list := &yaml.Node{Kind: yaml.SequenceNode}
			for part := range slices.Chunk(m.Content, 2*narrowWidth) {
				list.Content = append(list.Content, &yaml.Node{Kind: yaml.MappingNode, Tag: m.Tag, Content: part})
			}
			out.Content[i] = list
		}
	}
	return &out
}

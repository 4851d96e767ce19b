package document

import (
	"encoding/json"
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
}

// Resources returns what kustomize makes of the file's documents, in its
// order: lists are replaced by their items (those of a file's only List
// in place, those of others after everything else), empty items are left out.
// Upstream: RNodesFromBytes in kustomize api/resource/factory.go.
func (f *File) Resources() []Resource {
	var queue, out []Resource
	for _, d := range f.Documents {
		if !d.unwrapped {
			queue = append(queue, newResource(d, d.Node))
			continue
		}
		for _, item := range d.items {
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
		case !isJSON(r.Node):
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
				out = append(out, newResource(d, n))
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
	var m map[string]any
	if n.Decode(&m) != nil {
		return false
	}
	_, err := json.Marshal(m["items"])
	return err == nil
}

package document

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Header is what can be told of a document without its content. It equals the
// fields of the same name of the Document.
type Header struct {
	Index int
	Pos   position.Pos
	Ref   object.Ref
	SOPS  bool
	List  bool
}

func (f *File) headers() []Header {
	hs := make([]Header, len(f.Documents))
	for i, d := range f.Documents {
		hs[i] = Header{Index: d.Index, Pos: d.Pos, Ref: d.Ref, SOPS: d.SOPS, List: d.List}
	}
	return hs
}

// describe fills in what the header of the document says.
func (d *Document) describe(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	apiVersion, kind := text(field(n, "apiVersion")), text(field(n, "kind"))
	if apiVersion != "" && kind != "" {
		d.Ref = readRef(n)
	}
	sops := field(n, "sops")
	d.SOPS = sops != nil && sops.Kind == yaml.MappingNode && field(sops, "mac") != nil
	d.List = d.unwrapped || strings.HasSuffix(value(field(n, "kind")), "List") && field(n, "items") != nil
}

// readRef reads the identity as kustomize does: any scalar is text (GetMeta in
// kyaml yaml/rnode.go).
func readRef(n *yaml.Node) object.Ref {
	var ref object.Ref
	ref.Group, ref.Version = object.SplitAPIVersion(value(field(n, "apiVersion")))
	ref.Kind = value(field(n, "kind"))
	if meta := field(n, "metadata"); meta != nil {
		ref.Name, ref.Namespace = value(field(meta, "name")), value(field(meta, "namespace"))
	}
	return ref
}

// field returns the value of the first key of that name, or nil.
func field(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// value is the text of a scalar that is not null.
func value(n *yaml.Node) string {
	if n == nil || n.Tag == nullTag {
		return ""
	}
	return n.Value
}

// text is the value of a string.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag != strTag {
		return ""
	}
	return n.Value
}

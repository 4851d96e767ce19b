package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// file parses content whose line n, counted from 1, is base+n and never more
// than last. With base equal to last, every line is last.
func (r *Reader) file(path string, content []byte, base, last position.Pos) *File {
	f := &File{Path: path, Base: base}
	if int64(len(content)) > r.limits.Bytes {
		f.Err = &Error{Code: CodeTooLarge, Pos: base, Message: fmt.Sprintf("the file has more than %d bytes (--max-blob-bytes)", r.limits.Bytes)}
		return f
	}
	content = bytes.ReplaceAll(content, []byte("\r\n"), newline)
	var (
		p    part
		line int
		rest = content
		only = true
	)
	for n := 0; ; n++ {
		if n == r.limits.Documents {
			f.Err = &Error{Code: CodeTooManyDocuments, Pos: clamp(base, line, last), Message: fmt.Sprintf("more than %d documents in one file (--max-documents)", r.limits.Documents)}
			return f
		}
		p, rest, line = nextPart(rest, line)
		only = only && p.last
		l := newLines(p, base, last)
		doc, err := r.document(p.text, l, only)
		if err != nil {
			f.Err = err
			return f
		}
		if doc != nil {
			doc.Index = len(f.Documents)
			f.Documents = append(f.Documents, doc)
		}
		switch {
		case p.bad:
			f.Err = &Error{
				Code: CodeSyntax, Pos: clamp(base, line, last),
				Message: "a line starts with --- and goes on: neither a document separator nor text",
			}
			return f
		case p.last:
			return f
		}
	}
}

// document parses one part. It returns nil for an empty document. only says
// that the part is the whole file.
func (r *Reader) document(text []byte, l *lines, only bool) (*Document, *Error) {
	if err := r.checkSize(text, l); err != nil {
		return nil, err
	}
	content, w := (*yaml.Node)(nil), walk{limits: r.limits, lines: l}
	n, plain := (*yaml.Node)(nil), false
	if !r.byLibrary {
		n, plain = r.plainTree(text, l)
	}
	if plain {
		if n == nil {
			return nil, nil
		}
		content = n
	} else {
		root, err := decode(text, l)
		if root == nil || err != nil {
			return nil, err
		}
		if content = root.Content[0]; content.Tag == nullTag {
			return nil, nil
		}
		if w.visit(content, 0); w.err != nil {
			return nil, w.err
		}
	}
	d := &Document{}
	var items []*yaml.Node
	if only {
		d.unwrapped, items = unwrap(content)
	}
	if w.expand {
		var err *Error
		if content, items, err = expand(content, items, r.limits, l); err != nil {
			return nil, err
		}
		d.expanded = make([]*packed.Tree, 0, len(items))
		for _, item := range items {
			d.expanded = append(d.expanded, packed.Of(item, nil))
		}
	}
	if empty(content) {
		return nil, nil
	}
	d.Tree = packed.Of(content, nil)
	d.Pos = position.Pos(content.Line)
	d.describe(content)
	return d, nil
}

// decode parses the first document of text, which is all that kustomize reads
// of it: what follows a "..." line is lost. The result is a DocumentNode, or
// nil when there is none.
func decode(text []byte, l *lines) (root *yaml.Node, failure *Error) {
	defer func() {
		// The parser reports its own failures as errors; anything else is an
		// assumption of its that the input broke.
		if recover() != nil {
			root, failure = nil, &Error{Code: CodeSyntax, Pos: l.whole(), Message: "not valid YAML"}
		}
	}()
	root = &yaml.Node{}
	switch err := yaml.NewDecoder(bytes.NewReader(text)).Decode(root); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err, text, l)
	}
	return root, nil
}

// walk prepares the nodes of a parsed document in one pass.
type walk struct {
	limits Limits
	lines  *lines
	nodes  int
	// expand reports that kustomize's expansion would change the tree.
	expand bool
	err    *Error
}

// visit sets the line of every node below n, removes anchors and counts. No
// node is visited twice: a target of an alias stands in the tree once.
func (w *walk) visit(n *yaml.Node, depth int) {
	n.Line, n.Column = int(w.lines.pos(n.Line)), 0
	w.nodes++
	switch {
	case w.err != nil:
		return
	case depth > w.limits.Depth:
		w.err = &Error{Code: CodeTooDeep, Pos: position.Pos(n.Line), Message: fmt.Sprintf("nested deeper than %d", w.limits.Depth)}
		return
	case w.nodes > w.limits.Nodes:
		w.err = tooManyNodes(position.Pos(n.Line), w.limits)
		return
	}
	if n.Kind == yaml.AliasNode {
		w.expand = true
		return
	}
	n.Anchor = ""
	dropComments(n)
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (c.Value == "<<" || c.Tag == mergeTag || c.Tag == nullTag) {
			w.expand = true
		}
		w.visit(c, depth+1)
	}
}

// dropComments removes comments that mean nothing to kustomize, which looks at
// each of them again whenever it merges, see meaningfulComment.
func dropComments(n *yaml.Node) {
	if strings.Contains(n.HeadComment+n.LineComment+n.FootComment, "{") {
		return
	}
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
}

func tooManyNodes(pos position.Pos, limits Limits) *Error {
	return &Error{Code: CodeTooLarge, Pos: pos, Message: fmt.Sprintf("a document has more than %d values (--max-document-nodes)", limits.Nodes)}
}

const (
	nullTag  = "!!null"
	mapTag   = "!!map"
	seqTag   = "!!seq"
	mergeTag = "!!merge"
	strTag   = "!!str"
)

// empty reports what kustomize drops: IsYNodeNilOrEmpty in kyaml yaml/types.go.
func empty(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		return len(n.Content) == 0 || n.Tag == nullTag
	}
	return n.Tag == nullTag
}

// items are what kustomize finds in a document that it takes apart.
func (d *Document) items() []*yaml.Node {
	if d.expanded == nil {
		_, items := unwrap(d.Node())
		return items
	}
	out := make([]*yaml.Node, len(d.expanded))
	for i, t := range d.expanded {
		out[i] = t.Node()
	}
	return out
}

// unwrap tells whether kustomize takes a file's only document apart while it
// reads, and into which nodes: a List or ResourceList with items or
// functionConfig (ByteReader.Read in kyaml kio/byteio_reader.go). This looks
// at the tree before aliases are expanded, as upstream does.
func unwrap(n *yaml.Node) (bool, []*yaml.Node) {
	if k := value(field(n, "kind")); k != "List" && k != "ResourceList" {
		return false, nil
	}
	items := field(n, "items")
	if items == nil {
		return field(n, "functionConfig") != nil, nil
	}
	return true, items.Content
}

// expand expands aliases and merge keys with upstream's own code, because its
// result depends on the order in which it works, after a bound on what that
// costs has been proved. items are nodes within n.
func expand(n *yaml.Node, items []*yaml.Node, limits Limits, l *lines) (*yaml.Node, []*yaml.Node, *Error) {
	var c cost
	c.of(n)
	if c.cyclic {
		return nil, nil, &Error{Code: CodeAliasBomb, Pos: position.Pos(n.Line), Message: "an anchor contains an alias of itself"}
	}
	if s := c.seen[n]; s.nodes > limits.Nodes || s.work > workPerNode*limits.Nodes {
		return nil, nil, &Error{Code: CodeAliasBomb, Pos: position.Pos(n.Line), Message: fmt.Sprintf("expanding the aliases of a document would give more than %d values (--max-document-nodes)", limits.Nodes)}
	}
	fail := func(n *yaml.Node) *Error {
		return &Error{Code: CodeSyntax, Pos: position.Pos(n.Line), Message: "a merge key (<<) that cannot be merged"}
	}
	var expanded []*yaml.Node
	for _, item := range items {
		rn := kyaml.NewRNode(item)
		if err := rn.DeAnchor(); err != nil {
			return nil, nil, fail(item)
		}
		expanded = append(expanded, rn.YNode())
	}
	rn := kyaml.NewRNode(n)
	if err := rn.DeAnchor(); err != nil {
		return nil, nil, fail(n)
	}
	return rn.YNode(), expanded, nil
}

// workPerNode bounds what upstream's expansion may cost, in steps for each
// node of the limit: it copies every mapping below every mapping, and merges
// by comparing all keys with all keys.
const workPerNode = 100

// cost bounds what expansion yields and does, without doing it.
type cost struct {
	seen   map[*yaml.Node]sum
	cyclic bool
}

type sum struct {
	nodes, work int
	// open marks a node whose content is being counted.
	open bool
}

func (c *cost) of(n *yaml.Node) sum {
	if s, ok := c.seen[n]; ok {
		c.cyclic = c.cyclic || s.open
		return s
	}
	if c.seen == nil {
		c.seen = map[*yaml.Node]sum{}
	}
	c.seen[n] = sum{open: true}
	s := sum{nodes: 1, work: 1}
	if n.Kind == yaml.AliasNode {
		t := c.of(n.Alias)
		s = sum{nodes: t.nodes, work: add(t.work, t.nodes)}
	}
	for _, child := range n.Content {
		t := c.of(child)
		s.nodes, s.work = add(s.nodes, t.nodes), add(s.work, t.work)
	}
	if n.Kind == yaml.MappingNode {
		width := len(n.Content)/2 + mergedWidth(n)
		s.work = add(s.work, add(3*s.nodes, saturatingSquare(width)))
	}
	c.seen[n] = s
	return s
}

// mergedWidth bounds how many keys merging adds to a mapping.
func mergedWidth(n *yaml.Node) int {
	width := 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != mergeTag {
			continue
		}
		from := []*yaml.Node{n.Content[i+1]}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, m := range from {
			if m.Kind == yaml.AliasNode {
				m = m.Alias
			}
			width = add(width, len(m.Content)/2)
		}
	}
	return width
}

const enough = 1 << 40 // more than any limit, far from overflow

func add(a, b int) int { return min(a+b, enough) }

func saturatingSquare(a int) int {
	if a >= 1<<20 {
		return enough
	}
	return a * a
}

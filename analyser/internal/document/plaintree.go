package document

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree builds the nodes of a plain document while a scanner judges its lines.
// Nodes are the ones that the YAML library makes of the same text, with the
// lines of the document, and without comments: those that mean something to
// kustomize are not plain.
type tree struct {
	lines *lines
	root  *yaml.Node
	// kids are the children of the open collections, outermost first; the last
	// one is a null where a value is still to come.
	kids []*yaml.Node
	// scalar that the next lines may continue, and the blank lines after it.
	current *yaml.Node
	blank   int
	block   blockScalar

	// nodes and pointers are memory to be used, in pieces of size elements.
	nodes    []yaml.Node
	pointers []*yaml.Node
	size     int
}

// blockScalar is a block scalar that has begun.
type blockScalar struct {
	node     *yaml.Node // nil when none has
	chomping byte       // '-', '+' or 0
	lines    []string
	// ended says that a line end follows the last of the lines.
	ended bool
}

// plainTree parses a part of a file that is plain. ok is false for everything
// else, valid or not; when it is true, root is what decode and the walk after it
// make of the text, nil for a document without content.
func (r *Reader) plainTree(part []byte, l *lines) (root *yaml.Node, ok bool) {
	if len(part) > r.limits.Nodes/2 || !plainBytes(part) {
		return nil, false
	}
	text := string(part)
	if meaningfulComment(text) {
		return nil, false
	}
	// A line has two nodes, three when it begins an element; nodes that are not used
	// are kept as long as the others.
	t := &tree{lines: l, size: min(2*strings.Count(text, "\n")+strings.Count(text, "- ")+3, 256)}
	s := scanner{limit: min(r.limits.Depth-maxFlow, 64), tree: t}
	if !s.scan(text) {
		return nil, false
	}
	for len(s.stack) > 0 {
		s.pop()
	}
	return t.root, true
}

// meaningfulComment reports text that may hold a comment which kustomize reads:
// a JSON object (upstream: kyaml fieldmeta.FieldMeta.Read).
func meaningfulComment(text string) bool {
	for {
		i := strings.IndexByte(text, '#')
		if i < 0 {
			return false
		}
		text = text[i+1:]
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			end = len(text)
		}
		if strings.IndexByte(text[:end], '{') >= 0 {
			return true
		}
		text = text[end:]
	}
}

func (t *tree) node(kind yaml.Kind, tag, value string, line int) *yaml.Node {
	if len(t.nodes) == 0 {
		t.nodes = make([]yaml.Node, t.size)
		if t.size < 256 {
			t.size = 8
		}
	}
	n := &t.nodes[0]
	t.nodes = t.nodes[1:]
	n.Kind, n.Tag, n.Value, n.Line = kind, tag, value, int(t.lines.pos(line))
	return n
}

// add appends a child to the innermost collection.
func (t *tree) add(n *yaml.Node) { t.kids = append(t.kids, n) }

// addNull appends a value that is still to come: null if it does not.
func (t *tree) addNull(line int) { t.add(t.node(yaml.ScalarNode, nullTag, "", line)) }

// pending is the value that is still to come.
func (t *tree) pending(line int) *yaml.Node {
	n := t.kids[len(t.kids)-1]
	n.Line = int(t.lines.pos(line))
	return n
}

// key adds a key and the place of its value. A key that kustomize expands or
// leaves out is not plain.
func (t *tree) key(v scalar, line int) bool {
	n := t.node(yaml.ScalarNode, "", "", line)
	setScalar(n, v)
	t.add(n)
	t.addNull(line)
	return n.Tag != nullTag && n.Tag != mergeTag
}

func (t *tree) scalar(v scalar, line int) {
	n := t.pending(line)
	setScalar(n, v)
	t.current, t.blank = n, 0
}

func setScalar(n *yaml.Node, v scalar) {
	n.Value = v.text
	switch v.quote {
	case '"':
		n.Tag, n.Style = strTag, yaml.DoubleQuotedStyle
	case '\'':
		n.Tag, n.Style = strTag, yaml.SingleQuotedStyle
	default:
		n.Tag = plainTag(v.text)
	}
}

// plainTag is the tag of a plain scalar.
func plainTag(text string) string {
	if len(text) > 0 {
		switch b := text[0]; {
		case strings.IndexByte("yYnNtTfFoO", b) >= 0 && len(text) > len("false"):
			// The words that the library knows are short.
			return strTag
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '/', b == '$':
			if strings.IndexByte("yYnNtTfFoO", b) < 0 {
				return strTag
			}
		}
	}
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag()
}

// fold continues the current scalar with the text of another line.
func (t *tree) fold(text string) {
	n := t.current
	if t.blank > 0 {
		n.Value += strings.Repeat("\n", t.blank) + text
	} else {
		n.Value += " " + text
	}
	t.blank = 0
	if n.Style == 0 {
		n.Tag = plainTag(n.Value)
	}
}

// collection begins a mapping or sequence in the place of the pending value.
func (t *tree) collection(seq bool, line int) (n *yaml.Node, children int) {
	if t.root == nil {
		t.root = t.node(yaml.MappingNode, mapTag, "", line)
		n = t.root
	} else {
		n = t.pending(line)
	}
	setCollection(n, seq)
	return n, len(t.kids)
}

func setCollection(n *yaml.Node, seq bool) {
	n.Kind, n.Tag = yaml.MappingNode, mapTag
	if seq {
		n.Kind, n.Tag = yaml.SequenceNode, seqTag
	}
}

// close ends a collection.
func (t *tree) close(l level) { t.closeNode(l.node, l.children) }

func (t *tree) closeNode(n *yaml.Node, children int) {
	kids := t.kids[children:]
	if len(t.pointers) < len(kids) {
		t.pointers = make([]*yaml.Node, max(t.size, len(kids)))
	}
	n.Content = t.pointers[:len(kids):len(kids)]
	t.pointers = t.pointers[len(kids):]
	copy(n.Content, kids)
	t.kids = t.kids[:children]
}

// flow builds a collection in flow style, which flowLength has measured.
func (t *tree) flow(l string, line int) bool {
	rest, ok := t.flowInto(t.pending(line), l, line)
	return ok && rest == ""
}

func (t *tree) flowInto(n *yaml.Node, l string, line int) (rest string, ok bool) {
	mapping := l[0] == '{'
	setCollection(n, !mapping)
	n.Style = yaml.FlowStyle
	children := len(t.kids)
	for l = l[skip(l, 1):]; l[0] != ']' && l[0] != '}'; l = l[skip(l, 0):] {
		if l[0] == ',' {
			l = l[skip(l, 1):]
		}
		if mapping {
			var key *yaml.Node
			key, l = t.word(l, line)
			if key.Tag == nullTag || key.Tag == mergeTag || key.Value == "<<" {
				return "", false
			}
			l = l[skip(l, 1):] // the colon
		}
		if l[0] == '[' || l[0] == '{' {
			c := t.node(yaml.SequenceNode, seqTag, "", line)
			t.add(c)
			if l, ok = t.flowInto(c, l, line); !ok {
				return "", false
			}
			continue
		}
		_, l = t.word(l, line)
	}
	t.closeNode(n, children)
	return l[1:], true
}

// word adds a word of a collection in flow style.
func (t *tree) word(l string, line int) (n *yaml.Node, rest string) {
	end := wordLength(l)
	v := scalar{text: l[:end], kind: plain}
	if l[0] == '"' || l[0] == '\'' {
		v = quotedText(l[1:end-1], l[0])
	}
	n = t.node(yaml.ScalarNode, "", "", line)
	setScalar(n, v)
	t.add(n)
	return n, l[end:]
}

// unquoted is a part of quoted text, with the escapes that closing allows.
func unquoted(text string, quote byte) string {
	if quote == '\'' {
		return strings.ReplaceAll(text, "''", "'")
	}
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			i++
			switch c = text[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (t *tree) openBlock(style, chomping byte, line int) {
	n := t.pending(line)
	n.Tag, n.Style = strTag, yaml.LiteralStyle
	if style == '>' {
		n.Style = yaml.FoldedStyle
	}
	t.block = blockScalar{node: n, chomping: chomping, lines: t.block.lines[:0]}
}

func (t *tree) blockLine(l string, ended bool) {
	t.block.lines, t.block.ended = append(t.block.lines, l), ended
}

// endBlock closes the block scalar that has begun, if any.
func (s *scanner) endBlock() {
	if s.tree != nil && s.tree.block.node != nil {
		s.tree.block.node.Value = s.tree.block.text()
		s.tree.block.node = nil
	}
}

// text is what the lines of a block scalar mean (YAML 1.1, 9.1 to 9.3; the
// library: yaml_parser_scan_block_scalar).
func (b *blockScalar) text() string {
	indent, size := -1, 0
	for _, l := range b.lines {
		size += len(l) + 1
		if t := strings.TrimLeft(l, " "); indent < 0 && t != "" {
			indent = len(l) - len(t)
		}
	}
	var out strings.Builder
	out.Grow(size)
	folded := b.node.Style == yaml.FoldedStyle
	var (
		pending  bool // a line end after the last text
		blanks   int  // blank lines after it
		indented bool // it starts with a space
	)
	for i, l := range b.lines {
		ended := b.ended || i+1 < len(b.lines)
		text := ""
		if indent >= 0 && len(l) > indent {
			text = l[indent:]
		}
		if text == "" {
			if ended {
				blanks++
			}
			continue
		}
		deeper := text[0] == ' '
		switch {
		case pending && folded && !indented && !deeper:
			if blanks == 0 {
				out.WriteByte(' ')
			}
		case pending:
			out.WriteByte('\n')
		}
		for ; blanks > 0; blanks-- {
			out.WriteByte('\n')
		}
		out.WriteString(text)
		pending, indented = ended, deeper
	}
	if b.chomping != '-' && pending {
		out.WriteByte('\n')
	}
	if b.chomping == '+' {
		for ; blanks > 0; blanks-- {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

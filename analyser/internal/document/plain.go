package document

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// scanPlain reads the headers of content without parsing it. It accepts a part
// of YAML in which every line can be judged by itself and the indentation
// before it: block mappings and sequences, keys without quotes, plain and quoted
// scalars, simple collections on one line, block scalars. ok is
// false for everything else, valid or not; when it is true, a parse finds the
// same headers and no error.
func (r *Reader) scanPlain(content []byte, base, last position.Pos) (headers []Header, ok bool) {
	if int64(len(content)) > r.limits.Bytes {
		return nil, false
	}
	if bytes.IndexByte(content, '\r') >= 0 {
		content = bytes.ReplaceAll(content, []byte("\r\n"), newline)
	}
	if !plainBytes(content) {
		return nil, false
	}
	var (
		p    part
		line int
		rest = content
		only = true
		s    scanner
	)
	for n := 0; n < r.limits.Documents; n++ {
		p, rest, line = nextPart(rest, line)
		only = only && p.last
		if p.bad || len(p.text) > r.limits.Nodes/2 {
			return nil, false
		}
		s = scanner{limit: min(r.limits.Depth-maxFlow, 64), line: p.line, stack: s.stack[:0]}
		if !s.scan(string(p.text)) {
			return nil, false
		}
		if s.first > 0 {
			h := s.header(only)
			h.Index, h.Pos = len(headers), clamp(base, s.first, last)
			headers = append(headers, h)
		}
		if p.last {
			return headers, true
		}
	}
	return nil, false
}

// plainBytes reports text without control characters, byte order marks and
// line ends that only YAML knows.
func plainBytes(text []byte) bool {
	ascii := true
	for _, b := range text {
		if b < ' ' && b != '\n' || b == 0x7F {
			return false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	if ascii {
		return true
	}
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError, r < 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
			return false
		}
		i += n
	}
	return true
}

// scanner judges the lines of one document.
type scanner struct {
	limit int
	line  int // of the line being judged, counted from 1
	first int // line of the first key; 0 when there is none

	stack []level
	// pending reports that the last key or dash has no value yet.
	pending bool
	// block is the least indentation of the text of a block scalar that has
	// begun, or -1; -2 when its first line decides. parent is the indentation
	// that ends it.
	block, parent, blank int

	// open is the kind of scalar that the next lines may continue: 'p' plain,
	// or the quote that ends it; 0 for none.
	open byte

	section string // the current key of the root
	fields  fields

	// tree is what is built of the document; nil when only its header is
	// wanted.
	tree *tree
}

// level is an open block collection.
type level struct {
	indent int
	seq    bool
	// node is what is built of it, children where those among tree.kids begin.
	node     *yaml.Node
	children int
}

const (
	noBlock   = -1
	openBlock = -2
)

func (s *scanner) scan(text string) bool {
	s.block = noBlock
	for start := true; len(text) > 0; start = false {
		var l string
		ended := true
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			l, text = text[:i], text[i+1:]
		} else {
			l, text, ended = text, "", false
		}
		s.line++
		if start && strings.HasPrefix(l, "---") {
			if !ends(l[3:]) {
				return false
			}
			continue
		}
		if !s.judge(l, ended) {
			return false
		}
	}
	s.endBlock()
	return s.open == 0 || s.open == 'p' // every quote is closed
}

// judge takes one line and reports whether it is plain. ended says that a line
// end follows it.
func (s *scanner) judge(l string, ended bool) bool {
	indent := 0
	for indent < len(l) && l[indent] == ' ' {
		indent++
	}
	if s.block != noBlock {
		if s.inBlock(indent, indent == len(l)) {
			if s.tree != nil {
				s.tree.blockLine(l, ended)
			}
			return s.block != noBlock
		}
		s.endBlock()
	}
	if indent == len(l) {
		if s.tree != nil {
			s.tree.blank++
		}
		return true
	}
	if s.open != 0 {
		if done, ok := s.continued(indent, l[indent:]); done {
			return ok
		}
	}
	if l[indent] == '#' {
		return true
	}
	for l = l[indent:]; ; {
		if l[0] == '-' && (len(l) == 1 || l[1] == ' ') {
			if !s.enter(indent, true) {
				return false
			}
			if s.tree != nil {
				s.tree.addNull(s.line)
			}
			rest := strings.TrimLeft(l[1:], " ")
			indent += len(l) - len(rest)
			if len(rest) == 0 || rest[0] == '#' {
				s.pending = true
				return true
			}
			l, s.pending = rest, true
			if len(l) > 1 && l[0] == '-' && l[1] == ' ' || len(l) == 1 && l[0] == '-' {
				continue
			}
		}
		if key, rest, ok := cutKey(l); ok {
			return s.entry(indent, key, rest)
		}
		// Only a value can stand here, of the dash or key before it.
		if !s.pending || indent <= s.stack[len(s.stack)-1].indent {
			return false
		}
		s.pending = false
		_, ok := s.value(l)
		return ok
	}
}

// inBlock reports whether a line belongs to the open block scalar.
func (s *scanner) inBlock(indent int, blank bool) bool {
	if s.block == openBlock {
		switch {
		case blank:
			s.blank = max(s.blank, indent)
			return true
		case indent <= s.parent:
			s.block = noBlock
			// Longer blank lines would have set the indentation.
			return s.blank > s.parent
		case indent < s.blank:
			s.block = noBlock
			return true // not plain
		}
		s.block = indent
		return true
	}
	if blank || indent >= s.block {
		return true
	}
	s.block = noBlock
	return false
}

// continued takes a line after a scalar that may go on. done is false when the
// line does not belong to it.
func (s *scanner) continued(indent int, l string) (done, ok bool) {
	deeper := indent > s.stack[len(s.stack)-1].indent
	if s.open == 'p' {
		s.open = 0
		if !deeper || l[0] == '#' {
			return false, true
		}
		v, ok := s.plainText(l)
		if s.tree != nil {
			s.tree.fold(v.text)
		}
		return true, ok
	}
	if !deeper {
		return true, false
	}
	quote := s.open
	s.open = 0
	n, _ := closing(l, quote)
	switch {
	case n == 0:
		return true, false
	case n > len(l):
		s.open = quote
		if s.tree != nil {
			s.tree.fold(unquoted(strings.TrimRight(l, " "), quote))
		}
		return true, true
	}
	if s.tree != nil {
		s.tree.fold(unquoted(l[:n-1], quote))
	}
	return true, ends(l[n:])
}

// enter makes the collection at a column the current one, as the indentation
// rules say, and reports whether they allow it.
func (s *scanner) enter(indent int, seq bool) bool {
	if len(s.stack) == 0 {
		if indent != 0 || seq || s.first != 0 {
			return false
		}
		s.first = s.line
		return s.push(indent, seq)
	}
	top := s.stack[len(s.stack)-1]
	if s.pending {
		s.pending = false
		if indent > top.indent || indent == top.indent && seq && !top.seq {
			return s.push(indent, seq)
		}
	}
	for top.indent > indent || top.indent == indent && top.seq && !seq {
		if len(s.stack) == 1 {
			return false
		}
		s.pop()
		top = s.stack[len(s.stack)-1]
	}
	return top.indent == indent && top.seq == seq
}

func (s *scanner) push(indent int, seq bool) bool {
	l := level{indent: indent, seq: seq}
	if s.tree != nil {
		l.node, l.children = s.tree.collection(seq, s.line)
	}
	s.stack = append(s.stack, l)
	return len(s.stack) < s.limit
}

func (s *scanner) pop() {
	top := s.stack[len(s.stack)-1]
	if s.tree != nil {
		s.tree.close(top)
	}
	s.stack = s.stack[:len(s.stack)-1]
}

// entry takes a key and what follows its colon.
func (s *scanner) entry(indent int, key scalar, rest string) bool {
	if !s.enter(indent, false) {
		return false
	}
	if s.tree != nil && !s.tree.key(key, s.line) {
		return false
	}
	rest = strings.TrimLeft(rest, " ")
	var v scalar
	if len(rest) == 0 || rest[0] == '#' {
		s.pending = true
	} else {
		var ok bool
		if v, ok = s.value(rest); !ok {
			return false
		}
	}
	switch len(s.stack) {
	case 1:
		s.section = ""
		return s.tree != nil || s.rootField(key.text, v)
	case 2:
		return s.tree != nil || s.nestedField(key.text, v)
	}
	return true
}

// longestKey is far below the length at which a key is none.
const longestKey = 256

// cutKey takes a key off the start of l: plain or in quotes, which are left
// out. rest follows the colon.
func cutKey(l string) (key scalar, rest string, ok bool) {
	if l[0] == '"' || l[0] == '\'' {
		n := wordLength(l)
		if n == 0 || n > longestKey || n == len(l) || l[n] != ':' || n+1 < len(l) && l[n+1] != ' ' || strings.Contains(l[:n], "<<") {
			return scalar{}, "", false
		}
		return quotedText(l[1:n-1], l[0]), l[n+1:], true
	}
	for i := 0; i < len(l); i++ {
		switch b := l[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '_':
		case i == 0 || i > longestKey:
			return scalar{}, "", false
		case b == '-', b == '.', b == '/':
		case b == ':':
			if i+1 == len(l) || l[i+1] == ' ' {
				return scalar{text: l[:i], kind: plain}, l[i+1:], true
			}
		default:
			return scalar{}, "", false
		}
	}
	return scalar{}, "", false
}

// ends reports that nothing but white space or a comment follows a value.
func ends(l string) bool {
	t := strings.TrimLeft(l, " ")
	return len(t) == 0 || len(t) < len(l) && t[0] == '#'
}

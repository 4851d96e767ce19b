package document

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gitops-reach/reach/analyser/internal/object"
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
		if !s.scan(p.text) {
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
}

// level is an open block collection.
type level struct {
	indent int
	seq    bool
}

// fields are what a header needs. A set bit guards against duplicate keys,
// whose meaning is left to a parse.
type fields struct {
	apiVersion, kind, name, namespace string
	seen                              uint16
}

const (
	seenAPIVersion = 1 << iota
	seenKind
	seenMetadata
	seenName
	seenNamespace
	seenSOPS
	seenMAC
	seenItems
	seenFunctionConfig
)

const (
	noBlock   = -1
	openBlock = -2
)

func (s *scanner) header(only bool) Header {
	f := &s.fields
	h := Header{SOPS: f.seen&seenMAC != 0}
	items, function := f.seen&seenItems != 0, f.seen&seenFunctionConfig != 0
	switch {
	case only && (f.kind == "List" || f.kind == "ResourceList"):
		h.List = items || function
	case strings.HasSuffix(f.kind, "List"):
		h.List = items
	}
	if f.apiVersion != "" && f.kind != "" {
		h.Ref = object.Ref{Kind: f.kind, Namespace: f.namespace, Name: f.name}
		h.Ref.Group, h.Ref.Version = object.SplitAPIVersion(f.apiVersion)
	}
	return h
}

func (s *scanner) scan(text []byte) bool {
	s.block = noBlock
	for start := true; len(text) > 0; start = false {
		var l []byte
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			l, text = text[:i], text[i+1:]
		} else {
			l, text = text, nil
		}
		s.line++
		if start && bytes.HasPrefix(l, separator[1:]) {
			if !ends(l[3:]) {
				return false
			}
			continue
		}
		if !s.judge(l) {
			return false
		}
	}
	return s.open == 0 || s.open == 'p' // every quote is closed
}

// judge takes one line and reports whether it is plain.
func (s *scanner) judge(l []byte) bool {
	indent := 0
	for indent < len(l) && l[indent] == ' ' {
		indent++
	}
	if s.block != noBlock {
		if s.inBlock(indent, indent == len(l)) {
			return s.block != noBlock
		}
	}
	if indent == len(l) {
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
			rest := bytes.TrimLeft(l[1:], " ")
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
		if key, rest := cutKey(l); key != nil {
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
func (s *scanner) continued(indent int, l []byte) (done, ok bool) {
	deeper := indent > s.stack[len(s.stack)-1].indent
	if s.open == 'p' {
		s.open = 0
		if !deeper || l[0] == '#' {
			return false, true
		}
		_, ok = s.plainText(l)
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
		return true, true
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
		s.stack = s.stack[:len(s.stack)-1]
		top = s.stack[len(s.stack)-1]
	}
	return top.indent == indent && top.seq == seq
}

func (s *scanner) push(indent int, seq bool) bool {
	s.stack = append(s.stack, level{indent, seq})
	return len(s.stack) < s.limit
}

// entry takes a key and what follows its colon.
func (s *scanner) entry(indent int, key, rest []byte) bool {
	if !s.enter(indent, false) {
		return false
	}
	rest = bytes.TrimLeft(rest, " ")
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
		return s.rootField(key, v)
	case 2:
		return s.nestedField(key, v)
	}
	return true
}

func (s *scanner) rootField(key []byte, v scalar) bool {
	switch string(key) {
	case "apiVersion":
		s.fields.apiVersion = string(v.text)
		return s.known(seenAPIVersion, v.isString())
	case "kind":
		s.fields.kind = string(v.text)
		return s.known(seenKind, v.isString())
	case "metadata":
		s.section = "metadata"
		return s.once(seenMetadata) && s.pending
	case "sops":
		s.section = "sops"
		return s.once(seenSOPS) && s.pending
	case "items":
		return s.once(seenItems)
	case "functionConfig":
		return s.once(seenFunctionConfig)
	}
	return true
}

func (s *scanner) nestedField(key []byte, v scalar) bool {
	switch {
	case s.section == "metadata" && string(key) == "name":
		s.fields.name = string(v.text)
		return s.known(seenName, v.isText())
	case s.section == "metadata" && string(key) == "namespace":
		s.fields.namespace = string(v.text)
		return s.known(seenNamespace, v.isText())
	case s.section == "sops" && string(key) == "mac":
		return s.once(seenMAC)
	}
	return true
}

// once notes a field of the header.
func (s *scanner) once(bit uint16) bool {
	first := s.fields.seen&bit == 0
	s.fields.seen |= bit
	return first
}

// known notes a field whose text is wanted. That text must not go on in the
// next line: with nothing open, such a line is not plain.
func (s *scanner) known(bit uint16, text bool) bool {
	s.open = 0
	return s.once(bit) && text
}

// cutKey takes a key off the start of l: plain or in quotes, which are left
// out. rest follows the colon; key is nil when there is none.
func cutKey(l []byte) (key, rest []byte) {
	const longest = 256 // far below the length at which a key is none
	if l[0] == '"' || l[0] == '\'' {
		n := wordLength(l)
		if n == 0 || n > longest || n == len(l) || l[n] != ':' || n+1 < len(l) && l[n+1] != ' ' || bytes.Contains(l[:n], []byte("<<")) {
			return nil, nil
		}
		return l[1 : n-1 : n-1], l[n+1:]
	}
	for i, b := range l {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '_':
		case i == 0 || i > longest:
			return nil, nil
		case b == '-', b == '.', b == '/':
		case b == ':':
			if i+1 == len(l) || l[i+1] == ' ' {
				return l[:i:i], l[i+1:]
			}
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// ends reports that nothing but white space or a comment follows a value.
func ends(l []byte) bool {
	t := bytes.TrimLeft(l, " ")
	return len(t) == 0 || len(t) < len(l) && t[0] == '#'
}

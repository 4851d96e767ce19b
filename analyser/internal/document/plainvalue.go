package document

import "strings"

// scalar is a value as far as a header needs it.
type scalar struct {
	text string
	kind scalarKind
	// quote is the quote of quoted text.
	quote byte
}

type scalarKind uint8

const (
	other  scalarKind = iota // no value, a collection, a block scalar
	plain                    // text as it stands
	quoted                   // text between quotes, free of escapes
)

// isText reports a scalar whose text is known and which is not null.
func (v scalar) isText() bool {
	if v.kind == plain {
		switch v.text {
		case "~", "null", "Null", "NULL":
			return false
		}
	}
	return v.kind != other
}

// isString reports text that is surely a string, not a number or a boolean.
func (v scalar) isString() bool {
	if len(v.text) == 0 || v.kind == other {
		return false
	}
	if v.kind == quoted {
		return true
	}
	for i := 0; i < len(v.text); i++ {
		b := v.text[i]
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
		case i > 0 && (b >= '0' && b <= '9' || b == '.' || b == '/' || b == '-'):
		default:
			return false
		}
	}
	switch v.text {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "off", "Off", "OFF",
		"true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL":
		return false
	}
	return true
}

// value judges a value that starts at l, which is not empty, up to the end of
// the line.
func (s *scanner) value(l string) (v scalar, ok bool) {
	switch l[0] {
	case '|', '>':
		return scalar{}, s.openBlock(l)
	case '"', '\'':
		n, literal := closing(l[1:], l[0])
		switch {
		case n == 0:
			return scalar{}, false
		case n >= len(l):
			s.open = l[0]
			if s.tree != nil {
				s.tree.scalar(quotedText(unquoted(strings.TrimRight(l[1:], " "), l[0]), l[0]), s.line)
			}
			return scalar{}, true
		}
		if s.tree != nil {
			s.tree.scalar(quotedText(unquoted(l[1:n], l[0]), l[0]), s.line)
		}
		if !literal {
			return scalar{}, ends(l[n+1:])
		}
		return quotedText(l[1:n], l[0]), ends(l[n+1:])
	case '[', '{':
		n := flowLength(l, 0)
		if n > 0 && s.tree != nil && !s.tree.flow(l[:n], s.line) {
			return scalar{}, false
		}
		return scalar{}, n > 0 && ends(l[n:])
	case '&', '*', '!', '%', '@', '`', ',', ']', '}', '?', ':', '#':
		return scalar{}, false
	case '-':
		if len(l) == 1 || l[1] == ' ' {
			return scalar{}, false
		}
	}
	v, ok = s.plainText(l)
	if s.tree != nil {
		s.tree.scalar(v, s.line)
	}
	return v, ok
}

// plainText judges a line of a plain scalar.
func (s *scanner) plainText(l string) (v scalar, ok bool) {
	s.open = 'p'
	for i := 0; i < len(l); i++ {
		if b := l[i]; b == ':' && (i+1 == len(l) || l[i+1] == ' ') {
			return scalar{}, false
		} else if b == '#' && i > 0 && l[i-1] == ' ' {
			l, s.open = l[:i], 0
			break
		}
	}
	return scalar{text: strings.TrimRight(l, " "), kind: plain}, true
}

func quotedText(text string, quote byte) scalar {
	return scalar{text: text, kind: quoted, quote: quote}
}

// openBlock judges a block scalar's first line.
func (s *scanner) openBlock(l string) bool {
	style, chomping := l[0], byte(0)
	if l = l[1:]; len(l) > 0 && (l[0] == '-' || l[0] == '+') {
		chomping, l = l[0], l[1:]
	}
	if s.tree != nil {
		s.tree.openBlock(style, chomping, s.line)
	}
	s.block, s.blank = openBlock, 0
	s.parent = s.stack[len(s.stack)-1].indent
	return ends(l)
}

// closing returns the length of l up to and with the quote that ends a scalar,
// more than len(l) when the scalar does not end in this line, or 0 for an
// escape that only a parse can judge. literal says that the text is what it
// looks like.
func closing(l string, quote byte) (n int, literal bool) {
	literal = true
	for i := 0; i < len(l); i++ {
		switch {
		case l[i] == '\\' && quote == '"':
			if i++; i == len(l) || strings.IndexByte(`"\nt`, l[i]) < 0 {
				return 0, false
			}
			literal = false
		case l[i] != quote:
		case quote == '\'' && i+1 < len(l) && l[i+1] == quote:
			i++
			literal = false
		default:
			return i + 1, literal
		}
	}
	return len(l) + 1, false
}

// maxFlow bounds how deep a value on one line nests.
const maxFlow = 10

// flowLength is the length of a collection in flow style at the start of l, or
// 0 when it is not one of simple words and quoted words on this line.
func flowLength(l string, depth int) int {
	if depth == maxFlow-2 {
		return 0
	}
	mapping := l[0] == '{'
	closing := byte(']')
	if mapping {
		closing = '}'
	}
	i := skip(l, 1)
	if i < len(l) && l[i] == closing {
		return i + 1
	}
	for i < len(l) {
		if mapping {
			n := wordLength(l[i:])
			i += n
			if n == 0 || n > longestKey || i+1 >= len(l) || l[i] != ':' || l[i+1] != ' ' {
				return 0
			}
			i = skip(l, i+1)
		}
		n := 0
		switch {
		case i >= len(l):
		case l[i] == '[' || l[i] == '{':
			n = flowLength(l[i:], depth+1)
		default:
			n = wordLength(l[i:])
		}
		if n == 0 {
			return 0
		}
		i = skip(l, i+n)
		switch {
		case i < len(l) && l[i] == ',':
			i = skip(l, i+1)
		case i < len(l) && l[i] == closing:
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func skip(l string, i int) int {
	for i < len(l) && l[i] == ' ' {
		i++
	}
	return i
}

// wordLength is the length of a word of safe characters or of a quoted string
// without escapes.
func wordLength(l string) int {
	if len(l) > 0 && (l[0] == '"' || l[0] == '\'') {
		n := strings.IndexByte(l[1:], l[0]) + 2
		if n < 2 || n > 1000 || strings.IndexByte(l[:n], '\\') >= 0 || n < len(l) && l[n] == l[0] {
			return 0
		}
		return n
	}
	for i := 0; i < len(l); i++ {
		switch b := l[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '_', b == '/', b == '$':
		case i > 0 && (b == '-' || b == '.'):
		default:
			return i
		}
	}
	return len(l)
}

package document

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// syntaxError turns an error of the YAML library into one with a position.
//
// The library's messages are fixed sentences, except that an unknown anchor is
// named; that name is left out.
func syntaxError(err error, text []byte, l *lines) *Error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{Code: CodeSyntax, Pos: l.whole(), Message: msg}
	if num, after, ok := strings.Cut(strings.TrimPrefix(msg, "line "), ": "); ok && strings.HasPrefix(msg, "line ") {
		if n, err := strconv.Atoi(num); err == nil {
			if countsFromZero(after) {
				n++
			}
			e.Pos, e.Message = l.pos(n), after
		}
	}
	switch {
	case strings.HasPrefix(e.Message, "unknown anchor"):
		if _, name, ok := strings.Cut(e.Message, "'"); ok {
			name, _, _ = strings.Cut(name, "'")
			e.Pos = l.at(text, max(bytes.Index(text, []byte("*"+name)), 0))
		}
		e.Message = "an alias of an anchor that is not defined before it"
	case strings.Contains(e.Message, "UTF-"), strings.Contains(e.Message, "surrogate"):
		e.Code, e.Pos = CodeNotUTF8, l.at(text, firstInvalid(text))
	case strings.HasPrefix(e.Message, "control characters"):
		e.Pos = l.at(text, firstControl(text))
	case strings.HasPrefix(e.Message, "exceeded max depth"):
		e.Code = CodeTooDeep
	}
	return e
}

// countsFromZero tells the complaints of the library's parser, whose lines
// count from 0, from those of its scanner and reader.
func countsFromZero(msg string) bool {
	for _, p := range []string{
		"did not find expected <", "did not find expected node content",
		"did not find expected key", "did not find expected '-' indicator",
		"did not find expected ',' or ", "found duplicate %",
		"found incompatible YAML document", "found undefined tag handle",
	} {
		if strings.HasPrefix(msg, p) {
			return true
		}
	}
	return false
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// firstControl finds the first character that YAML does not allow in a file.
func firstControl(text []byte) int {
	for i, r := range string(text) {
		switch {
		case r == '\t', r == '\n', r == '\r', r == 0x85, r == 0xFEFF && i == 0:
		case r < 0x20, r >= 0x7F && r < 0xA0, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
			return i
		}
	}
	return len(text)
}

// checkSize refuses a part that could hold far more values than the limit
// before the parser spends memory on them: each value needs one of these
// characters before it. A long text full of them is refused as well, which is
// why the bound is several times the limit.
func (r *Reader) checkSize(text []byte, l *lines) *Error {
	if i := manyDirectives(text); i >= 0 {
		return &Error{Code: CodeTooLarge, Pos: l.at(text, i), Message: "a document has more directives (%) than the limit"}
	}
	limit := sizeSlack * r.limits.Nodes
	if len(text) <= limit {
		return nil
	}
	n := 0
	for i, b := range text {
		switch b {
		case ':', '?', '{':
			n += 3
		case ',', '[':
			n += 2
		case '-':
			if i+1 == len(text) || text[i+1] <= ' ' {
				n += 2
			}
		}
		if n > limit {
			return tooManyNodes(l.at(text, i), r.limits)
		}
	}
	return nil
}

const sizeSlack = 4

// maxDirectives bounds the lines that start with "%", which the parser
// compares each with each.
const maxDirectives = 1000

// manyDirectives returns the offset of the first line that is over the limit,
// or -1.
func manyDirectives(text []byte) int {
	for i, n := 0, 0; ; i++ {
		next := bytes.IndexByte(text[i:], '%')
		if next < 0 {
			return -1
		}
		i += next
		if i > 0 && text[i-1] >= ' ' && text[i-1] < utf8.RuneSelf {
			continue // within a line
		}
		if n++; n > maxDirectives {
			return i
		}
	}
}

package document

import "bytes"

// part is the text between two document separators.
type part struct {
	text []byte
	// line counts the lines before text.
	line int
	// last reports that no separator follows.
	last bool
	// bad reports that text ends at a line that starts like a separator and
	// is none; what follows it cannot be told apart.
	bad bool
}

var separator = []byte("\n---")

// nextPart cuts the first part off content and returns the rest. Line ends
// are "\n" already.
//
// A separator is a whole line, not the first one and not an unterminated last
// one, that starts with "---", wherever it stands, inside a block scalar too;
// after the dashes only white space or a comment may follow. Upstream:
// splitDocuments in kyaml kio/byteio_reader.go, whose regular expression takes
// the line end before a separator as part of it: of two separators in a row
// the second is text.
func nextPart(content []byte, line int) (p part, rest []byte, restLine int) {
	i := bytes.Index(content, separator)
	if i < 0 {
		return part{text: content, line: line, last: true}, nil, 0
	}
	end := bytes.IndexByte(content[i+1:], '\n')
	if end < 0 {
		return part{text: content, line: line, last: true}, nil, 0
	}
	end += i + 1
	after := bytes.TrimSpace(content[i+len(separator) : end])
	p = part{text: content[: i+1 : i+1], line: line}
	if len(after) > 0 && after[0] != '#' {
		p.bad = true
		return p, nil, line + bytes.Count(p.text, newline) + 1
	}
	return p, content[end+1:], line + bytes.Count(p.text, newline) + 1
}

var newline = []byte{'\n'}

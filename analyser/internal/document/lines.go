package document

import (
	"bytes"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// lines turns the line numbers of the parser within a part into positions.
type lines struct {
	base, last position.Pos
	before     int
	// breaks holds, for a part with line breaks that only YAML 1.1 knows, how
	// many line feeds precede each of the parser's lines.
	breaks []int
}

func newLines(p part, base, last position.Pos) *lines {
	l := &lines{base: base, last: last, before: p.line}
	if hasOddBreaks(p.text) {
		l.breaks = oddBreaks(p.text)
	}
	return l
}

// pos is the position of the parser's line n, counted from 1.
func (l *lines) pos(n int) position.Pos {
	if l.breaks != nil {
		n = l.breaks[min(max(n-1, 0), len(l.breaks)-1)] + 1
	}
	return clamp(l.base, l.before+n, l.last)
}

// whole is the place of what has no line.
func (l *lines) whole() position.Pos { return clamp(l.base, l.before+1, l.last) }

// at is the position of a byte of the part.
func (l *lines) at(text []byte, offset int) position.Pos {
	return clamp(l.base, l.before+1+bytes.Count(text[:offset], newline), l.last)
}

func clamp(base position.Pos, line int, last position.Pos) position.Pos {
	return min(base+position.Pos(line), last)
}

// hasOddBreaks reports a carriage return of its own, U+0085, U+2028 or U+2029:
// the parser ends a line there, editors and git do not.
func hasOddBreaks(text []byte) bool {
	return bytes.IndexByte(text, '\r') >= 0 ||
		bytes.Contains(text, []byte("\u0085")) ||
		bytes.Contains(text, []byte("\u2028")) || bytes.Contains(text, []byte("\u2029"))
}

func oddBreaks(text []byte) []int {
	breaks := []int{0}
	feeds := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			feeds++
		case text[i] == '\r':
		case text[i] == 0xC2 && i+1 < len(text) && text[i+1] == 0x85:
			i++
		case text[i] == 0xE2 && i+2 < len(text) && text[i+1] == 0x80 && (text[i+2] == 0xA8 || text[i+2] == 0xA9):
			i += 2
		default:
			continue
		}
		breaks = append(breaks, feeds)
	}
	return breaks
}

package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// byCount lists the keys of counts, the largest first, equal ones by name.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// together is a space at which no line breaks; wrap makes it a common one.
const together = "\u00a0"

func isSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }

// tally writes counts in the order of keys, leaving zeros out.
func tally(counts map[string]int, keys []string) string {
	var out []string
	for _, k := range keys {
		if counts[k] != 0 {
			out = append(out, fmt.Sprintf("%d%s%s", counts[k], together, k))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// wrap breaks words into lines of at most width columns; a longer word stands
// alone. It returns at least one line.
func wrap(s string, width int) []string {
	width = max(width, 20)
	var out []string
	line := ""
	for word := range strings.FieldsFuncSeq(s, isSpace) {
		word = strings.ReplaceAll(word, together, " ")
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			out = append(out, line)
			line = word
		}
	}
	return append(out, line)
}

// hang writes words behind a lead of the given width, wrapped and aligned behind
// it.
func (p *printer) hang(lead string, leadWidth int, s string) {
	for i, l := range wrap(s, p.Width-leadWidth) {
		if i > 0 {
			lead = strings.Repeat(" ", leadWidth)
		}
		p.line("%s%s", lead, l)
	}
}

// mostLines is how many lines a cell of a table has at most.
const mostLines = 2

// folded breaks s into lines of width columns after commas, slashes, blanks or
// dashes, the first of these that does:
// two paths that differ anywhere stay two. What does not fit into mostLines loses
// the middle of its last line.
func folded(s string, width int) string {
	var lines []string
	rest := []rune(s)
	for len(rest) > width && width > 4 {
		if len(lines) == mostLines-1 {
			break
		}
		end := width
		for _, after := range []string{",", "/", " ", "-"} {
			if i := lastAfter(rest[:width+1], after); i > width/3 {
				end = i
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(rest[:end]), " "))
		rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
	}
	return strings.Join(append(lines, middle(string(rest), width)), "\n")
}

// lastAfter is the last place in a line and the character after it at which a
// line may end with mark; a blank itself is not part of the line.
func lastAfter(r []rune, mark string) int {
	for i := len(r) - 1; i > 0; i-- {
		if string(r[i-1]) == mark || mark == " " && r[i] == ' ' {
			return i
		}
	}
	return 0
}

// middle shortens s to width columns by leaving out its middle: both ends of a
// path tell more than what lies between.
func middle(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	if width < 5 {
		return string(r[:max(width, 0)])
	}
	head := (width - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(width-1-head):])
}

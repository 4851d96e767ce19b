package alias

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check looks for real names in what is about to be published. It is written
// another way than the replacer on purpose: it looks names up by their first
// word.
type Check struct {
	// byWord holds names by the letters and digits that they begin with; names
	// that begin with something else stand under "".
	byWord map[string][]needle
	seen   map[string]struct{}
}

type needle struct {
	real   string
	folded string
	// ordinary words stand in the report's own sentences.
	ordinary, brief bool
}

// Check returns a check for the real names of the mapping.
func (m Mapping) Check() *Check {
	c := &Check{byWord: map[string][]needle{}, seen: map[string]struct{}{}}
	for _, p := range m.pairs() {
		if p.real == "" {
			continue
		}
		n := needle{p.real, foldString(p.real), ordinary(p.real), brief(p.real)}
		word := n.folded[:wordEnd(n.folded, 0)]
		c.byWord[word] = append(c.byWord[word], n)
	}
	return c
}

// Without returns a check that does not look for the names that stand in a text
// of the program itself: the labels, the style and the script of a page. There a
// name says nothing, and a census of a cluster called "button" must be possible.
func (c *Check) Without(text string) *Check {
	out := &Check{byWord: maps.Clone(c.byWord), seen: map[string]struct{}{}}
	for {
		name := out.find(text, func(needle) bool { return true })
		if name == "" {
			return out
		}
		folded := foldString(name)
		word := folded[:wordEnd(folded, 0)]
		out.byWord[word] = slices.DeleteFunc(slices.Clone(out.byWord[word]), func(n needle) bool { return n.real == name })
	}
}

// Value returns a real name that the value of a field holds, or "".
func (c *Check) Value(s string) string {
	if _, ok := c.seen[s]; ok {
		return ""
	}
	if name := c.find(s, func(needle) bool { return true }); name != "" {
		return name
	}
	if len(c.seen) >= remembered {
		clear(c.seen)
	}
	c.seen[s] = struct{}{}
	return ""
}

// Prose returns a real name that a text for people holds, or "". Names that are
// ordinary words are not looked for: the text uses them itself.
func (c *Check) Prose(s string) string {
	return c.find(s, func(n needle) bool { return !n.ordinary && !n.brief })
}

// find returns the first wanted name that stands in s, not as part of a word.
func (c *Check) find(s string, wanted func(needle) bool) string {
	text := foldString(maskDomains(s))
	for i := 0; i < len(text); {
		end := wordEnd(text, i)
		for _, n := range c.byWord[text[i:end]] {
			if wanted(n) && n.at(text, i) {
				return n.real
			}
		}
		for _, n := range c.byWord[""] {
			if wanted(n) && n.at(text, i) {
				return n.real
			}
		}
		switch {
		case strings.HasPrefix(text[i:], `\x`) && len(text) >= i+4 && hex(text[i+2]) && hex(text[i+3]):
			i += 4
		case end > i:
			i = end
		default:
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
		}
	}
	return ""
}

// at reports whether the name stands at text[i:], which is the start of a word
// or no part of one.
func (n needle) at(text string, i int) bool {
	if !strings.HasPrefix(text[i:], n.folded) {
		return false
	}
	end := i + len(n.folded)
	if n.brief {
		const around = "/\"'`"
		return (i == 0 || strings.ContainsRune(around, rune(text[i-1]))) &&
			(end == len(text) || strings.ContainsRune(around, rune(text[end])))
	}
	return !wordRuneAfter(text[end:])
}

// wordEnd returns where the letters and digits at text[i:] end.
func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += size
	}
	return i
}

func wordRuneBefore(text string) bool {
	if n := len(text); n >= 4 && text[n-4] == '\\' && text[n-3] == 'x' && hex(text[n-2]) && hex(text[n-1]) {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func wordRuneAfter(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return text != "" && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func foldString(s string) string { return strings.Map(fold, s) }

// maskDomains blanks public domains out where they stand as words of their own.
func maskDomains(s string) string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		// Lower case has another length: look without masking, which can only
		// find too much.
		return s
	}
	out := []byte(s)
	for _, d := range publicDomains {
		for from := 0; ; {
			at := strings.Index(lower[from:], d)
			if at < 0 {
				break
			}
			start, end := from+at, from+at+len(d)
			if !wordRuneBefore(lower[:start]) && !wordRuneAfter(lower[end:]) {
				copy(out[start:end], slices.Repeat([]byte{'\x01'}, end-start))
			}
			from = end
		}
	}
	return string(out)
}

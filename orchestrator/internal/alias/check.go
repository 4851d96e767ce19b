package alias

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check looks for real names in what is about to be published. It is written
// another way than the replacer on purpose: plain search for each name.
type Check struct {
	names []needle
	seen  map[string]struct{}
}

type needle struct {
	real   string
	folded string
	// ordinary words stand in the report's own sentences.
	ordinary, brief bool
}

// Check returns a check for the real names of the mapping.
func (m Mapping) Check() *Check {
	c := &Check{seen: map[string]struct{}{}}
	for _, p := range m.pairs() {
		if p.real != "" {
			c.names = append(c.names, needle{p.real, foldString(p.real), ordinary(p.real), brief(p.real)})
		}
	}
	return c
}

// Value returns a real name that the value of a field holds, or "".
func (c *Check) Value(s string) string {
	if _, ok := c.seen[s]; ok {
		return ""
	}
	text := foldString(maskDomains(s))
	for _, n := range c.names {
		if n.in(text) {
			return n.real
		}
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
	text := foldString(maskDomains(s))
	for _, n := range c.names {
		if !n.ordinary && !n.brief && n.in(text) {
			return n.real
		}
	}
	return ""
}

// in reports whether the name stands in folded text, not as part of a word.
func (n needle) in(text string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], n.folded)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(n.folded)
		if n.brief {
			const around = "/\"'`"
			if (start == 0 || strings.ContainsRune(around, rune(text[start-1]))) &&
				(end == len(text) || strings.ContainsRune(around, rune(text[end]))) {
				return true
			}
		} else if !wordRuneBefore(text[:start]) && !wordRuneAfter(text[end:]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		from = start + size
	}
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

package alias

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Check looks for real names in what is about to be published. It is written
// another way than the replacer on purpose: it looks words up, and from a word
// on, stretches of text of the lengths that names have. Its cost grows with the
// text and, slowly, with the number of different lengths of names.
//
// It is safe for concurrent use.
type Check struct {
	// byWord holds names by the letters and digits that they begin with; names
	// that begin with something else stand under "".
	byWord map[string]*group
	// begins tells, for the first byte of a word, how long words are that names
	// begin with, as bits: nearly every word of a text is passed over by it.
	begins [256]uint64
}

// lengthBit stands for the length of a word; long ones share the last bit.
func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// group is names that begin alike.
type group struct {
	// byText holds names by their folded text, and lengths the lengths of
	// these in bytes.
	byText  map[string][]needle
	lengths []int
}

type needle struct {
	real string
	// ordinary words stand in the report's own sentences.
	ordinary, brief bool
}

// Check returns a check for the real names of the mapping.
func (m Mapping) Check() *Check {
	var names []string
	for _, p := range m.pairs() {
		names = append(names, p.real)
	}
	return newCheck(names)
}

func newCheck(names []string) *Check {
	c := &Check{byWord: map[string]*group{}}
	for _, name := range names {
		if name == "" {
			continue
		}
		folded := foldString(name)
		word := folded[:wordEnd(folded, 0)]
		g := c.byWord[word]
		if g == nil {
			g = &group{byText: map[string][]needle{}}
			c.byWord[word] = g
			if word != "" {
				c.begins[word[0]] |= lengthBit(len(word))
			}
		}
		g.byText[folded] = append(g.byText[folded], needle{name, ordinary(name), brief(name)})
		if !slices.Contains(g.lengths, len(folded)) {
			g.lengths = append(g.lengths, len(folded))
			slices.Sort(g.lengths)
		}
	}
	return c
}

// Without returns a check that does not look for the names that stand in a text
// of the program itself: the labels, the style and the script of a page. There a
// name says nothing, and a census of a cluster called "button" must be possible.
func (c *Check) Without(text string) *Check {
	own := map[string]bool{}
	c.find(text, func(n needle) bool {
		own[n.real] = true
		return false
	})
	if len(own) == 0 {
		return c
	}
	var names []string
	for _, g := range c.byWord {
		for _, needles := range g.byText {
			for _, n := range needles {
				if !own[n.real] {
					names = append(names, n.real)
				}
			}
		}
	}
	return newCheck(names)
}

// Value returns the real names that the value of a field holds, each once, in the
// order in which they stand there.
func (c *Check) Value(s string) []string {
	return c.all(s, func(needle) bool { return true })
}

// Prose returns the real names that a text for people holds. Names that are
// ordinary words are not looked for: the text uses them itself.
func (c *Check) Prose(s string) []string {
	return c.all(s, needle.telling)
}

// Passed returns the names, sorted, that Prose does not look for.
func (c *Check) Passed() []string {
	var out []string
	for _, g := range c.byWord {
		for _, needles := range g.byText {
			for _, n := range needles {
				if !n.telling() {
					out = append(out, n.real)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func (n needle) telling() bool { return !n.ordinary && !n.brief }

// all returns the wanted names that stand in s.
func (c *Check) all(s string, wanted func(needle) bool) (names []string) {
	c.find(s, func(n needle) bool {
		if wanted(n) && !slices.Contains(names, n.real) {
			names = append(names, n.real)
		}
		return false
	})
	return names
}

// find returns the first wanted name that stands in s, not as part of a word.
func (c *Check) find(s string, wanted func(needle) bool) string {
	f := foldings.Get().(*folding)
	defer foldings.Put(f)
	other := c.byWord[""]
	if f.fold(s, &c.begins); f.whole && other == nil {
		for _, w := range f.words {
			if name := c.byWord[string(f.text[w.start:w.end])].at(f.text, w.start, wanted); name != "" {
				return name
			}
		}
		return ""
	}
	return c.walk(f.text, other, wanted)
}

// walk is find in a folded text, with names that begin with no letter or digit.
func (c *Check) walk(text []byte, other *group, wanted func(needle) bool) string {
	for i := 0; i < len(text); {
		end := wordEndBytes(text, i)
		if end > i && c.begins[text[i]]&lengthBit(end-i) != 0 {
			if name := c.byWord[string(text[i:end])].at(text, i, wanted); name != "" {
				return name
			}
		}
		if name := other.at(text, i, wanted); name != "" {
			return name
		}
		switch {
		case text[i] == '\\' && len(text) >= i+4 && text[i+1] == 'x' && hex(text[i+2]) && hex(text[i+3]):
			i += 4
		case end > i:
			i = end
		case text[i] < utf8.RuneSelf:
			i++
		default:
			_, size := utf8.DecodeRune(text[i:])
			i += size
		}
	}
	return ""
}

var foldings = sync.Pool{New: func() any { return new(folding) }}

// folding is a text as names are looked for in it.
type folding struct {
	// text is folded, with public domains blanked out.
	text []byte
	// whole says that words are all at which a name may begin: those of the
	// lengths that were asked for.
	whole bool
	words []struct{ start, end int }
}

// at returns a wanted name of the group that stands at text[i:], which is the
// start of a word or no part of one.
func (g *group) at(text []byte, i int, wanted func(needle) bool) string {
	if g == nil {
		return ""
	}
	for _, length := range g.lengths {
		end := i + length
		if end > len(text) {
			break
		}
		for _, n := range g.byText[string(text[i:end])] {
			if n.stands(text, i, end) && wanted(n) {
				return n.real
			}
		}
	}
	return ""
}

// stands reports whether text[i:end], which folds to the name, is no part of a
// word, and alone when the name is brief.
func (n needle) stands(text []byte, i, end int) bool {
	if n.brief {
		const around = "/\"'`"
		return (i == 0 || strings.IndexByte(around, text[i-1]) >= 0) &&
			(end == len(text) || strings.IndexByte(around, text[end]) >= 0)
	}
	return wordEndBytes(text, end) == end
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

// wordEndBytes is wordEnd.
func wordEndBytes(text []byte, i int) int {
	for i < len(text) {
		if b := text[i]; b < utf8.RuneSelf {
			if !wordByte[b] {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += size
	}
	return i
}

// wordByte are the letters and digits of ASCII, foldByte is fold for ASCII.
var wordByte, foldByte = func() (word [256]bool, folded [256]byte) {
	for b := range utf8.RuneSelf {
		word[b] = unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))
		folded[b] = byte(fold(rune(b)))
	}
	return word, folded
}()

// fold makes a text of s and finds the words of it that may begin a name: begins
// says, for a first byte, of which lengths. Only a text of ASCII alone is whole.
func (f *folding) fold(s string, begins *[256]uint64) {
	out := slices.Grow(f.text[:0], len(s))[:len(s)]
	f.whole, f.words = true, f.words[:0]
	var every byte
	for i := range out {
		every |= s[i]
		out[i] = foldByte[s[i]]
	}
	if every >= utf8.RuneSelf {
		f.text, f.whole = append(out[:0], foldString(maskDomains(s))...), false
		return
	}
	f.text = out
	for i := 0; i < len(out); {
		end := i
		for end < len(out) && wordByte[out[end]] {
			end++
		}
		if end == i {
			if out[i] == '\\' && len(out) >= i+4 && out[i+1] == 'x' && hex(out[i+2]) && hex(out[i+3]) {
				i += 3
			}
			i++
			continue
		}
		if domainLengths[out[i]]&(1<<min(end-i, 31)) != 0 {
			if d := domainAt(s, i, end); d > 0 {
				for j := i; j < i+d; j++ {
					out[j] = '\x01'
				}
				i += d
				continue
			}
		}
		if begins[out[i]]&lengthBit(end-i) != 0 {
			f.words = append(f.words, struct{ start, end int }{i, end})
		}
		i = end
	}
}

// domainsByWord holds public domains by their first word, domainLengths, by its
// first byte, how long it can be, as bits.
var domainsByWord, domainLengths = func() (map[string][]string, [utf8.RuneSelf]uint32) {
	byWord, lengths := map[string][]string{}, [utf8.RuneSelf]uint32{}
	for _, d := range publicDomains {
		word := d[:wordEnd(d, 0)]
		byWord[word] = append(byWord[word], d)
		lengths[d[0]] |= 1 << min(len(word), 31)
	}
	return byWord, lengths
}()

// domainAt returns the length of a public domain that is a word of its own at
// s[i:], which is ASCII and whose first word ends at end; 0 for none.
func domainAt(s string, i, end int) int {
	for _, d := range domainsByWord[strings.ToLower(s[i:end])] {
		if len(s)-i >= len(d) && strings.EqualFold(s[i:i+len(d)], d) && !wordRuneAfter(s[i+len(d):]) {
			return len(d)
		}
	}
	return 0
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

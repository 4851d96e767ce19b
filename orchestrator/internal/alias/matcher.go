package alias

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// matcher finds names in text, the longest first. It is a tree over folded
// runes: letters in lower case, separators alike.
//
// Its cost grows with the text, not with the number of names: only where a word
// starts that begins as some name does, the tree is walked, at most as deep as
// the longest name.
type matcher struct {
	root node
	// begins holds the bytes with which text that is a name can begin; all
	// beyond ASCII when some name begins there.
	begins [256]bool
}

// node has few edges nearly always, so they stand in a list.
type node struct {
	edges []edge
	// pairs end here; more than one when names differ in case or separators.
	pairs []pair
}

// edge leads on with a folded rune.
type edge struct {
	rune rune
	node *node
}

// next returns the node that r leads to, nil for none.
func (n *node) next(r rune) *node {
	if len(n.edges) > 8 {
		if i, ok := slices.BinarySearchFunc(n.edges, r, byRune); ok {
			return n.edges[i].node
		}
		return nil
	}
	for i := range n.edges {
		if n.edges[i].rune == r {
			return n.edges[i].node
		}
	}
	return nil
}

func byRune(e edge, r rune) int { return cmp.Compare(e.rune, r) }

// extend returns the node that r leads to, which it makes when there is none.
func (n *node) extend(r rune) *node {
	i, ok := slices.BinarySearchFunc(n.edges, r, byRune)
	if !ok {
		n.edges = slices.Insert(n.edges, i, edge{r, &node{}})
	}
	return n.edges[i].node
}

func newMatcher(pairs []pair) *matcher {
	m := &matcher{}
	for _, p := range pairs {
		m.add(p)
	}
	for _, d := range publicDomains {
		m.add(pair{real: d, alias: d, keep: true})
	}
	return m
}

func (m *matcher) add(p pair) {
	if p.real == "" {
		return
	}
	m.begin(p.real)
	n := &m.root
	for _, r := range p.real {
		n = n.extend(fold(r))
	}
	n.pairs = append(n.pairs, p)
}

// begin notes with which bytes text that folds to the name can begin.
func (m *matcher) begin(name string) {
	first, _ := utf8.DecodeRuneInString(name)
	first = fold(first)
	for b := range utf8.RuneSelf {
		m.begins[b] = m.begins[b] || fold(rune(b)) == first
	}
	// Some runes beyond ASCII fold into it, such as the sign for kelvin.
	for b := utf8.RuneSelf; b < len(m.begins); b++ {
		m.begins[b] = true
	}
}

// fold makes runes equal that do not tell names apart.
func fold(r rune) rune {
	switch r {
	case '_', '.', ' ':
		return '-'
	}
	return unicode.ToLower(r)
}

// replace returns s with every name replaced.
func (m *matcher) replace(s string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if !m.begins[s[i]] {
			i++
			continue
		}
		p, end, found := m.at(s, i)
		if !found {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		out.WriteString(s[done:i])
		if p.keep {
			out.WriteString(s[i:end])
		} else {
			out.WriteString(p.spelled(s[i:end]))
		}
		i, done = end, end
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// spelled is the alias in the manner of the text that it replaces, so that a
// variable stays one: PROD_EU becomes HUB_1.
func (p pair) spelled(text string) string {
	out := p.alias
	if text == p.real {
		return out
	}
	if strings.Contains(text, "_") || strings.ToUpper(text) == text && strings.ToLower(text) != text {
		out = strings.ReplaceAll(out, "-", "_")
	}
	if strings.ToUpper(text) == text && strings.ToUpper(p.real) != p.real {
		out = strings.ToUpper(out)
	}
	return out
}

// first returns the first real name in s.
func (m *matcher) first(s string) (string, bool) {
	for i := 0; i < len(s); {
		if !m.begins[s[i]] {
			i++
			continue
		}
		p, end, found := m.at(s, i)
		if found && !p.keep {
			return p.real, true
		}
		if !found {
			_, size := utf8.DecodeRuneInString(s[i:])
			end = i + size
		}
		i = end
	}
	return "", false
}

func (m *matcher) has(s string) bool {
	_, found := m.first(s)
	return found
}

// at returns the longest name that starts at s[i:] and where it ends.
func (m *matcher) at(s string, i int) (best pair, end int, found bool) {
	m.each(s, i, func(p pair, j int) { best, end, found = p, j, true })
	return best, end, found
}

// each calls f with every name that starts at s[i:] and where it ends, the
// shortest first, one of those that fold alike.
func (m *matcher) each(s string, i int, f func(p pair, end int)) {
	if !boundaryBefore(s, i) {
		return
	}
	n := &m.root
	for j := i; j < len(s); {
		r, size := rune(0), 1
		if b := s[j]; b < utf8.RuneSelf {
			r = rune(foldByte[b])
		} else {
			r, size = utf8.DecodeRuneInString(s[j:])
			r = fold(r)
		}
		if n = n.next(r); n == nil {
			return
		}
		j += size
		if len(n.pairs) == 0 || !boundaryAfter(s, j) {
			continue
		}
		if p, ok := pick(n.pairs, s, i, j); ok {
			f(p, j)
		}
	}
}

// pick chooses among names that fold to s[i:j]: the one that is written exactly
// so, else the first. A domain must be written with its dots, a brief name must
// stand alone.
func pick(pairs []pair, s string, i, j int) (pair, bool) {
	var first *pair
	for k := range pairs {
		p := &pairs[k]
		if p.keep && !strings.EqualFold(p.real, s[i:j]) || brief(p.real) && !alone(s, i, j) {
			continue
		}
		if p.real == s[i:j] {
			return *p, true
		}
		if first == nil {
			first = p
		}
	}
	if first == nil {
		return pair{}, false
	}
	return *first, true
}

// brief reports whether a name is so short, or a mere number, that it stands in
// texts and versions by chance. It is then replaced only where it stands alone.
func brief(name string) bool {
	digits := true
	for _, r := range name {
		digits = digits && unicode.IsDigit(r)
	}
	return digits || utf8.RuneCountInString(name) < 3
}

// alone reports whether s[i:j] is a whole string, a whole path element or
// quoted.
func alone(s string, i, j int) bool {
	return (i == 0 || strings.IndexByte("/\"'`", s[i-1]) >= 0) &&
		(j == len(s) || strings.IndexByte("/\"'`", s[j]) >= 0)
}

// boundaryBefore reports whether a name may start at s[i]: the rune before is
// no letter and no digit, or it ends the escape \xNN of a byte that is not
// UTF-8.
func boundaryBefore(s string, i int) bool {
	if i == 0 {
		return true
	}
	if b := s[i-1]; b < utf8.RuneSelf && !wordByte[b] {
		return true
	}
	if i >= 4 && s[i-4] == '\\' && s[i-3] == 'x' && hex(s[i-2]) && hex(s[i-1]) {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

func boundaryAfter(s string, j int) bool {
	if j == len(s) {
		return true
	}
	if b := s[j]; b < utf8.RuneSelf {
		return !wordByte[b]
	}
	r, _ := utf8.DecodeRuneInString(s[j:])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

func hex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

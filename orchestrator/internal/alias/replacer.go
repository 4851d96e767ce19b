package alias

// Replacer replaces names. It remembers what it replaced, since paths and names
// come again and again. It is not safe for concurrent use.
type Replacer struct {
	matcher *matcher
	known   map[string]string
}

// Most strings that Replacer remembers.
const remembered = 1 << 16

// Replacer returns a replacer for the mapping.
func (m Mapping) Replacer() *Replacer {
	return &Replacer{matcher: newMatcher(m.pairs()), known: map[string]string{}}
}

// Replace returns s without real names.
func (r *Replacer) Replace(s string) string {
	if out, ok := r.known[s]; ok {
		return out
	}
	out := s
	// An alias may, with the text around it, spell another name.
	for range 8 {
		next := r.matcher.replace(out)
		if next == out {
			break
		}
		out = next
	}
	if len(r.known) >= remembered {
		clear(r.known)
	}
	r.known[s] = out
	return out
}

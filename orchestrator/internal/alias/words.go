package alias

import (
	"maps"
	"slices"
	"strings"
)

// prefixes are what default aliases begin with: the roles of names, then the
// words that stand in when a role is itself a real name.
var prefixes = []string{"hub", "spoke", "cluster", "repository", "owner", "git-host", "kubeconfig", "domain", "name", "site", "place", "alias"}

// Words are the words of a repository that an alias could be mistaken for: where
// a folder is really called hub-1, clusters/hub-1 must not also stand for
// clusters/prod-eu. It keeps only texts in which an alias that is known before
// the census, or one that could be chosen by default, stands; so memory grows
// with these, not with the repository. It is not safe for concurrent use.
type Words struct {
	// aliases finds these and what default ones begin with, names the real
	// names of the former.
	aliases, names *matcher
	seen           map[string]struct{}
	// texts are by the alias that stands in them, folded.
	texts map[string]map[string]struct{}
	// used are the real names that stand somewhere.
	used map[string]bool
}

// NewWords returns words without a text, for a census whose aliases are given by
// the configuration or were chosen before.
func NewWords(given, before Mapping) *Words {
	w := &Words{
		aliases: &matcher{}, names: &matcher{},
		seen: map[string]struct{}{}, texts: map[string]map[string]struct{}{}, used: map[string]bool{},
	}
	for _, p := range slices.Concat(given.pairs(), before.pairs()) {
		w.aliases.add(pair{real: p.alias})
		w.names.add(p)
	}
	for _, prefix := range prefixes {
		w.aliases.add(pair{real: prefix})
	}
	return w
}

// Note takes a text that stands in the repository: an element of a path, a
// namespace, a name.
func (w *Words) Note(text string) {
	if _, ok := w.seen[text]; ok {
		return
	}
	if len(w.seen) >= remembered {
		clear(w.seen)
	}
	w.seen[text] = struct{}{}
	for i := range text {
		if w.names.begins[text[i]] {
			w.names.each(text, i, func(p pair, _ int) { w.used[p.real] = true })
		}
		if w.aliases.begins[text[i]] {
			w.aliases.each(text, i, func(p pair, end int) {
				w.keep(p.real, text)
				if n := number(text[end:]); n > 0 {
					w.keep(text[i:end+n], text)
				}
			})
		}
	}
}

// number returns how many bytes of text are a separator and a number of at most
// six digits that ends a word; 0 for none. Default aliases end in these, and no
// more of them are ever tried.
func number(text string) int {
	if text == "" || fold(rune(text[0])) != '-' {
		return 0
	}
	n := 1
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	if n == 1 || n > 7 || !boundaryAfter(text, n) {
		return 0
	}
	return n
}

func (w *Words) keep(alias, text string) {
	key := foldString(alias)
	if w.texts[key] == nil {
		w.texts[key] = map[string]struct{}{}
	}
	w.texts[key][strings.Clone(text)] = struct{}{}
}

// text returns a text in which the alias stands other than as a part of a name
// that real replaces; "" for none. The first one in order is returned.
func (w *Words) text(alias string, real *matcher) string {
	if w == nil || len(w.texts[foldString(alias)]) == 0 {
		return ""
	}
	wanted := &matcher{}
	wanted.add(pair{real: alias})
	for _, text := range slices.Sorted(maps.Keys(w.texts[foldString(alias)])) {
		if wanted.has(real.replace(text)) {
			return text
		}
	}
	return ""
}

// blank is a mapping's matcher that leaves nothing of a name.
func (m Mapping) blank() *matcher {
	pairs := m.pairs()
	for i := range pairs {
		pairs[i].alias = "\x01"
	}
	return newMatcher(pairs)
}

package alias

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
)

// Name is an entry of a mapping.
type Name struct {
	// Kind is "cluster", "repository" or "word".
	Kind        string
	Real, Alias string
}

// Names lists the mapping: clusters, parts of the repository's address, words,
// each sorted by real name.
func (m Mapping) Names() []Name {
	var out []Name
	for i, p := range m.pairs() {
		kind := "word"
		switch {
		case i < len(m.Clusters):
			kind = "cluster"
		case i < len(m.Clusters)+len(m.Repository):
			kind = "repository"
		}
		out = append(out, Name{kind, p.real, p.alias})
	}
	return out
}

// Alias returns the alias of a real name, "" for none.
func (m Mapping) Alias(real string) string {
	for _, p := range m.pairs() {
		if p.real == real {
			return p.alias
		}
	}
	return ""
}

// Open reads a mapping file that has to be there and to hold a name.
func Open(name string) (Mapping, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return Mapping{}, fmt.Errorf("there is no alias file %s: a census writes one beside its report, unless it was asked for --names real", name)
	}
	m, err := Load(name)
	if err == nil && len(m.pairs()) == 0 {
		err = fmt.Errorf("%s: the alias file holds no name", name)
	}
	return m, err
}

// Rename returns m with another alias in place of one. The error does not repeat
// real names.
func (m Mapping) Rename(from, to string) (Mapping, error) {
	out := m.Over(Mapping{})
	real, found := "", false
	for _, part := range []map[string]string{out.Clusters, out.Repository, out.Words} {
		for name, alias := range part {
			if alias == from {
				part[name], real, found = to, name, true
			} else if strings.EqualFold(alias, to) {
				return Mapping{}, fmt.Errorf("%q is the alias of another name already: reach alias list shows all", to)
			}
		}
	}
	if !found {
		return Mapping{}, fmt.Errorf("no name has the alias %q: reach alias list shows all", from)
	}
	if newMatcher(m.pairs()).has(to) {
		return Mapping{}, errors.New("the new alias gives a real name away: choose another one")
	}
	if err := out.validate(); err != nil {
		return Mapping{}, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), fmt.Sprintf("%q", real), "this name"))
	}
	return out, nil
}

// Over returns m with the entries of n added where m has none for a name.
func (m Mapping) Over(n Mapping) Mapping {
	merge := func(a, b map[string]string) map[string]string {
		out := maps.Clone(b)
		if out == nil {
			out = map[string]string{}
		}
		maps.Copy(out, a)
		return out
	}
	return Mapping{
		Clusters:   merge(m.Clusters, n.Clusters),
		Repository: merge(m.Repository, n.Repository),
		Words:      merge(m.Words, n.Words),
	}
}

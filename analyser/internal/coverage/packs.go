package coverage

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/object"
)

//go:embed packs.txt
var packsText string

// Pack is a named set of kinds.
type Pack struct {
	Name, Title string
	// Handled reports that the census analyses the kinds of the pack.
	Handled bool
}

// Packs says which pack a kind belongs to.
type Packs struct {
	all      []Pack
	kinds    map[object.GroupKind]int
	groups   map[string]int
	suffixes []suffix
}

type suffix struct {
	text string
	pack int
}

// Other is the pack of the kinds that no pack names.
var Other = Pack{Name: "other", Title: "Kinds that no pack names"}

// DefaultPacks are the packs that come with the program.
func DefaultPacks() (*Packs, error) { return ParsePacks(packsText) }

// ParsePacks reads packs in the format that packs.txt explains.
func ParsePacks(text string) (*Packs, error) {
	p := &Packs{kinds: map[object.GroupKind]int{}, groups: map[string]int{}}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if word == "pack" {
			f := strings.Fields(rest)
			if len(f) < 3 || f[1] != "handled" && f[1] != "seen" {
				return nil, fmt.Errorf("packs line %d: want: pack NAME handled|seen TITLE", n+1)
			}
			p.all = append(p.all, Pack{Name: f[0], Handled: f[1] == "handled", Title: strings.Join(f[2:], " ")})
			continue
		}
		if len(p.all) == 0 || rest == "" {
			return nil, fmt.Errorf("packs line %d: %q stands in no pack or names nothing", n+1, line)
		}
		pack := len(p.all) - 1
		switch word {
		case "group":
			if rest == "core" {
				rest = ""
			}
			p.groups[rest] = pack
		case "suffix":
			p.suffixes = append(p.suffixes, suffix{rest, pack})
		case "kind":
			kind, group, _ := strings.Cut(rest, ".")
			p.kinds[object.GroupKind{Group: group, Kind: kind}] = pack
		default:
			return nil, fmt.Errorf("packs line %d: %q is none of pack, group, suffix, kind", n+1, word)
		}
	}
	return p, nil
}

// Of is the pack of a kind; Other when none names it.
func (p *Packs) Of(k object.GroupKind) Pack {
	if i, ok := p.kinds[k]; ok {
		return p.all[i]
	}
	if i, ok := p.groups[k.Group]; ok {
		return p.all[i]
	}
	best, length := -1, 0
	for _, s := range p.suffixes {
		if len(s.text) > length && strings.HasSuffix(k.Group, s.text) {
			best, length = s.pack, len(s.text)
		}
	}
	if best >= 0 {
		return p.all[best]
	}
	return Other
}

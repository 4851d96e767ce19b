package symbols

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Callers are the functions that call one directly, sorted. What calls it as a
// value is not seen.
func (b *Binary) Callers(name string) []string {
	c := b.code
	if c == nil || c.machine == nil {
		return nil
	}
	targets, out := map[uint64]bool{}, map[string]bool{}
	for _, e := range c.entries(name) {
		targets[e] = true
	}
	c.machine.references(c.text, c.base, targets, func(at, target uint64) {
		f, ok := c.at(at)
		if !ok || f.name == name {
			return
		}
		r, err := c.decode(f)
		if err != nil {
			return
		}
		if i := r.instructions[r.find(at)]; i.flow == call && i.target == target {
			out[f.name] = true
		}
	})
	return slices.Sorted(maps.Keys(out))
}

// Packages are the import paths of the packages of which a function is in the
// binary, sorted.
func (b *Binary) Packages() []string {
	out := map[string]bool{}
	for _, f := range b.Functions {
		if p := packageOf(f); p != "" {
			out[p] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// packageOf is the import path in the name of a function, "" for what the
// linker and assembly name without one. The last element of a path has its
// dots escaped.
func packageOf(function string) string {
	if strings.HasPrefix(function, "type:") || strings.HasPrefix(function, "go:") {
		return ""
	}
	name, _, _ := strings.Cut(function, "[") // type arguments
	slash := strings.LastIndex(name, "/") + 1
	if i := strings.Index(name, ".("); i >= 0 && i < slash {
		slash = strings.LastIndex(name[:i], "/") + 1
	}
	dot := strings.Index(name[slash:], ".")
	if dot <= 0 {
		return ""
	}
	path, err := url.PathUnescape(name[:slash+dot])
	if err != nil {
		return name[:slash+dot]
	}
	return path
}

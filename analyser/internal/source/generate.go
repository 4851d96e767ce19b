package source

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Generate is the artifact that an ArtifactGenerator makes for one entry of
// spec.artifacts, that is, the content of the ExternalArtifact of its name
// (upstream: source-watcher internal/builder). sources are the generator's
// sources by alias. The results are those of View.
func Generate(a controller.GeneratedArtifact, sources map[string]controller.SourceRef, other Other) (*controller.View, *controller.Problem) {
	g := &generator{views: map[string]*controller.View{}, sources: sources, other: other}
	g.tree = newTree(func(e snapshot.Entry) ([]byte, error) { return g.read(e) })
	g.readers = map[string]*snapshot.Snapshot{}
	for _, c := range a.Copy {
		g.at = c.Pos
		if err := g.copy(c); err != nil {
			if err.Pos == 0 {
				err.Pos = c.Pos
			}
			return nil, err
		}
	}
	if err := g.tree.archive(archiveRules(nil)); err != nil {
		return nil, err
	}
	for _, alias := range slices.Sorted(keys(g.views)) {
		for _, e := range g.views[alias].Entries() {
			if _, ok := g.tree.excluded[e.Origin]; !ok {
				g.tree.excluded[e.Origin] = controller.Exclusion{Reason: "not_copied", Pos: a.Pos}
			}
		}
	}
	v, err := g.tree.view()
	if err != nil {
		return nil, err
	}
	return v, g.uncertain
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// generator stages one artifact.
type generator struct {
	tree      *tree
	sources   map[string]controller.SourceRef
	views     map[string]*controller.View
	readers   map[string]*snapshot.Snapshot // by path in the artifact
	other     Other
	at        position.Pos // of the copy operation
	uncertain *controller.Problem
}

func (g *generator) read(e snapshot.Entry) ([]byte, error) {
	if s := g.readers[e.Path]; s != nil {
		return s.ReadEntry(e)
	}
	return nil, fmt.Errorf("%s is not in the artifact", e.Path)
}

func problem(code, format string, args ...any) *controller.Problem {
	return &controller.Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

// view is the artifact behind an alias; nil when it is not known, which is
// then recorded for the destination.
func (g *generator) view(alias, dest string) (*controller.View, *controller.Problem) {
	if v, ok := g.views[alias]; ok {
		return v, nil
	}
	ref, ok := g.sources[alias]
	if !ok {
		return nil, problem("bad_copy", "the source alias %q is not declared", alias)
	}
	v, p := g.other(ref)
	if v == nil {
		if p == nil {
			p = problem("source_unknown", "the artifact of %s is not known", ref)
		}
		g.unknown(dest, problem("source_unknown", "files come from %s, whose content is not known: %s", ref, p.Message))
		return nil, nil
	}
	if p != nil && g.uncertain == nil {
		g.uncertain = p
	}
	g.views[alias] = v
	return v, nil
}

func (g *generator) unknown(dest string, p *controller.Problem) {
	if p.Pos == 0 {
		located := *p
		located.Pos = g.at
		p = &located
	}
	g.tree.addUnknown(clean(dest), p)
	if g.uncertain == nil {
		g.uncertain = p
	}
}

// copy applies one copy operation with the semantics of cp.
func (g *generator) copy(c controller.Copy) *controller.Problem {
	alias, pattern, ok := strings.Cut(strings.TrimPrefix(c.From, "@"), "/")
	if !ok || !strings.HasPrefix(c.From, "@") {
		return problem("bad_copy", "%q is not of the form @alias/pattern", c.From)
	}
	dest, ok := strings.CutPrefix(c.To, "@artifact/")
	if !ok || dest != "" && !local(dest) {
		return problem("bad_copy", "%q is not a path below @artifact/", c.To)
	}
	for _, x := range append([]string{pattern}, c.Exclude...) {
		if alternatives(x) > 20 {
			return problem("bad_copy", "a pattern has more than 20 alternatives")
		}
	}
	for _, x := range c.Exclude {
		if !doublestar.ValidatePattern(x) {
			return problem("bad_copy", "the exclude pattern %q is malformed", x)
		}
	}
	v, err := g.view(alias, dest)
	if v == nil {
		return err
	}
	if !strings.ContainsAny(pattern, "*?[]") {
		return g.one(c, v, path.Clean(pattern), dest)
	}
	return g.glob(c, v, pattern, dest)
}

// local reports a relative path that stays below its root and has no "..".
func local(p string) bool {
	return !strings.HasPrefix(p, "/") && !slices.Contains(strings.Split(p, "/"), "..")
}

// alternatives counts the commas inside {} groups.
func alternatives(pattern string) (commas int) {
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth = max(depth-1, 0)
		case ',':
			if depth > 0 {
				commas++
			}
		}
	}
	return commas
}

// one copies a file or a directory that is named without a pattern.
func (g *generator) one(c controller.Copy, v *controller.View, from, dest string) *controller.Problem {
	if from == "." {
		from = ""
	}
	if p := isUnknown(v.Unknown, from); p != nil {
		g.unknown(dest, p)
		return nil
	}
	_, isFile := v.Lookup(from)
	switch {
	case !local(from) && from != "" || !isFile && !v.IsDir(from):
		if c.Optional && local(from) {
			return nil
		}
		return problem("copy_missing", "%s has no %q", c.From, from)
	case !isFile && c.Strategy == "Extract":
		return problem("bad_copy", "%q is a directory, which cannot be extracted", from)
	case !isFile:
		// cp -r: the directory itself arrives below the destination. The root
		// has no name of its own.
		return g.place(c, v, from, path.Join(dest, path.Base("./"+from)), from)
	case excluded(from, "", c.Exclude):
		return nil
	case c.Strategy == "Extract":
		if !tarball(from) {
			return problem("bad_copy", "%q is no .tar.gz or .tgz", from)
		}
		g.unknown(dest, problem("archive_content", "the content of %s is extracted here", from))
		return nil
	}
	if strings.HasSuffix(c.To, "/") || clean(dest) == "" || g.tree.dirs[clean(dest)] {
		dest = path.Join(dest, path.Base(from))
	}
	return g.place(c, v, from, dest, "")
}

// glob copies what a pattern matches, each match with its whole path, or
// without the directory of a pattern that ends in "/**".
func (g *generator) glob(c controller.Copy, v *controller.View, pattern, dest string) *controller.Problem {
	if len(v.Unknown) > 0 {
		g.unknown(dest, v.Unknown[0].Problem)
	}
	matches, err := matching(v, pattern, c.Strategy == "Extract")
	if err != nil {
		return problem("bad_copy", "the pattern %q is malformed", pattern)
	}
	base := literalRoot(pattern)
	some := false
	for _, m := range matches {
		if excluded(m, base, c.Exclude) {
			continue
		}
		some = true
		if c.Strategy == "Extract" {
			if tarball(m) {
				g.unknown(dest, problem("archive_content", "the content of %s is extracted here", m))
			}
			continue
		}
		to := m
		if prefix, ok := strings.CutSuffix(pattern, "/**"); ok {
			to = strings.TrimPrefix(m, prefix+"/")
		}
		if err := g.place(c, v, m, path.Join(dest, to), base); err != nil {
			return err
		}
	}
	if !some && !c.Optional && len(v.Unknown) == 0 {
		return problem("copy_missing", "nothing matches %s", c.From)
	}
	return nil
}

// matching lists the files and directories that a pattern matches: with
// doublestar for archives, else one pattern per path element.
func matching(v *controller.View, pattern string, deep bool) ([]string, error) {
	match := path.Match
	if deep {
		match = doublestar.Match
	}
	if _, err := match(pattern, ""); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, e := range v.Entries() {
		for p := e.Path; p != "." && !seen[p]; p = path.Dir(p) {
			seen[p] = true
			if ok, err := match(pattern, p); err != nil {
				return nil, err
			} else if ok {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// literalRoot is the directory before the first element with a pattern.
func literalRoot(pattern string) string {
	var parts []string
	for _, p := range strings.Split(path.Clean(pattern), "/") {
		if strings.ContainsAny(p, "*?[]") {
			break
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, "/")
}

// excluded matches exclude patterns against the path in the source, the path
// below the selected directory and, for patterns without a slash, the name.
func excluded(p, base string, patterns []string) bool {
	rel := p
	if base != "" {
		if r, ok := strings.CutPrefix(p, base+"/"); ok {
			rel = r
		}
	}
	for _, x := range patterns {
		if doublestar.MatchUnvalidated(x, p) || rel != p && doublestar.MatchUnvalidated(x, rel) ||
			!strings.Contains(x, "/") && doublestar.MatchUnvalidated(x, path.Base(p)) {
			return true
		}
	}
	return false
}

func tarball(p string) bool { return strings.HasSuffix(p, ".tar.gz") || strings.HasSuffix(p, ".tgz") }

// place copies a file, or a directory with all that is in it, to a path of the
// artifact.
func (g *generator) place(c controller.Copy, v *controller.View, from, to, base string) *controller.Problem {
	to = clean(to)
	if e, ok := v.Lookup(from); ok {
		return g.file(c, v, e, to)
	}
	if _, ok := g.tree.files[to]; ok {
		return problem("copy_conflict", "%q is a file, and a directory is copied there", to)
	}
	g.tree.mkdir(to)
	var skipped []string
	for _, e := range v.Below(from) {
		rel := strings.TrimPrefix(strings.TrimPrefix(e.Path, from), "/")
		if slices.ContainsFunc(skipped, func(d string) bool { return strings.HasPrefix(e.Path, d+"/") }) {
			continue
		}
		if d := excludedDir(from, e.Path, base, c.Exclude); d != "" {
			skipped = append(skipped, d)
			continue
		}
		if excluded(e.Path, base, c.Exclude) {
			continue
		}
		if err := g.file(c, v, e, clean(to+"/"+rel)); err != nil {
			return err
		}
	}
	for _, u := range v.Unknown {
		if u.Path == from || from == "" || strings.HasPrefix(u.Path, from+"/") {
			g.unknown(to+"/"+strings.TrimPrefix(strings.TrimPrefix(u.Path, from), "/"), u.Problem)
		}
	}
	return nil
}

// excludedDir is the first directory between a copied directory and a file in
// it that is excluded, with everything below it; "" when none is.
func excludedDir(from, p, base string, patterns []string) string {
	for i := len(from) + 1; i < len(p); i++ {
		if p[i] == '/' && excluded(p[:i], base, patterns) {
			return p[:i]
		}
	}
	return ""
}

func (g *generator) file(c controller.Copy, v *controller.View, e snapshot.Entry, to string) *controller.Problem {
	if to == "" || g.tree.dirs[to] {
		return problem("copy_conflict", "%q is a directory, and a file is copied there", to)
	}
	for d := path.Dir(to); d != "."; d = path.Dir(d) {
		if _, ok := g.tree.files[d]; ok {
			return problem("copy_conflict", "%q is a file, and another is copied below it", d)
		}
	}
	if old, ok := g.tree.files[to]; ok {
		g.tree.exclude(to, controller.Exclusion{Reason: "replaced", Pos: c.Pos})
		if c.Strategy == "Merge" {
			g.unknown(to, problem("merged_content", "%s is merged into %s, which makes a file that is not in the repository", e.Origin, old.Origin))
			delete(g.readers, to)
			return nil
		}
	}
	g.tree.unknown = slices.DeleteFunc(g.tree.unknown, func(u controller.UnknownPart) bool { return u.Path == to })
	e.Path = to
	g.tree.put(e)
	g.readers[to] = v.Snapshot
	return nil
}

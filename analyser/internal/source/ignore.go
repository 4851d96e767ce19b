package source

import (
	"bufio"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// rule is a pattern that knows where it comes from.
type rule struct {
	pattern gitignore.Pattern
	from    controller.Exclusion
	// name says that the pattern is compared with every element of a path by
	// itself, dirOnly that it is for directories, inclusion that it starts with
	// "!".
	name, dirOnly, inclusion bool
}

// rules in the order of ascending priority.
type rules []rule

// matcher decides with rules. The last pattern that matches decides (upstream:
// gitignore's matcher). Most patterns are a name, which is compared with every
// element of a path, and paths are made of few names: what matches a name is
// found out once. It is safe for concurrent use.
type matcher struct {
	rules rules
	// names are the indices of the rules that are a name, others the rest.
	names, others []int
	// matched are, by name, those of names that match it, in order.
	matched sync.Map // string -> []int
	// known counts them: some matchers outlive a census.
	known atomic.Int64
}

// maxKnown bounds the names of which a matcher knows what matches them.
const maxKnown = 100_000

func newMatcher(rs rules) *matcher {
	m := &matcher{rules: rs}
	for i, r := range rs {
		if r.name {
			m.names = append(m.names, i)
		} else {
			m.others = append(m.others, i)
		}
	}
	return m
}

// excludes returns the pattern that leaves a path out; nil when none does.
func (m *matcher) excludes(p string, isDir bool) *rule {
	last := -1
	for rest := p; rest != ""; {
		name, after, more := strings.Cut(rest, "/")
		for _, i := range m.matching(name) {
			// A pattern for directories decides by the first element that it
			// matches.
			if i > last && (more || isDir || !m.rules[i].dirOnly) {
				last = i
			}
		}
		rest = after
	}
	var path []string
	for _, i := range slices.Backward(m.others) {
		if i < last {
			break
		}
		if path == nil {
			path = strings.Split(p, "/")
		}
		if m.rules[i].pattern.Match(path, isDir) != gitignore.NoMatch {
			last = i
			break
		}
	}
	if last < 0 || m.rules[last].inclusion {
		return nil
	}
	return &m.rules[last]
}

// matching are the rules that match an element of a path.
func (m *matcher) matching(name string) []int {
	if v, ok := m.matched.Load(name); ok {
		return v.([]int)
	}
	var out []int
	for _, i := range m.names {
		if m.rules[i].pattern.Match([]string{name}, true) != gitignore.NoMatch {
			out = append(out, i)
		}
	}
	if m.known.Add(1) <= maxKnown {
		m.matched.Store(strings.Clone(name), out)
	}
	return out
}

// newRule reads a pattern (upstream: gitignore.ParsePattern).
func newRule(text string, domain []string, from controller.Exclusion) rule {
	r := rule{pattern: gitignore.ParsePattern(text, domain), from: from}
	r.inclusion = strings.HasPrefix(text, "!")
	if !strings.HasSuffix(text, "\\ ") {
		text = strings.TrimRight(text, " ")
	}
	text, r.dirOnly = strings.CutSuffix(text, "/")
	r.name = len(domain) == 0 && !strings.Contains(text, "/")
	return r
}

// readRules reads patterns as sourceignore.ReadPatterns does: comments start
// in the first column, and what follows a line that is too long is not read.
// where says where line n, counted from 1, stands.
func readRules(text string, domain []string, where func(n int) controller.Exclusion) rules {
	var out rules
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		s := scanner.Text()
		if strings.HasPrefix(s, "#") || strings.TrimSpace(s) == "" {
			continue
		}
		from := where(n)
		from.Pattern = s
		out = append(out, newRule(s, domain, from))
	}
	return out
}

// fixed makes rules of a comma-separated list.
func fixed(reason, list string) rules {
	var out rules
	for _, s := range strings.Split(list, ",") {
		out = append(out, newRule(s, nil, controller.Exclusion{Reason: reason, Pattern: s}))
	}
	return out
}

// vcsRules are excluded from every archive, defaultRules only from one without
// any pattern of its own (upstream: fluxcd/pkg/artifact/storage
// SourceIgnoreFilter), pushRules from what `flux push artifact` pushes.
func vcsRules() rules { return fixed("vcs", sourceignore.ExcludeVCS) }

func defaultRules() rules {
	return fixed("default", strings.Join([]string{
		sourceignore.ExcludeExt, sourceignore.ExcludeCI, sourceignore.ExcludeExtra,
	}, ","))
}

var pushRules = sync.OnceValue(func() *matcher {
	return newMatcher(fixed("push", sourceignore.ExcludeVCS+","+sourceignore.ExcludeExt))
})

// archiveRules are what decides for an archive with the given patterns.
func archiveRules(own rules) *matcher {
	if len(own) == 0 {
		return plainRules()
	}
	return newMatcher(slices.Concat(vcsRules(), own))
}

var plainRules = sync.OnceValue(func() *matcher {
	return newMatcher(slices.Concat(vcsRules(), defaultRules()))
})

// specRules are the patterns of spec.ignore.
func specRules(src controller.Source) rules {
	if !src.IgnoreSet {
		return nil
	}
	return readRules(src.Ignore, nil, func(n int) controller.Exclusion {
		e := controller.Exclusion{Reason: "spec.ignore", Pos: src.IgnorePos}
		if e.Pos != 0 {
			e.Pos += position.Pos(n - 1)
		}
		return e
	})
}

// fileRules are the patterns of all .sourceignore files of a tree, each scoped
// to its directory, in the order in which sourceignore.LoadIgnorePatterns walks:
// a directory before what is in it, names in ascending order.
func (t *tree) fileRules() (rules, *controller.Problem) {
	type file struct {
		dir   []string
		entry snapshot.Entry
	}
	var files []file
	for p, e := range t.files {
		dir, name := splitPath(p)
		if name != sourceignore.IgnoreFile || slices.Contains(dir, ".git") {
			continue
		}
		files = append(files, file{dir, e})
	}
	slices.SortFunc(files, func(a, b file) int { return slices.Compare(a.dir, b.dir) })
	var out rules
	for _, f := range files {
		content, origin, problem := t.ignoreFile(f.entry)
		if problem != nil {
			return nil, problem
		}
		out = append(out, readRules(content, f.dir, func(n int) controller.Exclusion {
			return controller.Exclusion{Reason: "sourceignore", File: origin, Line: n}
		})...)
	}
	return out, nil
}

// ignoreFile reads a .sourceignore. The controller opens it in a checkout, so
// that a symbolic link is followed.
func (t *tree) ignoreFile(e snapshot.Entry) (content, origin string, _ *controller.Problem) {
	if e.Mode == snapshot.Symlink {
		target, ok, inside := t.follow(e.Path)
		if !inside {
			return "", "", &controller.Problem{
				Code:    "ignore_unreadable",
				Message: e.Origin + " is a symbolic link that leads out of the repository",
			}
		}
		if !ok {
			return "", "", nil // a dangling link counts as no file
		}
		e = target
	}
	if !e.IsFile() {
		return "", "", nil
	}
	b, err := t.read(e)
	if err != nil {
		return "", "", &controller.Problem{Code: "ignore_unreadable", Message: e.Origin + " cannot be read: " + err.Error()}
	}
	return string(b), e.Origin, nil
}

// splitPath splits a path into the elements of its directory and its name.
func splitPath(p string) (dir []string, name string) {
	parts := strings.Split(p, "/")
	return parts[:len(parts)-1], parts[len(parts)-1]
}

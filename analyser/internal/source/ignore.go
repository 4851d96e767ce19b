package source

import (
	"bufio"
	"slices"
	"strings"

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
}

// rules in the order of ascending priority.
type rules []rule

// excludes returns the pattern that leaves a path out; nil when none does. The
// last pattern that matches decides (upstream: gitignore's matcher).
func (rs rules) excludes(path []string, isDir bool) *rule {
	for i := len(rs) - 1; i >= 0; i-- {
		switch rs[i].pattern.Match(path, isDir) {
		case gitignore.Exclude:
			return &rs[i]
		case gitignore.Include:
			return nil
		}
	}
	return nil
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
		out = append(out, rule{gitignore.ParsePattern(s, domain), from})
	}
	return out
}

// fixed makes rules of a comma-separated list.
func fixed(reason, list string) rules {
	var out rules
	for _, s := range strings.Split(list, ",") {
		out = append(out, rule{gitignore.ParsePattern(s, nil), controller.Exclusion{Reason: reason, Pattern: s}})
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

func pushRules() rules {
	return fixed("push", sourceignore.ExcludeVCS+","+sourceignore.ExcludeExt)
}

// archiveRules are what decides for an archive with the given patterns.
func archiveRules(own rules) rules {
	if len(own) == 0 {
		return slices.Concat(vcsRules(), defaultRules())
	}
	return slices.Concat(vcsRules(), own)
}

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

package imports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Deps is the committed list of what the analyser's closure holds. It is a
// text of groups:
//
//	module github.com/go-git/go-git/v5
//	  reason: decodes git's objects and packs
//	  github.com/go-git/go-git/v5/plumbing
//
//	std os/exec by github.com/google/gnostic-models
//	  reason: nothing calls it, so the linker drops it
//	  path: sigs.k8s.io/kustomize/kyaml/yaml > ... > os/exec
//	  github.com/google/gnostic-models/compiler
//
// A module group holds the packages of one module that the closure reaches. A
// std group holds the packages of one module that import a standard library
// package with a capability directly. Members that not every build reaches are
// followed by the builds that do: "[linux]", "[arm64]", "[linux/amd64 plain]". Everything but
// the reasons is generated.
type Deps struct {
	// Groups are sorted by their title, modules first.
	Groups []Group

	graphs []*Graph // what Closure was made of
}

// Group is a title with its reason and members.
type Group struct {
	// Title is "module M" or "std P by M".
	Title  string
	Reason string
	// Path is a way from a foreign package that ours import to the
	// capability, separated by " > "; empty for modules and where our own
	// packages import it.
	Path string
	// Members are lines: a package, and the builds if not all reach it.
	Members []string
}

// byStd is the importer of std packages that only other std packages import.
const byStd = "std"

// Closure makes the list of what some closures, one per build, hold. Reasons
// are empty.
func Closure(rules *Rules, graphs []*Graph) *Deps {
	c := &closure{rules: rules, graphs: graphs, members: map[string]map[string][]Build{}, paths: map[string]string{}}
	for _, g := range graphs {
		c.add(g)
	}
	d := &Deps{graphs: graphs}
	for title, members := range c.members {
		group := Group{Title: title, Path: c.paths[title]}
		for m, builds := range members {
			group.Members = append(group.Members, m+suffix(builds, graphs))
		}
		slices.Sort(group.Members)
		d.Groups = append(d.Groups, group)
	}
	slices.SortFunc(d.Groups, func(a, b Group) int { return strings.Compare(a.Title, b.Title) })
	return d
}

// suffix names the builds that reach a member: nothing when all do, a
// platform when all of that platform do.
func suffix(builds []Build, graphs []*Graph) string {
	if len(builds) == len(graphs) {
		return ""
	}
	for _, class := range []func(Build) string{
		func(b Build) string { return b.GOOS },
		func(b Build) string { return b.GOARCH },
		func(b Build) string { return b.String() },
	} {
		first, all := class(builds[0]), 0
		for _, g := range graphs {
			if class(g.Build) == first {
				all++
			}
		}
		same := !slices.ContainsFunc(builds, func(b Build) bool { return class(b) != first })
		if same && all == len(builds) {
			return " [" + first + "]"
		}
	}
	names := make([]string, len(builds))
	for i, b := range builds {
		names[i] = b.String()
	}
	return " [" + strings.Join(names, ", ") + "]"
}

// holds reports whether a path can be walked in any build and ends where
// another one does.
func (d *Deps) holds(path, like string) bool {
	way := strings.Split(path, " > ")
	if way[len(way)-1] != like[strings.LastIndex(like, " ")+1:] {
		return false
	}
	return slices.ContainsFunc(d.graphs, func(g *Graph) bool {
		for i := range way {
			p := g.Packages[way[i]]
			if p == nil || i+1 < len(way) && !slices.Contains(p.Imports, way[i+1]) {
				return false
			}
		}
		return true
	})
}

type closure struct {
	rules   *Rules
	graphs  []*Graph
	members map[string]map[string][]Build
	paths   map[string]string
}

func (c *closure) add(g *Graph) {
	var foreign []string // packages that our own import directly
	importers := map[string][]string{}
	for _, path := range g.Sorted() {
		p := g.Packages[path]
		if !p.Std() && p.Module != g.Module {
			c.member("module "+p.Module, path, g.Build)
		}
		for _, i := range p.Imports {
			importers[i] = append(importers[i], path)
			if p.Module == g.Module && g.Packages[i].Module != g.Module && !g.Packages[i].Std() {
				foreign = append(foreign, i)
			}
		}
	}
	from := g.reach(foreign, func(path string) bool { return !g.Packages[path].Std() })
	for _, path := range g.Sorted() {
		if _, can := c.rules.capability(path); can && g.Packages[path].Std() {
			c.capability(g, path, importers[path], from)
		}
	}
}

func (c *closure) capability(g *Graph, path string, importers []string, from map[string]string) {
	outside := slices.DeleteFunc(slices.Clone(importers), func(i string) bool { return g.Packages[i].Std() })
	for _, i := range outside {
		module := g.Packages[i].Module
		title := "std " + path + " by " + module
		c.member(title, i, g.Build)
		if _, have := c.paths[title]; !have && module != g.Module {
			c.paths[title] = strings.Join(append(trail(from, i), path), " > ")
		}
	}
	if len(outside) > 0 {
		return
	}
	for _, i := range importers {
		c.member("std "+path+" by "+byStd, i, g.Build)
	}
}

func (c *closure) member(title, member string, b Build) {
	if c.members[title] == nil {
		c.members[title] = map[string][]Build{}
	}
	c.members[title][member] = append(c.members[title][member], b)
}

// Compare returns what is wrong with the committed list, given the real one.
func (d *Deps) Compare(real *Deps) []Violation {
	var vs []Violation
	committed := map[string]Group{}
	for _, g := range d.Groups {
		committed[g.Title] = g
	}
	for _, r := range real.Groups {
		g, listed := committed[r.Title]
		delete(committed, r.Title)
		if !listed {
			vs = append(vs, Violation{NotListed, r.Title, "the whole group is new: " + strings.Join(r.Members, ", ") + "; if it is meant to be there, run with -update and write its reason", strings.Split(r.Path, " > ")})
			continue
		}
		for _, m := range r.Members {
			if !slices.Contains(g.Members, m) {
				vs = append(vs, Violation{Rule: NotListed, Subject: r.Title, Why: m + " is new; if the group's reason holds for it too, run with -update"})
			}
		}
		for _, m := range g.Members {
			if !slices.Contains(r.Members, m) {
				vs = append(vs, Violation{Rule: NotReached, Subject: r.Title, Why: m + " is listed but not reached; run with -update"})
			}
		}
		if (g.Path == "") != (r.Path == "") || r.Path != "" && !real.holds(g.Path, r.Path) {
			vs = append(vs, Violation{Rule: NotReached, Subject: r.Title, Why: "the path is now " + r.Path + "; run with -update"})
		}
	}
	for _, g := range d.Groups {
		if _, left := committed[g.Title]; left {
			vs = append(vs, Violation{Rule: NotReached, Subject: g.Title, Why: "the group is listed but not reached; run with -update"})
		}
	}
	return append(vs, d.reasonless()...)
}

func (d *Deps) reasonless() []Violation {
	var vs []Violation
	for _, g := range d.Groups {
		if g.Reason == "" {
			vs = append(vs, Violation{Rule: ReasonMissing, Subject: g.Title, Why: "write why it is needed and why it is harmless"})
		}
	}
	return vs
}

// Update returns the real list with the reasons of the committed one, and
// those of its paths that still lead to where they did.
func (d *Deps) Update(real *Deps) *Deps {
	committed := map[string]Group{}
	for _, g := range d.Groups {
		committed[g.Title] = g
	}
	updated := &Deps{Groups: slices.Clone(real.Groups)}
	for i := range updated.Groups {
		g := &updated.Groups[i]
		old := committed[g.Title]
		g.Reason = old.Reason
		if g.Path != "" && real.holds(old.Path, g.Path) {
			g.Path = old.Path
		}
	}
	return updated
}

const header = `# What the import closure of the analyser holds, and why. See firewall/policy/policy.txt
# for what it must never hold.
#
# Everything but the reasons is generated: go run ./firewall -update
# A new group has no reason and is a violation until somebody writes one.
`

// Write writes the list in its committed form.
func (d *Deps) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(header)
	for _, g := range d.Groups {
		fmt.Fprintf(&b, "\n%s\n  reason: %s\n", g.Title, g.Reason)
		if g.Path != "" {
			fmt.Fprintf(&b, "  path: %s\n", g.Path)
		}
		for _, m := range g.Members {
			fmt.Fprintf(&b, "  %s\n", m)
		}
	}
	_, err := io.WriteString(w, trimRight(b.String()))
	return err
}

func trimRight(s string) string { return strings.ReplaceAll(s, "reason: \n", "reason:\n") }

// ParseDeps reads a committed list.
func ParseDeps(file string, r io.Reader) (*Deps, error) {
	d := &Deps{}
	seen := map[string]bool{}
	scan := bufio.NewScanner(r)
	for number := 1; scan.Scan(); number++ {
		line := scan.Text()
		text := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, " ")
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case !indented && seen[text]:
			return nil, fmt.Errorf("%s:%d: the group %s occurs twice", file, number, text)
		case !indented:
			seen[text] = true
			d.Groups = append(d.Groups, Group{Title: text})
		case len(d.Groups) == 0:
			return nil, fmt.Errorf("%s:%d: %s is in no group", file, number, text)
		default:
			g := &d.Groups[len(d.Groups)-1]
			if reason, ok := strings.CutPrefix(text, "reason:"); ok {
				g.Reason = strings.TrimSpace(reason)
			} else if path, ok := strings.CutPrefix(text, "path:"); ok {
				g.Path = strings.TrimSpace(path)
			} else {
				g.Members = append(g.Members, text)
			}
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return d, nil
}

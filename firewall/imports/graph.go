// Package imports is the first wall of the seal: what the analyser's source
// code can reach by import.
//
// It loads the import closure of the analyser for each platform, convicts
// packages that the policy bans and direct imports that our own packages may
// not have, and compares the closure with a committed list in which every
// module, and every standard library package with a capability, has a reason.
//
// What it cannot see: whether code that is imported is ever called (the linked
// binary answers that, package symbols), and what a linkname directive tells the
// linker (which needs unsafe, listed as a capability).
package imports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Build is one way in which the analyser is built; its closure depends on it.
type Build struct {
	GOOS, GOARCH string
	// Tags is the build tags, comma separated.
	Tags string
}

// String is the platform, followed by " plain" when there are no tags.
func (b Build) String() string {
	if b.Tags == "" {
		return b.GOOS + "/" + b.GOARCH + " plain"
	}
	return b.GOOS + "/" + b.GOARCH
}

// Tags are the build tags of the sealed analyser.
const Tags = "grpcnotrace"

// Builds are those that the firewall looks at: the sealed analyser on every
// platform, and what a plain `go build ./analyser` makes.
var Builds = []Build{
	{"linux", "amd64", Tags},
	{"linux", "arm64", Tags},
	{"darwin", "amd64", Tags},
	{"darwin", "arm64", Tags},
	{"linux", "amd64", ""},
}

// Package is a node of the import graph.
type Package struct {
	Path string
	// Module is the path of the module that it belongs to; empty in the
	// standard library.
	Module string
	// Imports are the paths imported directly, sorted.
	Imports []string
	// Foreign are source files in other languages: assembly, C, objects.
	Foreign []string
}

// Std reports whether the package belongs to the standard library.
func (p *Package) Std() bool { return p.Module == "" }

// Graph is the import closure of some roots.
type Graph struct {
	Build Build
	// Module is the path of the module that the roots belong to.
	Module string
	// Roots are the packages named by the patterns, sorted.
	Roots    []string
	Packages map[string]*Package
}

// Load returns the closure of patterns, which the go command resolves in
// directory dir. Nothing is compiled. A package anywhere in the closure that
// does not load is an error: a closure with a hole proves nothing.
func Load(ctx context.Context, dir string, b Build, patterns ...string) (*Graph, error) {
	config := &packages.Config{
		Context: ctx,
		Dir:     dir,
		Mode:    packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedFiles,
		// The closure must depend on the source alone, not on the
		// habits of the person who looks at it.
		Env: append(os.Environ(), "GOOS="+b.GOOS, "GOARCH="+b.GOARCH, "CGO_ENABLED=0",
			"GOFLAGS=-mod=readonly", "GOWORK=off", "GOPACKAGESDRIVER=off", "GOEXPERIMENT="),
		BuildFlags: []string{"-tags=" + b.Tags},
	}
	roots, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %s for %s: %w", strings.Join(patterns, " "), b, err)
	}
	g := &Graph{Build: b, Packages: map[string]*Package{}}
	var failed []error
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			failed = append(failed, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
		g.add(p)
	})
	for _, p := range roots {
		g.Roots = append(g.Roots, p.PkgPath)
		if p.Module != nil {
			g.Module = p.Module.Path
		}
	}
	slices.Sort(g.Roots)
	if len(failed) > 0 {
		return nil, fmt.Errorf("loading for %s: %w", b, errors.Join(failed...))
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("loading for %s: no package matches %s", b, strings.Join(patterns, " "))
	}
	return g, nil
}

func (g *Graph) add(p *packages.Package) {
	n := &Package{Path: p.PkgPath}
	if p.Module != nil {
		n.Module = p.Module.Path
	}
	for _, i := range p.Imports {
		n.Imports = append(n.Imports, i.PkgPath)
	}
	slices.Sort(n.Imports)
	for _, f := range p.OtherFiles {
		n.Foreign = append(n.Foreign, f[strings.LastIndex(f, "/")+1:])
	}
	g.Packages[n.Path] = n
}

// From returns the part of the graph that some of its packages reach.
func (g *Graph) From(roots ...string) *Graph {
	sub := &Graph{Build: g.Build, Module: g.Module, Roots: slices.Sorted(slices.Values(roots)), Packages: map[string]*Package{}}
	for path := range g.reach(roots, func(string) bool { return true }) {
		sub.Packages[path] = g.Packages[path]
	}
	return sub
}

// Sorted returns the paths of all packages in order.
func (g *Graph) Sorted() []string { return slices.Sorted(maps.Keys(g.Packages)) }

// reach walks breadth first and returns, for every package reached, the
// package that it was first reached from ("" for a root). It does not look at
// the imports of a package for which descend is false.
func (g *Graph) reach(roots []string, descend func(path string) bool) map[string]string {
	from := map[string]string{}
	var queue []string
	for _, r := range roots {
		if _, seen := from[r]; !seen && g.Packages[r] != nil {
			from[r] = ""
			queue = append(queue, r)
		}
	}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if !descend(path) {
			continue
		}
		for _, i := range g.Packages[path].Imports {
			if _, seen := from[i]; !seen && g.Packages[i] != nil {
				from[i] = path
				queue = append(queue, i)
			}
		}
	}
	return from
}

// trail returns the way to a package, from a root on.
func trail(from map[string]string, to string) []string {
	var way []string
	for p := to; p != ""; p = from[p] {
		way = append(way, p)
	}
	slices.Reverse(way)
	return way
}

package census

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// EachGolden runs a test for each golden census, or with -short for some, with its
// number, its files and the roots that its flags declare.
func EachGolden(t *testing.T, f func(t *testing.T, i int, files map[string]string, roots []placement.Root)) {
	t.Helper()
	archives, err := filepath.Glob("../../../testdata/census/*.txtar")
	if err != nil || len(archives) < 50 {
		t.Fatalf("%d golden censuses, %v", len(archives), err)
	}
	for i, file := range archives {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if testing.Short() && i%10 != 0 && name != "acme-platform" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			var roots []placement.Root
			for _, part := range a.Files {
				if p, ok := strings.CutPrefix(part.Name, "repo/"); ok {
					files[p] = string(part.Data)
				}
				if part.Name != "flags" {
					continue
				}
				for _, m := range rootFlag.FindAllStringSubmatch(string(part.Data), -1) {
					roots = append(roots, placement.Root{Cluster: cluster.Name(m[1]), Path: m[2]})
				}
			}
			f(t, i, files, roots)
		})
	}
}

var rootFlag = regexp.MustCompile(`(?m)^--root ([^=\s]+)=(\S+)$`)

// Write writes out a census, so that two of them can be compared.
func Write(c *Census) string {
	var b strings.Builder
	at := func(p position.Pos) position.Position { return c.Positions.Position(p) }
	for _, r := range c.Roots {
		fmt.Fprintln(&b, "root", r.Cluster, r.Path, r.Namespace, r.Name, r.DeclaredBy, at(r.Declared))
	}
	for _, x := range c.Clusters {
		fmt.Fprintln(&b, "cluster", x.Name, x.References, x.Controllers, x.Evidence, x.RunsFlux, x.StrictSubstitution)
	}
	for _, a := range c.Applied {
		fmt.Fprintln(&b, "sync", a.Cluster, a.Target, a.Controller(), a.Path, a.Directory, a.State, a.Reason, a.Detail, at(a.Pos), a.Trace(c.Positions))
		for _, r := range a.Releases {
			fmt.Fprintln(&b, "release", r.Cluster, r.Target, r.Class, r.State, r.Reason, r.Detail, r.Trace(c.Positions))
		}
		for _, o := range a.Objects {
			fmt.Fprintln(&b, "built", o.Ref, o.Written, at(o.Origin))
			for _, s := range o.Steps {
				fmt.Fprintln(&b, "step", s.Kind, at(s.Pos))
			}
			tree := o.Tree.Open()
			content(&b, c, tree, tree.Node, "")
		}
	}
	for _, p := range c.Placements {
		fmt.Fprintln(&b, "placement", p.Path, p.Role, p.Class, p.Cluster, p.ControllerCluster, p.Controller, p.State, p.Reason, p.Detail, p.Trace(c.Positions))
	}
	for _, o := range c.Objects {
		fmt.Fprintln(&b, "object", o.Ref, o.Class, o.Applied.Controller(), at(o.Object.Origin))
	}
	for _, f := range c.Files {
		fmt.Fprintln(&b, "file", f.Path, f.Role, f.Analysis, f.Reason, f.Detail, f.Placements, f.Root)
	}
	for _, f := range c.Findings {
		fmt.Fprintf(&b, "finding %+v\n", f)
	}
	for _, n := range c.Notes {
		fmt.Fprintln(&b, "note", n)
	}
	fmt.Fprintln(&b, c.Rows, c.Packs, c.Proposals, c.NotConsidered, c.FilesInCommit, c.BytesRead, c.OriginURL)
	return b.String()
}

// content writes the scalars of an object, and where each is written.
func content(b *strings.Builder, c *Census, o *packed.Content, n *yaml.Node, path string) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode {
		fmt.Fprintf(b, "%s: %s %q %v %q\n", path, n.Tag, n.Value, c.Positions.Position(position.Pos(n.Line)), o.Unknown[n])
	}
	for i, child := range n.Content {
		if key := child.Value; n.Kind == yaml.MappingNode {
			if i%2 == 1 {
				key = n.Content[i-1].Value
			}
			content(b, c, o, child, path+"."+key)
			continue
		}
		content(b, c, o, child, fmt.Sprint(path, ".", i))
	}
}

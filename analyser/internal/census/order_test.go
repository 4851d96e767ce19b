package census

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestReadingOrder takes each golden census with its files read backwards and in
// random orders before anything else is done. Files are read by all processors, so
// that any order may happen, and positions are numbered in that order: a choice or
// a sort by their numbers shows here, and by chance only in TestAnyOrder.
func TestReadingOrder(t *testing.T) {
	archives, err := filepath.Glob("../../../testdata/census/*.txtar")
	if err != nil || len(archives) < 50 {
		t.Fatalf("%d golden censuses, %v", len(archives), err)
	}
	built := 0
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
			snap := snapshot.FromTxtar(a, "repo/")
			var roots []placement.Root
			for _, f := range a.Files {
				for _, m := range rootFlag.FindAllStringSubmatch(string(f.Data), -1) {
					if f.Name == "flags" {
						roots = append(roots, placement.Root{Cluster: cluster.Name(m[1]), Path: m[2]})
					}
				}
			}
			random := rand.New(rand.NewPCG(11, uint64(i)))
			var first string
			for round := range 4 {
				entries := slices.Clone(snap.Entries())
				switch round {
				case 0:
				case 1:
					slices.Reverse(entries)
				default:
					random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
				}
				got := inOrder(t, snap, roots, entries)
				if round == 0 {
					first = got
					built += strings.Count(got, "\nbuilt ")
				}
				if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Fatalf("round %d: -first +now:\n%s", round, diff)
				}
			}
		})
	}
	if built < 100 {
		t.Errorf("only %d objects were built", built)
	}
}

var rootFlag = regexp.MustCompile(`(?m)^--root ([^=\s]+)=(\S+)$`)

// inOrder takes a census of which the manifests are read in an order, and writes
// it out.
func inOrder(t *testing.T, snap *snapshot.Snapshot, roots []placement.Root, order []snapshot.Entry) string {
	t.Helper()
	w := newWorklist(t.Context(), snap, &Request{Roots: roots, Engines: []controller.Engine{flux.Engine()}})
	for _, e := range order {
		if e.IsFile() && isManifest(e.Path) {
			if _, err := w.docs.Read(snap, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := w.take()
	if err != nil {
		t.Fatal(err)
	}
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
			fmt.Fprintln(&b, "built", o.Ref, at(o.Origin))
			for _, s := range o.Steps {
				fmt.Fprintln(&b, "step", s.Kind, at(s.Pos))
			}
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
	fmt.Fprintln(&b, c.Rows, c.Proposals)
	return b.String()
}

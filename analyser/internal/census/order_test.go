package census

import (
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
				for _, m := range RootFlag.FindAllStringSubmatch(string(f.Data), -1) {
					if f.Name == "flags" {
						roots = append(roots, FlaggedRoot(m))
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

// RootFlag finds the roots in the flags of a golden census.
var RootFlag = regexp.MustCompile(`(?m)^--root ([^=\s]+)=(\S+)$`)

// FlaggedRoot is a root that RootFlag found.
func FlaggedRoot(m []string) placement.Root {
	return placement.Root{Cluster: cluster.Name(m[1]), Path: m[2]}
}

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
	return Write(c)
}

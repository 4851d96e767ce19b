package census

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	built := 0
	EachGolden(t, func(t *testing.T, i int, files map[string]string, roots []placement.Root) {
		snap := snapshot.FromMap(files)
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
	if built < 100 {
		t.Errorf("only %d objects were built", built)
	}
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

package census

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestOpenAnew takes golden censuses with every look at a packed tree opening another
// copy, as if the collector ran between any two: whoever looks for a node of one copy
// among those of another finds nothing.
func TestOpenAnew(t *testing.T) {
	archives, err := filepath.Glob("../../../testdata/census/*.txtar")
	if err != nil || len(archives) < 50 {
		t.Fatalf("%d golden censuses, %v", len(archives), err)
	}
	for i, file := range archives {
		if testing.Short() && i%10 != 0 {
			continue
		}
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var roots []placement.Root
		for _, f := range a.Files {
			for _, m := range RootFlag.FindAllStringSubmatch(string(f.Data), -1) {
				if f.Name == "flags" {
					roots = append(roots, FlaggedRoot(m))
				}
			}
		}
		take := func() string {
			c, err := Take(t.Context(), snapshot.FromTxtar(a, "repo/"), Request{Engines: []controller.Engine{flux.Engine()}, Roots: roots})
			if err != nil {
				return err.Error()
			}
			return Write(c)
		}
		want := take()
		packed.OpenAnew(true)
		got := take()
		packed.OpenAnew(false)
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s: another census when trees are opened anew:\n%s", filepath.Base(file), diff)
		}
	}
}

package census

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	EachGolden(t, func(t *testing.T, _ int, files map[string]string, roots []placement.Root) {
		take := func() string {
			c, err := Take(t.Context(), snapshot.FromMap(files), Request{Engines: []controller.Engine{flux.Engine()}, Roots: roots})
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
			t.Errorf("another census when trees are opened anew:\n%s", diff)
		}
	})
}

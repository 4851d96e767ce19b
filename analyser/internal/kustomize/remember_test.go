package kustomize

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// marker is that of a file in an archive within an archive.
var marker = regexp.MustCompile(`(?m)^== (\S+) ==$`)

// TestOver builds in one snapshot and then in another one, which a Builder takes over
// from the first what is the same there. An archive has the files before/ and after/;
// its comment is the directory that is built, and whether the whole build is taken.
func TestOver(t *testing.T) {
	archives, err := txtar.ParseFile("testdata/over/cases.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archives.Files {
		a := txtar.Parse(marker.ReplaceAll(f.Data, []byte("-- $1 --")))
		dir, rest, _ := strings.Cut(strings.TrimSpace(string(a.Comment)), " ")
		t.Run(f.Name, func(t *testing.T) {
			docs := document.NewReader(&position.Set{}, document.Limits{})
			target := Target{Dir: dir, Flux: &Overlay{}}
			before, after := snapshot.FromTxtar(a, "before/"), snapshot.FromTxtar(a, "after/")
			first := NewBuilderWith(before, docs, Options{Remember: true})
			old := first.Build(target)
			over := first.Over(after, func() {})
			got := over.Build(target)
			if taken, want := got == old, rest == "taken"; taken != want {
				t.Errorf("taken over: %t, not %t", taken, want)
			}
			alone := NewBuilder(after, docs).Build(target)
			if diff := cmp.Diff(whole(alone, docs.Positions(), true), whole(got, docs.Positions(), true)); diff != "" {
				t.Errorf("-alone +over:\n%s", diff)
			}
			if over.Settle(); over.before != nil {
				t.Error("the first builder is held")
			}
			// And back again, from what was taken over.
			back := over.Over(before, func() {}).Build(target)
			if diff := cmp.Diff(whole(old, docs.Positions(), true), whole(back, docs.Positions(), true)); diff != "" {
				t.Errorf("-first +back:\n%s", diff)
			}
		})
	}
}

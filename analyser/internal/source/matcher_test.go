package source

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

// TestMatcherDecidesAsUpstream compares the matcher with gitignore's on random
// patterns and paths of few words.
func TestMatcherDecidesAsUpstream(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b", "ab", "a.go", "*", "a*", "*.go", "[ab]", "[", "**", "?", `\a`, "a ", `a\ `}
	names := []string{"a", "b", "ab", "a.go", "c", "a ", "."}
	join := func(from []string, n int) string {
		var parts []string
		for range 1 + r.IntN(n) {
			parts = append(parts, from[r.IntN(len(from))])
		}
		return strings.Join(parts, "/")
	}
	excluded := 0
	for range 20_000 {
		var ours rules
		var theirs []gitignore.Pattern
		for range r.IntN(5) {
			p := []string{"", "!", "/"}[r.IntN(3)] + join(words, 2) + []string{"", "/", " "}[r.IntN(3)]
			var domain []string
			if r.IntN(4) == 0 {
				domain = []string{"a"}
			}
			ours = append(ours, newRule(p, domain, controller.Exclusion{Pattern: p}))
			theirs = append(theirs, gitignore.ParsePattern(p, domain))
		}
		m, want := newMatcher(ours), gitignore.NewMatcher(theirs)
		for range 10 {
			path, isDir := join(names, 3), r.IntN(2) == 0
			got := m.excludes(path, isDir) != nil
			if got != want.Match(strings.Split(path, "/"), isDir) {
				t.Fatalf("%q (directory: %t) with %+v: excluded %t", path, isDir, ours, got)
			}
			if got {
				excluded++
			}
		}
	}
	if excluded < 1000 {
		t.Errorf("only %d paths were excluded", excluded)
	}
}

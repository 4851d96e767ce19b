package source

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// FuzzReadRules: the same patterns as sourceignore reads.
func FuzzReadRules(f *testing.F) {
	for _, s := range []string{"a\n#b\n\n !c\n", "a\r\nb", " #x", "\xff\n" + strings.Repeat("x", 70000) + "\ny", "a\\ \nb "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		domain := []string{"d"}
		want := sourceignore.ReadPatterns(strings.NewReader(text), domain)
		got := readRules(text, domain, func(int) controller.Exclusion { return controller.Exclusion{} })
		if len(got) != len(want) {
			t.Fatalf("%d patterns, want %d", len(got), len(want))
		}
		for i := range got {
			if !reflect.DeepEqual(got[i].pattern, want[i]) {
				t.Fatalf("pattern %d differs", i)
			}
		}
	})
}

// TestArchiveAgreesWithUpstream compares views of random trees with what the
// controller's own functions keep of the same trees on disk.
func TestArchiveAgreesWithUpstream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "apps", ".github", "x.yaml", "y.png", ".sops.yaml", "deploy", "docs", ".gitignore", "z.tmp"}
	patterns := []string{"*.yaml", "/a", "!a", "apps/", "!/deploy", "/*", "**/x.yaml", "a/**", "# no", "", "b/*.tmp", "!*.png", "docs/**/a", "[ab]", "a/b", "*.sops*", "[", "**"}
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	kept := 0
	for round := range 150 {
		files := map[string]string{}
		for range 2 + rng.IntN(12) {
			parts := make([]string, 1+rng.IntN(4))
			for i := range parts {
				parts[i] = pick(names)
			}
			files[strings.Join(parts, "/")] = "x"
		}
		for range rng.IntN(3) {
			var text strings.Builder
			for range 1 + rng.IntN(3) {
				fmt.Fprintln(&text, pick(patterns))
			}
			files[strings.TrimPrefix(strings.Repeat("apps/", rng.IntN(2))+".sourceignore", "/")] = text.String()
		}
		for p := range files { // a path cannot be a file and a directory
			for q := range files {
				if strings.HasPrefix(q, p+"/") {
					delete(files, p)
				}
			}
		}
		src := controller.Source{Object: object.Ref{Kind: "GitRepository"}}
		if rng.IntN(3) == 0 {
			src.IgnoreSet, src.Ignore = true, pick(patterns)+"\n"+pick(patterns)
		}
		v, p := View(snapshot.FromMap(files), src, "", nil)
		if p != nil {
			t.Fatal(p.Message)
		}
		want := upstream(t, files, src)
		for p := range files {
			_, got := v.Lookup(p)
			if got != want[p] {
				t.Errorf("round %d: %s kept: %v, upstream %v\n%v\n%q", round, p, got, want[p], files, src.Ignore)
			}
			if _, why := v.Excluded[p]; why == got {
				t.Errorf("round %d: %s kept: %v, and excluded: %v", round, p, got, why)
			}
			if got {
				kept++
			}
		}
		for d := range want {
			if strings.HasSuffix(d, "/") && !v.IsDir(strings.TrimSuffix(d, "/")) {
				t.Errorf("round %d: the directory %s is missing", round, d)
			}
		}
	}
	if kept < 200 {
		t.Errorf("only %d files were kept in all rounds: the test shows nothing", kept)
	}
}

// upstream is what is archived, directories with a slash at the end: the
// filter is that of fluxcd/pkg/artifact/storage SourceIgnoreFilter.
func upstream(t *testing.T, files map[string]string, src controller.Source) map[string]bool {
	dir := t.TempDir()
	for p, c := range files {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(c), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	domain := strings.Split(dir, "/")
	ps, err := sourceignore.LoadIgnorePatterns(dir, domain)
	if err != nil {
		t.Fatal(err)
	}
	if src.IgnoreSet {
		ps = append(ps, sourceignore.ReadPatterns(strings.NewReader(src.Ignore), domain)...)
	}
	var m gitignore.Matcher = sourceignore.NewDefaultMatcher(ps, domain)
	if len(ps) > 0 {
		m = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(domain), ps...))
	}
	out := map[string]bool{}
	err = filepath.Walk(dir, func(p string, fi os.FileInfo, err error) error {
		if err == nil && p != dir && !m.Match(strings.Split(p, "/"), fi.IsDir()) {
			rel := p[len(dir)+1:]
			if fi.IsDir() {
				rel += "/"
			}
			out[rel] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// One pattern list and one view serve all sources that differ in nothing.
func TestViewsAreShared(t *testing.T) {
	vs := NewViews(snapshot.FromMap(map[string]string{"a.yaml": "x", "b.yaml": "y"}))
	src := controller.Source{Object: object.Ref{Kind: "GitRepository", Name: "one"}, Pos: 1}
	one, _ := vs.View(src, "", nil)
	src.Object.Name, src.Pos = "two", 2
	if two, _ := vs.View(src, ".", nil); one != two {
		t.Error("two sources without differences have two views")
	}
	src.IgnoreSet, src.Ignore = true, "b.yaml"
	three, _ := vs.View(src, "", nil)
	if one == three || one.Key == three.Key {
		t.Error("an ignore rule makes no difference")
	}
	src.Ignore = "b.*"
	if four, _ := vs.View(src, "", nil); four.Key != three.Key {
		t.Error("equal views have different keys")
	}
}

func TestTooManyPatterns(t *testing.T) {
	files := map[string]string{".sourceignore": strings.Repeat("x\n", 200_000)}
	for i := range 2000 {
		files[fmt.Sprintf("d/f%d.yaml", i)] = ""
	}
	if _, p := View(snapshot.FromMap(files), controller.Source{Object: object.Ref{Kind: "GitRepository"}}, "", nil); p == nil || p.Code != "limit" {
		t.Errorf("problem %v, want the limit", p)
	}
}

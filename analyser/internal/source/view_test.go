package source_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

var update = flag.Bool("update", false, "rewrite the expectations of golden files")

// repository is the snapshot of the sections repo/PATH (files), link/PATH
// (symbolic links) and module/PATH (submodules).
func repository(t testing.TB, a *txtar.Archive) *snapshot.Snapshot {
	t.Helper()
	var es []snapshot.Entry
	for _, f := range a.Files {
		kind, p, _ := strings.Cut(f.Name, "/")
		e := snapshot.Entry{Path: p, Blob: string(f.Data)}
		switch kind {
		case "repo":
		case "link":
			e.Mode, e.Blob = snapshot.Symlink, strings.TrimSpace(e.Blob)
		case "module":
			e.Mode = snapshot.Submodule
		default:
			continue
		}
		es = append(es, e)
	}
	s, err := snapshot.New(es, func(e snapshot.Entry) ([]byte, error) { return []byte(e.Blob), nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestView makes the view of every source in sources.yaml. Sources whose URL
// holds "elsewhere" are other repositories; a comment line "subdirectory: X"
// is the root of all artifacts.
func TestView(t *testing.T) {
	files, _ := filepath.Glob("testdata/view/*.txtar")
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sub := ""
			for line := range strings.Lines(string(a.Comment)) {
				if s, ok := strings.CutPrefix(line, "subdirectory: "); ok {
					sub = strings.TrimSpace(s)
				}
			}
			got := describe(t, a, sub)
			for i, f := range a.Files {
				if f.Name != "want" {
					continue
				}
				if *update {
					a.Files[i].Data = []byte(got)
					if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				return
			}
			t.Error("the case has no section want")
		})
	}
}

func describe(t *testing.T, a *txtar.Archive, sub string) string {
	docs := document.NewReader(&position.Set{}, document.Limits{})
	all := snapshot.FromTxtar(a, "")
	e, ok := all.Lookup("sources.yaml")
	if !ok {
		t.Fatal("no sources.yaml")
	}
	f, err := docs.Read(all, e)
	if err != nil || f.Err != nil {
		t.Fatal(err, f.Err)
	}
	var order []controller.Source
	byRef := map[controller.SourceRef]controller.Source{}
	for _, d := range f.Documents {
		for _, s := range flux.Engine().Read(&kustomize.Object{Ref: d.Ref, Tree: d.Tree, Origin: d.Pos}).Sources {
			order = append(order, s)
			byRef[controller.SourceRef{Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name}] = s
		}
	}
	views := source.NewViews(repository(t, a))
	var other source.Other
	other = func(ref controller.SourceRef) (*controller.View, *controller.Problem) {
		s, ok := byRef[ref]
		switch {
		case !ok:
			return nil, &controller.Problem{Code: "source_missing", Message: "there is no " + ref.String()}
		case strings.Contains(s.URL, "elsewhere"):
			return nil, &controller.Problem{Code: "external", Message: ref.String() + " is another repository"}
		}
		return views.View(s, sub, other)
	}
	var b strings.Builder
	at := func(p position.Pos) string { return docs.Positions().Position(p).String() }
	for _, s := range order {
		if s.Generator == nil {
			v, p := other(controller.SourceRef{Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name})
			describeView(&b, s.Object.Kind+"/"+s.Object.Name, v, p, at)
			continue
		}
		as, p := source.Artifacts(s.Generator, other)
		if as == nil {
			describeView(&b, s.Object.Kind+"/"+s.Object.Name, nil, p, at)
		}
		for _, g := range as {
			v, p := source.Generate(g, s.Generator.Sources, other)
			describeView(&b, "ExternalArtifact/"+g.Name, v, p, at)
		}
	}
	return b.String()
}

func describeView(b *strings.Builder, name string, v *controller.View, p *controller.Problem, at func(position.Pos) string) {
	fmt.Fprintf(b, "%s\n", name)
	if p != nil {
		fmt.Fprintf(b, "  problem %s at %s: %s\n", p.Code, at(p.Pos), p.Message)
	}
	if v == nil {
		return
	}
	for _, e := range v.Entries() {
		if e.Path == e.Origin {
			fmt.Fprintf(b, "  + %s\n", e.Path)
		} else {
			fmt.Fprintf(b, "  + %s <- %s\n", e.Path, e.Origin)
		}
	}
	var walk func(dir string)
	walk = func(dir string) {
		es := v.ReadDir(dir)
		if len(es) == 0 && dir != "" {
			fmt.Fprintf(b, "  + %s/ (empty)\n", dir)
		}
		for _, e := range es {
			if e.Dir {
				walk(strings.TrimPrefix(dir+"/"+e.Name, "/"))
			}
		}
	}
	walk("")
	for _, path := range slices.Sorted(maps.Keys(v.Excluded)) {
		x := v.Excluded[path]
		fmt.Fprintf(b, "  - %s: %s", path, x.Reason)
		if x.Pattern != "" {
			fmt.Fprintf(b, " %q", x.Pattern)
		}
		if x.File != "" {
			fmt.Fprintf(b, " %s:%d", x.File, x.Line)
		}
		if x.Pos != 0 {
			fmt.Fprintf(b, " %s", at(x.Pos))
		}
		b.WriteString("\n")
	}
	for _, u := range v.Unknown {
		fmt.Fprintf(b, "  ? %q: %s\n", u.Path, u.Problem.Code)
	}
}

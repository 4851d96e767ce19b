package kustomize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestGolden builds the targets of the archives in testdata.
//
// An archive holds a claim in prose, a repository below repo/, overlays below
// overlay/ and the file "expect": what the builds yield. Its other file,
// "targets", lists one target a line, "DIR" or "DIR OVERLAY"; without it the
// targets are all kustomization files. Targets without an overlay are also
// compared with krusty.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range a.Files {
		parts[f.Name] = string(f.Data)
	}
	view := snapshot.FromTxtar(a, "repo/")
	b := newBuilder(view)
	targets := strings.Split(strings.TrimSpace(parts["targets"]), "\n")
	if parts["targets"] == "" {
		targets = roots(view)
	}
	var out strings.Builder
	var sum tally
	for _, line := range targets {
		dir, overlay, flux := strings.Cut(line, " ")
		target := Target{Dir: strings.TrimPrefix(dir, ".")}
		if flux {
			target.Flux = &Overlay{}
			if err := yaml.Unmarshal([]byte(parts["overlay/"+overlay+".yaml"]), target.Flux); err != nil {
				t.Fatal(err)
			}
		}
		render(&out, b.docs.Positions(), line, b.Build(target))
		if !flux {
			sum.compare(b, &snapshotFS{view: view}, shown(target.Dir), target, usesSchema(view))
		}
	}
	if sum.bad() {
		t.Errorf("differs from krusty: %v\n%s", &sum, strings.Join(sum.differences, "\n"))
	}
	if *update {
		a.Files = append(a.Files[:len(a.Files):len(a.Files)], txtar.File{})
		kept := a.Files[:0]
		for _, f := range a.Files {
			if f.Name != "expect" && f.Name != "" {
				kept = append(kept, f)
			}
		}
		a.Files = append(kept, txtar.File{Name: "expect", Data: []byte(out.String())})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if parts["expect"] == "" {
		t.Fatal("an archive without an expectation")
	}
	if diff := cmp.Diff(parts["expect"], out.String()); diff != "" {
		t.Errorf("-expected +built:\n%s", diff)
	}
}

// render writes a build for people to check.
func render(w *strings.Builder, set *position.Set, target string, b *Build) {
	at := func(p position.Pos) string { return set.Position(p).String() }
	fmt.Fprintf(w, "target %s\n", target)
	for _, o := range b.Objects {
		fmt.Fprintf(w, "  %s  from %s", o.Ref, at(o.Origin))
		if o.Written.Name != "" && o.Written.Name != o.Ref.Name || o.Written.Namespace != o.Ref.Namespace {
			fmt.Fprintf(w, " (%s)", o.Written)
		}
		if o.UnknownName {
			w.WriteString(" name unknown")
		}
		w.WriteByte('\n')
		for _, s := range o.Steps {
			fmt.Fprintf(w, "    %s %s\n", s.Kind, at(s.Pos))
		}
	}
	for _, u := range b.Uses {
		fmt.Fprintf(w, "  use %s %s %s\n", u.Path, u.Role, at(u.Pos))
	}
	for _, g := range b.Generated {
		fmt.Fprintf(w, "  generated %s\n", shown(g))
	}
	for _, e := range b.External {
		fmt.Fprintf(w, "  external %s %s %s\n", e.Kind, e.URL, at(e.Pos))
	}
	if f := b.Failure; f != nil {
		fmt.Fprintf(w, "  failure %s %s: %s\n", f.Code, at(f.Pos), f.Message)
	}
	if f := b.Unresolved; f != nil {
		fmt.Fprintf(w, "  unresolved %s %s: %s\n", f.Code, at(f.Pos), f.Message)
	}
}

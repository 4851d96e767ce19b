package census

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestSharing takes the census of every golden repository and of the corpus, and
// builds each Sync again alone, with a builder of its own that shares nothing,
// and again traced: objects, origins and what is unknown in them agree.
func TestSharing(t *testing.T) {
	archives, err := filepath.Glob("../../../testdata/census/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no golden censuses: %v", err)
	}
	built := 0
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			built += sharing(t, snapshot.FromTxtar(a, "repo/"))
		})
	}
	if built < 100 {
		t.Errorf("only %d Syncs were built", built)
	}
	dirs, _ := filepath.Glob("../../../../shared/corpus/*__*")
	if len(dirs) == 0 {
		t.Log("SKIPPED: the corpus is not at ../shared/corpus of the repository")
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			t.Run(filepath.Base(dir), func(t *testing.T) { sharing(t, directory(t, dir)) })
		}
	}
}

// directory is a snapshot of the files of a folder.
func directory(t *testing.T, root string) *snapshot.Snapshot {
	t.Helper()
	var entries []snapshot.Entry
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		entries = append(entries, snapshot.Entry{Path: filepath.ToSlash(rel), Blob: p})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.New(entries, func(e snapshot.Entry) ([]byte, error) { return os.ReadFile(e.Blob) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sharing(t *testing.T, s *snapshot.Snapshot) (built int) {
	req := Request{Engines: []controller.Engine{flux.Engine()}}
	w := newWorklist(t.Context(), s, &req)
	if err := w.discover(); err != nil {
		t.Fatal(err)
	}
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	for _, a := range w.applied {
		if a.Result == nil || a.Sync.Problem != nil {
			continue // one with a problem may have been built from what its path could mean
		}
		built++
		view := w.views[a.ViewKey].Snapshot
		alone := w.rebuild(a, kustomize.NewBuilderWith(view, w.docs, kustomize.Options{Unshared: true}))
		if diff := cmp.Diff(everything(w.positions, alone, true), everything(w.positions, a.Result, true)); diff != "" {
			t.Errorf("%s on %s: -alone +shared:\n%s", a.Controller(), a.Cluster, diff)
		}
		traced := w.rebuild(a, kustomize.NewBuilderWith(view, w.docs, kustomize.Options{Trace: true}))
		if diff := cmp.Diff(everything(w.positions, a.Result, false), everything(w.positions, traced, false)); diff != "" {
			t.Errorf("%s on %s: -built +traced:\n%s", a.Controller(), a.Cluster, diff)
		}
		for _, o := range traced.Objects {
			if o.History == nil {
				t.Errorf("%v of %s is not traced", o.Ref, a.Controller())
			}
		}
	}
	return built
}

// everything writes out a result; with lines also the lines of values, and those
// of components and failures, for which a trace knows the line of the Flux object.
func everything(positions *position.Set, r *controller.Result, lines bool) string {
	var b strings.Builder
	at := func(p position.Pos) string { return positions.Position(p).String() }
	for _, o := range r.Objects {
		fmt.Fprintf(&b, "%v %v %s %t %t\n", o.Ref, o.Written, at(o.Origin), o.UnknownName, o.UnknownIdentity)
		for _, s := range o.Steps {
			if b.WriteString(" " + string(s.Kind)); lines {
				b.WriteString(" " + at(s.Pos))
			}
			b.WriteByte('\n')
		}
		content := o.Tree.Open()
		var write func(n *yaml.Node, indent string)
		write = func(n *yaml.Node, indent string) {
			fmt.Fprintf(&b, "%s%d %s %q %q", indent, n.Kind, n.ShortTag(), n.Value, content.Unknown[n])
			if lines {
				b.WriteString(" " + at(position.Pos(n.Line)))
			}
			b.WriteByte('\n')
			for _, c := range n.Content {
				write(c, indent+" ")
			}
		}
		write(content.Node, " ")
	}
	for _, d := range r.Dropped {
		fmt.Fprintf(&b, "dropped %v %s %s\n", d.Object, at(d.Pos), d.Reason)
	}
	for _, u := range append(r.Undeclared[:len(r.Undeclared):len(r.Undeclared)], r.Unknown...) {
		fmt.Fprintf(&b, "variable %s %v %s\n", u.Name, u.Object, at(u.Pos))
	}
	for _, f := range []*kustomize.Failure{r.Failure, r.Unresolved} {
		if f == nil {
			continue
		}
		if fmt.Fprintf(&b, "failure %s %s\n", f.Code, f.Message); lines {
			fmt.Fprintf(&b, " %s\n", at(f.Pos))
		}
	}
	return b.String()
}

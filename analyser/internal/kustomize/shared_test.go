package kustomize

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// whole writes a build with everything that is known about it, the line of each
// value included.
func whole(b *Build, positions *position.Set, lines bool) string {
	var out strings.Builder
	at := func(p position.Pos) string { return positions.Position(p).String() }
	var write func(n *yaml.Node, indent string)
	write = func(n *yaml.Node, indent string) {
		fmt.Fprintf(&out, "%s%d %s %q", indent, n.Kind, n.ShortTag(), n.Value)
		if lines {
			out.WriteString(" " + at(position.Pos(n.Line)))
		}
		out.WriteByte('\n')
		for _, c := range n.Content {
			write(c, indent+" ")
		}
	}
	for _, o := range b.Objects {
		fmt.Fprintf(&out, "%v %v %s %t\n", o.Ref, o.Written, at(o.Origin), o.UnknownName)
		for _, s := range o.Steps {
			fmt.Fprintf(&out, " %s %s\n", s.Kind, at(s.Pos))
		}
		write(o.Node(), " ")
	}
	for _, u := range b.Uses {
		fmt.Fprintf(&out, "use %s %s %s\n", u.Path, u.Role, at(u.Pos))
	}
	for _, e := range b.External {
		fmt.Fprintf(&out, "external %s %s %s\n", e.Kind, e.URL, at(e.Pos))
	}
	for _, f := range []*Failure{b.Failure, b.Unresolved} {
		if f != nil {
			fmt.Fprintf(&out, "failure %s %s %s\n", f.Code, at(f.Pos), f.Message)
		}
	}
	return out.String()
}

// TestSharing builds every target of the corpus and of the archives three times:
// sharing layers and builds, sharing nothing, and traced. The first two agree in
// everything, the third in all but the lines of values that steps computed, which
// only a trace knows.
func TestSharing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	for name, view := range archives(t) {
		t.Run(filepath.Base(name), func(t *testing.T) { sharing(t, view) })
	}
	dirs, _ := filepath.Glob("../../../../shared/corpus/*__*")
	if len(dirs) == 0 {
		t.Log("SKIPPED: the corpus is not at ../shared/corpus of the repository")
	}
	for _, dir := range dirs {
		if strings.HasSuffix(dir, ".special") {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) { sharing(t, load(t, dir)) })
	}
}

func sharing(t *testing.T, view *snapshot.Snapshot) {
	positions := &position.Set{}
	docs := document.NewReader(positions, document.Limits{})
	shared := NewBuilder(view, docs)
	unshared := NewBuilderWith(view, docs, Options{Unshared: true})
	traced := NewBuilderWith(view, docs, Options{Trace: true})
	objects := 0
	for _, dir := range roots(view) {
		for _, target := range []Target{{Dir: strings.TrimPrefix(dir, ".")}, {Dir: strings.TrimPrefix(dir, "."), Flux: &Overlay{TargetNamespace: "elsewhere"}}} {
			first := shared.Build(target)
			objects += len(first.Objects)
			if diff := cmp.Diff(whole(unshared.Build(target), positions, true), whole(first, positions, true)); diff != "" {
				t.Errorf("%s: -alone +shared:\n%s", dir, diff)
			}
			again := traced.Build(target)
			if diff := cmp.Diff(whole(first, positions, false), whole(again, positions, false)); diff != "" {
				t.Errorf("%s: -built +traced:\n%s", dir, diff)
			}
			for _, o := range again.Objects {
				followed(t, positions, o)
			}
		}
	}
	if objects == 0 && len(roots(view)) > 5 {
		t.Error("nothing was built")
	}
}

// followed checks what must be true of every history: it is of values that are
// there, and each value that a step set has a line.
func followed(t *testing.T, positions *position.Set, o *Object) {
	t.Helper()
	if o.History == nil {
		t.Errorf("%v is not traced", o.Ref)
		return
	}
	leaves := map[*yaml.Node]bool{}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if isLeaf(n) {
			leaves[n] = true
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(o.Node())
	for n, r := range o.History.Values {
		if !leaves[n] {
			t.Errorf("%v has a history of a value %q that it does not have", o.Ref, n.Value)
		}
		// The overlay of this test stands in no file.
		if positions.Position(r.Pos).IsZero() && n.Value != "elsewhere" {
			old := "nothing"
			if r.Old != nil {
				old = r.Old.Value
			}
			t.Errorf("%v: %s %s set %q in place of %q without a line", o.Ref, r.Kind, r.What, n.Value, old)
		}
		for depth := 0; r != nil; r = r.Before {
			if depth++; depth > 1000 {
				t.Fatalf("%v: a history without an end", o.Ref)
			}
		}
	}
}

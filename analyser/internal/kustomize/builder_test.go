package kustomize

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// archives are the repositories of the golden archives.
func archives(t testing.TB) map[string]*snapshot.Snapshot {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*snapshot.Snapshot{}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[f] = snapshot.FromTxtar(a, "repo/")
	}
	return out
}

// full writes everything of a build that others see, lines of values included.
func full(b *Builder, target Target) string {
	var w strings.Builder
	set := b.docs.Positions()
	build := b.Build(target)
	render(&w, set, target.Dir, build)
	for _, o := range build.Objects {
		lined(&w, set, o.Node())
	}
	return w.String()
}

// lined writes a node with the place of each value.
func lined(w *strings.Builder, set *position.Set, n *yaml.Node) {
	fmt.Fprintf(w, "%s %q %v\n", n.Tag, n.Value, set.Position(position.Pos(n.Line)))
	for _, c := range n.Content {
		lined(w, set, c)
	}
}

// TestOrder builds targets one by one, in reverse order and all at once, with
// one Builder and with one each: the answers are the same.
func TestOrder(t *testing.T) {
	for name, view := range archives(t) {
		dirs := roots(view)
		want := make([]string, len(dirs))
		for i, d := range dirs {
			want[i] = full(newBuilder(view), Target{Dir: d})
		}
		check := func(how string, i int, got string) {
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("%s: %s: %s differs:\n%s", name, how, dirs[i], diff)
			}
		}
		b := newBuilder(view)
		for i := range slices.Backward(dirs) {
			check("reverse", i, full(b, Target{Dir: dirs[i]}))
		}
		for i := range dirs {
			check("again", i, full(b, Target{Dir: dirs[i]}))
		}
		b = newBuilder(view)
		got := make([]string, len(dirs))
		var wg sync.WaitGroup
		for i := range dirs {
			wg.Go(func() { got[i] = full(b, Target{Dir: dirs[i]}) })
		}
		wg.Wait()
		for i := range dirs {
			check("together", i, got[i])
		}
	}
}

// at returns the place of the value at a path of keys, and indexes as "#n".
func at(t *testing.T, b *Builder, o *Object, path ...string) string {
	t.Helper()
	n := o.Node()
	for _, p := range path {
		var i int
		if _, err := fmt.Sscanf(p, "#%d", &i); err == nil && n.Kind == yaml.SequenceNode {
			n = n.Content[i]
		} else {
			n = lookup(n, p)
		}
		if n == nil {
			t.Fatalf("%v has no %v", o.Ref, path)
		}
	}
	return b.docs.Positions().Position(position.Pos(n.Line)).String()
}

// TestLines checks which file and line values come from.
func TestLines(t *testing.T) {
	views := archives(t)
	b := newBuilder(views["testdata/patches.txtar"])
	objects := b.Build(Target{Dir: "files"}).Objects
	web, one, two := objects[0], objects[1], objects[2]
	for _, c := range []struct {
		object *Object
		path   string
		want   string
	}{
		{web, "kind", "base/objects.yaml:2"},
		{web, "metadata name", "base/objects.yaml:4"},
		{web, "metadata labels app", "base/objects.yaml:5"},
		{web, "metadata annotations keep", "base/objects.yaml:6"},
		{web, "metadata annotations added", "files/web.yaml:7"},
		{web, "spec replicas", "files/web.yaml:9"},
		{web, "spec template spec containers #0 image", "files/web.yaml:14"},
		{web, "spec template spec containers #1 image", "files/web.yaml:16"},
		{web, "spec template spec containers #2 image", "base/objects.yaml:13"},
		{one, "data a", "files/op.yaml:6"},
		{one, "data sm", "files/sm.yaml:6"},
		{one, "metadata annotations x", "files/ops.json:1"},
		{one, "metadata labels tier", "base/objects.yaml:21"},
		{one, "metadata name", "base/objects.yaml:20"},
		{two, "data inline", "files/kustomization.yaml:20"},
		{two, "data b", "files/op.yaml:3"},
	} {
		if got := at(t, b, c.object, strings.Fields(c.path)...); got != c.want {
			t.Errorf("%v %s is from %s, want %s", c.object.Ref, c.path, got, c.want)
		}
	}
	b = newBuilder(views["testdata/generators.txtar"])
	settings := b.Build(Target{Dir: "merge"}).Objects[1]
	for path, want := range map[string]string{
		"data KEY":                  "merge/kustomization.yaml:7",
		"data OTHER":                "base/settings.env:3",
		"metadata annotations note": "merge/kustomization.yaml:4",
	} {
		if got := at(t, b, settings, strings.Fields(path)...); got != want {
			t.Errorf("%s is from %s, want %s", path, got, want)
		}
	}
}

// TestHostile builds repositories that are made to cost much, and wants an end
// soon: an answer, or one that says which limit was reached.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	files := map[string]string{}
	put := func(name, format string, args ...any) { files[name] = fmt.Sprintf(format, args...) }
	// Each level uses the one below twice: 2^40 objects.
	put("fan/0/kustomization.yaml", "resources: [cm.yaml]\n")
	put("fan/0/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	for i := 1; i <= 40; i++ {
		put(fmt.Sprintf("fan/%d/kustomization.yaml", i), "resources: [a, b]\n")
		for _, s := range []string{"a", "b"} {
			put(fmt.Sprintf("fan/%d/%s/kustomization.yaml", i, s), "namePrefix: %s%d-\nresources: [../../%d]\n", s, i, i-1)
		}
	}
	// The same without objects, under a schema, where nothing is shared, and
	// with components, which never are.
	put("schema/0/kustomization.yaml", "resources: []\n")
	put("parts/0/kustomization.yaml", "kind: Component\nresources: []\n")
	for i := 1; i <= 40; i++ {
		for _, s := range []string{"a", "b"} {
			put(fmt.Sprintf("schema/%d/%s/kustomization.yaml", i, s), "resources: [../../%d]\n", i-1)
			put(fmt.Sprintf("parts/%d/%s/kustomization.yaml", i, s), "kind: Component\ncomponents: [../../%d]\n", i-1)
		}
		put(fmt.Sprintf("schema/%d/kustomization.yaml", i), "resources: [a, b]\nopenapi: {version: v1.21.2}\n")
		put(fmt.Sprintf("parts/%d/kustomization.yaml", i), "kind: Component\ncomponents: [a, b]\n")
	}
	// A chain of 300 layers.
	put("chain/0/kustomization.yaml", "resources: [../../fan/0/cm.yaml]\n")
	for i := 1; i <= 300; i++ {
		put(fmt.Sprintf("chain/%d/kustomization.yaml", i), "resources: [../%d]\n", i-1)
	}
	// Values that hold themselves twice after each of 60 replacements.
	put("grow/kustomization.yaml", "resources: [a.yaml]\nreplacements:\n%s", strings.Repeat(
		"- source: {kind: A, name: a, fieldPath: spec.x}\n  targets:\n  - select: {kind: A}\n    fieldPaths: [spec.x.l, spec.x.r]\n    options: {create: true}\n", 60))
	put("grow/a.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {x: {v: some value}}\n")
	// A regular expression that backtracking would not finish.
	put("regex/kustomization.yaml", "resources: [../fan/0]\npatches:\n- target: {name: '(a*)*(a*)*b'}\n  patch: '[{\"op\": \"remove\", \"path\": \"/data\"}]'\n")
	// A large generator input, and a graph of crds that refers to itself.
	put("large/kustomization.yaml", "configMapGenerator:\n- {name: a, files: [f]}\n")
	files["large/f"] = strings.Repeat("x", 16<<20)
	put("crds/kustomization.yaml", "resources: [../fan/0]\ncrds: [c.json]\n")
	put("crds/c.json", `{"A": {"Schema": {"properties": {"kind": {}, "apiVersion": {}, "metadata": {}, "a": {"$ref": "A"}, "b": {"$ref": "A"}}}}}`)
	// Anchors that expand without end.
	put("bomb/kustomization.yaml", "resources: [b.yaml]\n")
	bomb := "apiVersion: v1\nkind: A\nmetadata: {name: a}\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	files["bomb/b.yaml"] = bomb
	view := snapshot.FromMap(files)
	b := newBuilder(view)
	for dir, want := range map[string]string{
		"fan/40": codeLimit, "schema/40": codeLimit, "parts/40": codeLimit, "chain/300": codeLimit, "grow": codeLimit, "regex": "", "large": "", "bomb": codeLimit, "crds": codeBadConfiguration,
	} {
		start := time.Now()
		build := b.Build(Target{Dir: dir})
		if d := time.Since(start); d > 2*time.Minute {
			t.Errorf("%s took %v", dir, d)
		}
		got := ""
		for _, f := range []*Failure{build.Failure, build.Unresolved} {
			if f != nil {
				got = f.Code
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q: %v %v", dir, got, want, build.Failure, build.Unresolved)
		}
		if want == codeLimit && (build.Unresolved == nil || build.Failure != nil) {
			t.Errorf("%s: a limit of ours is reported as a failure of the real tool", dir)
		}
	}
}

// TestQuiet runs a build that makes kustomize complain on standard output or
// error: nothing may appear there, least of all a value.
func TestQuiet(t *testing.T) {
	view := archives(t)["testdata/config.txtar"]
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	log.SetOutput(w)
	b := newBuilder(view)
	for _, d := range roots(view) {
		b.Build(Target{Dir: d})
	}
	os.Stdout, os.Stderr = stdout, stderr
	log.SetOutput(io.Discard)
	w.Close()
	buf := make([]byte, 4096)
	if n, _ := r.Read(buf); n > 0 {
		t.Errorf("written: %s", buf[:n])
	}
}

// TestLimitsShared: whether a limit is reached, and where, does not depend on what was
// built before. The objects and layers of deep/3 are counted by hand: the layer 0 takes
// 1 + 2 for its file, and each of 0 to 2 hands its two objects up; the layers 1 and 2
// take one each.
func TestLimitsShared(t *testing.T) {
	a, err := txtar.ParseFile("testdata/limits/deep.txtar")
	if err != nil {
		t.Fatal(err)
	}
	view := snapshot.FromTxtar(a, "repo/")
	const spent = 3*1 + 2 + 3*2
	for _, tt := range []struct {
		options Options
		fails   string
	}{
		{Options{MaxObjects: spent}, ""},
		{Options{MaxObjects: spent - 1}, "more than 10 objects and layers (--max-build-objects)"},
		{Options{MaxObjects: 2}, "more than 2 objects and layers (--max-build-objects)"},
		{Options{MaxDepth: 4}, ""},
		{Options{MaxDepth: 3}, "layers nest deeper than 3 (--max-layer-depth)"},
	} {
		want := ""
		for _, first := range [][]string{nil, {"deep/0"}, {"deep/2"}, {"deep/0", "deep/1", "deep/2"}} {
			b := NewBuilderWith(view, document.NewReader(new(position.Set), document.Limits{}), tt.options)
			for _, dir := range first {
				b.Build(Target{Dir: dir})
			}
			build := b.Build(Target{Dir: "deep/3"})
			got := ""
			if f := build.Unresolved; f != nil {
				got = fmt.Sprintf("%s at %v", f.Message, b.docs.Positions().Position(f.Pos))
			}
			if first == nil {
				want = got
			}
			if build.Failure != nil || (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) || got != want {
				t.Errorf("%+v after %v: %q, want %q", tt.options, first, got, want+tt.fails)
			}
		}
	}
}

package imports

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// ours is the module path of the planted tree: the real one, so that the
// committed policy applies to it as it stands.
const ours = "github.com/gitops-reach/reach"

// plant lays all archives of planted violations out as one module and returns
// its folder and the archives by name. Packages below stub/ stand for modules
// of other people; each stub that is nobody's subfolder becomes a module.
func plant(t *testing.T) (dir string, archives map[string]*txtar.Archive) {
	t.Helper()
	dir = t.TempDir()
	archives = map[string]*txtar.Archive{}
	files, err := filepath.Glob("../testdata/planted/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no planted violations: %v", err)
	}
	modules := map[string]bool{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives[strings.TrimSuffix(filepath.Base(file), ".txtar")] = a
		for _, f := range a.Files {
			write(t, filepath.Join(dir, f.Name), f.Data)
			if stub, ok := strings.CutPrefix(path.Dir(f.Name), "stub/"); ok {
				modules[module(stub)] = true
			}
		}
	}
	var mod bytes.Buffer
	fmt.Fprintf(&mod, "module %s\n\ngo 1.26\n", ours)
	for m := range modules {
		write(t, filepath.Join(dir, "stub", m, "go.mod"), fmt.Appendf(nil, "module %s\n\ngo 1.26\n", m))
		version := "v0.0.0"
		if v := path.Base(m); len(v) > 1 && v[0] == 'v' && strings.Trim(v[1:], "0123456789") == "" {
			version = v + ".0.0"
		}
		fmt.Fprintf(&mod, "\nrequire %s %s\n\nreplace %s => ./stub/%s\n", m, version, m, m)
	}
	write(t, filepath.Join(dir, "go.mod"), mod.Bytes())
	return dir, archives
}

// module guesses where the module of a stub's package begins: after the first
// three elements of a path on a code host, two elsewhere; with a version
// behind it if there is one.
func module(stub string) string {
	elems := strings.Split(stub, "/")
	n := 2
	if elems[0] == "github.com" || elems[0] == "golang.org" {
		n = 3
	}
	if elems[0] == "gitlab.com" {
		n = 4
	}
	if len(elems) > n && len(elems[n]) > 1 && elems[n][0] == 'v' && strings.Trim(elems[n][1:], "0123456789") == "" {
		n++
	}
	return strings.Join(elems[:min(n, len(elems))], "/")
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// wants returns the lines "want: rule subject" of an archive's comment.
func wants(a *txtar.Archive) []string {
	var ws []string
	for line := range strings.Lines(string(a.Comment)) {
		if w, ok := strings.CutPrefix(line, "want: "); ok {
			ws = append(ws, strings.TrimSpace(w))
		}
	}
	slices.Sort(ws)
	return ws
}

func committedRules(t *testing.T) *Rules {
	t.Helper()
	rules, _, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// Every category of the policy has planted code that really compiles, and the
// wall convicts it by that rule and by no other.
func TestPlanted(t *testing.T) {
	rules := committedRules(t)
	dir, archives := plant(t)
	// With the flags of the product, whose builds then share the cache.
	build := exec.Command("go", "build", "-trimpath", "./...")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the planted code does not compile: %v\n%s", err, out)
	}
	g, err := Load(t.Context(), dir, Build{"linux", runtime.GOARCH, Tags}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, category := range rules.Categories() {
		a := archives[category]
		if a == nil {
			t.Errorf("nothing is planted for category %s", category)
		} else if !slices.ContainsFunc(wants(a), func(w string) bool { return strings.HasPrefix(w, category+" ") }) {
			t.Errorf("%s.txtar does not want a conviction for %s", category, category)
		}
	}
	for name, a := range archives {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range rules.Check(g.From(ours + "/analyser/" + name)) {
				got = append(got, v.Rule+" "+v.Subject)
			}
			slices.Sort(got)
			if diff := cmp.Diff(wants(a), got); diff != "" {
				t.Errorf("convictions (-want +got):\n%s", diff)
			}
		})
	}
}

// A path leads from our package to what is convicted, so that a reader knows
// whom to ask.
func TestPathOfConviction(t *testing.T) {
	rules := committedRules(t)
	dir, _ := plant(t)
	g, err := Load(t.Context(), dir, Build{"linux", "amd64", Tags}, "./analyser/cluster-client")
	if err != nil {
		t.Fatal(err)
	}
	vs := rules.Check(g)
	want := []string{ours + "/analyser/cluster-client", "example.com/harmless", "k8s.io/client-go/kubernetes"}
	if len(vs) != 1 || !slices.Equal(vs[0].Path, want) {
		t.Errorf("violations %v, want one with the path %v", vs, want)
	}
}

// What does not load is an error, never an empty closure that looks clean.
func TestCannotTell(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"missing import", "package a\n\nimport _ \"example.com/absent\"\n", "example.com/absent"},
		{"missing below", "package a\n\nimport _ \"" + ours + "/analyser/b\"\n", "analyser/b"},
		{"syntax", "package\n", "expected 'IDENT'"},
		{"only C", "package a\n\nimport \"C\"\n", "build constraints exclude all Go files"},
		{"other platform", "//go:build windows\n\npackage a\n", "build constraints exclude all Go files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), []byte("module "+ours+"\n\ngo 1.26\n"))
			write(t, filepath.Join(dir, "analyser/a/a.go"), []byte(tt.source))
			g, err := Load(t.Context(), dir, Builds[0], "./analyser/a")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("graph %v, error %v; want an error about %q", g, err, tt.want)
			}
		})
	}
	t.Run("no package", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), []byte("module "+ours+"\n\ngo 1.26\n"))
		if g, err := Load(t.Context(), dir, Builds[0], "./analyser/..."); err == nil {
			t.Errorf("graph %v, want an error", g)
		}
	})
}

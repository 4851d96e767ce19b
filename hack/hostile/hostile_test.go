// Package hostile takes censuses of repositories that are made to hurt, through
// the two real programs: each ends in a bounded time and memory, with an error
// or a census that names the cause.
package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// Bounds of every case. What a census may take depends on the machine: these
// are far above what is measured, and far below what a bomb would take. Below its
// soft limit of 1200 MiB the analyser has no reason to collect garbage.
const (
	maxTime   = 3 * time.Minute
	maxMemory = 1400 << 20 // of the analyser, bytes
)

// stream is a repository in git's fast-import format.
type stream struct{ bytes.Buffer }

func newStream() *stream {
	s := &stream{}
	s.WriteString("commit refs/heads/main\ncommitter a <a@acme.example> 1764500000 +0000\ndata 1\na\n")
	return s
}

// file adds one. A path that is no plain text is quoted as C does.
func (s *stream) file(path, content string) {
	fmt.Fprintf(s, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

// commit writes the repository, bare, into a folder.
func (s *stream) commit(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	for _, c := range []*exec.Cmd{
		exec.Command("git", "init", "-q", "--bare", "-b", "main", dir),
		exec.Command("git", "-C", dir, "fast-import", "--quiet", "--depth=0"),
	} {
		if c.Args[1] == "-C" {
			c.Stdin = &s.Buffer
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
	return dir
}

// template reads a file of testdata.
func template(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// platform is a cluster that applies apps.
func platform(t *testing.T) *stream {
	s := newStream()
	s.file("clusters/hub/flux-system/gotk-sync.yaml", template(t, "sync.yaml"))
	s.file("apps/good.yaml", template(t, "object.yaml"))
	return s
}

func bomb(t *testing.T) string {
	var b strings.Builder
	b.WriteString(template(t, "object.yaml"))
	b.WriteString("  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return b.String()
}

var cases = []struct {
	name  string
	make  func(*testing.T) *stream
	flags []string
	// says stands in what the report or the error says; fails reports that
	// nothing could be told.
	says  string
	fails bool
}{
	{"nothing hostile", platform, nil, `"path":"apps/good.yaml"`, false},
	{"alias bomb", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/bomb.yaml", bomb(t))
		return s
	}, nil, "expanding the aliases of a document would give more than 1000000 values (--max-document-nodes)", false},
	{"alias bomb, lower limit", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/bomb.yaml", bomb(t))
		return s
	}, []string{"--max-document-nodes", "500"}, "more than 500 values (--max-document-nodes)", false},
	{"a document of 50 MB", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/large.yaml", template(t, "object.yaml")+"  x: "+strings.Repeat("0123456789", 5<<20)+"\n")
		return s
	}, nil, `"path":"apps/large.yaml"`, false},
	{"a document of 50 MB in lines", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/large.yaml", template(t, "object.yaml")+strings.Repeat("  - x: [1, 2, 3, 4, 5]\n", 50<<20/23))
		return s
	}, nil, "more than 1000000 values (--max-document-nodes)", false},
	{"a document above the limit", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/large.yaml", template(t, "object.yaml")+"  x: "+strings.Repeat("0123456789", 1<<20)+"\n")
		return s
	}, []string{"--max-blob-bytes", "1000000"}, "(--max-blob-bytes)", false},
	{"100,000 files in a directory", func(t *testing.T) *stream {
		s := platform(t)
		for i := range 100_000 {
			s.file(fmt.Sprintf("apps/f%d.yaml", i), strings.Replace(template(t, "object.yaml"), "good", fmt.Sprintf("f%d", i), 1))
		}
		return s
	}, nil, `"files": 100002`, false},
	{"more files than allowed", func(t *testing.T) *stream {
		s := platform(t)
		for i := range 2000 {
			s.file(fmt.Sprintf("apps/f%d.txt", i), "")
		}
		return s
	}, []string{"--max-files", "1000"}, "more than 1000 files and directories (--max-files)", true},
	{"a million tiny documents", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/tiny.yaml", strings.Repeat("---\na: 1\n", 1_000_000))
		return s
	}, nil, "more than 100000 documents in one file (--max-documents)", false},
	{"a few tiny documents, lower limit", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/tiny.yaml", strings.Repeat("---\na: 1\n", 100))
		return s
	}, []string{"--max-documents", "10"}, "more than 10 documents in one file (--max-documents)", false},
	{"deep nesting", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/deep.yaml", template(t, "object.yaml")+"  x: "+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+"\n")
		return s
	}, nil, "apps/deep.yaml", false},
	{"paths that are no text", func(t *testing.T) *stream {
		s := platform(t)
		s.file(`"apps/\377\376.yaml"`, template(t, "object.yaml"))
		s.file(`"apps/\033[31m\n.yaml"`, template(t, "object.yaml"))
		return s
	}, nil, `\\xff\\xfe`, false},
	{"a cycle of layers", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/kustomization.yaml", strings.Replace(template(t, "layer.yaml"), "NEXT", "../a", 1))
		s.file("a/kustomization.yaml", strings.Replace(template(t, "layer.yaml"), "NEXT", "../apps", 1))
		return s
	}, nil, "cycle", false},
	{"a long chain of layers", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/kustomization.yaml", strings.Replace(template(t, "layer.yaml"), "NEXT", "../l0", 1))
		for i := range 1000 {
			s.file(fmt.Sprintf("l%d/kustomization.yaml", i), strings.Replace(template(t, "layer.yaml"), "NEXT", fmt.Sprintf("../l%d", i+1), 1))
		}
		return s
	}, nil, "layers nest deeper than", false},
	{"layers that double", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/kustomization.yaml", strings.Replace(template(t, "layer.yaml"), "NEXT", "../l0", 1))
		for i := range 40 {
			next := fmt.Sprintf("../l%d\n- ../m%d", i+1, i+1)
			s.file(fmt.Sprintf("l%d/kustomization.yaml", i), strings.Replace(template(t, "layer.yaml"), "NEXT", next, 1))
			s.file(fmt.Sprintf("m%d/kustomization.yaml", i), strings.Replace(template(t, "layer.yaml"), "NEXT", next, 1))
		}
		return s
	}, nil, "apps", false},
	{"Kustomizations that apply each other", func(t *testing.T) *stream {
		s := platform(t)
		for i := range 100 {
			s.file(fmt.Sprintf("clusters/hub/k%d.yaml", i), strings.NewReplacer("NAME", fmt.Sprintf("k%d", i), "PATH", "./clusters/hub").Replace(template(t, "kustomization.yaml")))
		}
		return s
	}, nil, `"name":"k99"`, false},
	{"a pattern that explodes", func(t *testing.T) *stream {
		s := platform(t)
		s.file("apps/kustomization.yaml", strings.Replace(template(t, "pattern.yaml"), "PATTERN", strings.Repeat("(a*)*", 1000)+"b", 1))
		return s
	}, nil, "apps", false},
	{"substitutions that grow", func(t *testing.T) *stream {
		s := platform(t)
		s.file("clusters/hub/vars.yaml", strings.NewReplacer("VALUE", strings.Repeat("x", 1<<20)).Replace(template(t, "substitute.yaml")))
		s.file("more/object.yaml", template(t, "object.yaml")+"  x: "+strings.Repeat("${A}", 100_000)+"\n")
		return s
	}, nil, "more", false},
}

func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("large repositories: not in the short tests")
	}
	bin := t.TempDir()
	for name, source := range map[string]string{"reach": "./orchestrator", "reach-analyser": "./analyser"} {
		c := exec.Command("go", "build", "-o", filepath.Join(bin, name), source)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("building: %v\n%s", err, out)
		}
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			repository, out := tt.make(t).commit(t), t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), maxTime)
			defer cancel()
			report, stats := filepath.Join(out, "report"), filepath.Join(out, "stats.json")
			c := exec.CommandContext(ctx, filepath.Join(bin, "reach"), append([]string{"census", repository, "--names", "real", "--out", report, "--stats", stats}, tt.flags...)...)
			began := time.Now()
			said, err := c.CombinedOutput()
			took := time.Since(began)
			var exit *exec.ExitError
			switch {
			case ctx.Err() != nil:
				t.Fatalf("not done after %v", maxTime)
			case err != nil && !errors.As(err, &exit), exit != nil && exit.ExitCode() != 1:
				t.Fatalf("%v: %s", err, said)
			case (err != nil) != tt.fails:
				t.Fatalf("error %v, want one: %t\n%s", err, tt.fails, said)
			}
			if bytes.ContainsAny(said, "\x1b") {
				t.Errorf("the terminal is steered: %q", said)
			}
			all := string(said)
			for _, name := range []string{"census.json", "placements.jsonl", "kustomizations.jsonl", "findings.jsonl", "files.jsonl", "coverage.jsonl"} {
				content, err := os.ReadFile(filepath.Join(report, name))
				if err != nil && !tt.fails && name != "files.jsonl" {
					t.Error(err)
				}
				all += string(content)
			}
			if !strings.Contains(all, tt.says) {
				t.Errorf("nothing says %q: %.3000s", tt.says, said)
			}
			t.Logf("%v, analyser %d MB", took.Round(10*time.Millisecond), memory(t, stats, tt.fails)>>20)
			if m := memory(t, stats, tt.fails); m > maxMemory {
				t.Errorf("the analyser took %d MB", m>>20)
			}
		})
	}
}

// memory is the peak of the analyser in bytes, 0 when nothing was written.
func memory(t *testing.T, file string, fails bool) int64 {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil && fails {
		return 0
	}
	var s map[string]any
	if err := errors.Join(err, json.Unmarshal(content, &s)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"analyser_peak_bytes"} {
		if v, ok := s[key].(float64); ok {
			return int64(v)
		}
	}
	t.Fatalf("no peak of the analyser in %s", content)
	return 0
}

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestExplain asks about objects of the repositories in testdata/explain, through
// the real analyser.
//
// An archive holds a claim in prose, a repository below repo/, questions below
// ask/ (OBJECT, then flags, one word a line) and below want/ what each prints.
// The expectations are written by hand; nothing rewrites them.
func TestExplain(t *testing.T) {
	binary := buildAnalyser(t)
	if binary == "" {
		t.Skip("there is no analyser to build")
	}
	files, err := filepath.Glob("../../../testdata/explain/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, f := range a.Files {
				if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
					want[name] = string(f.Data)
				}
			}
			repo := repository(t, a)
			asked := 0
			for _, f := range a.Files {
				name, ok := strings.CutPrefix(f.Name, "ask/")
				if !ok {
					continue
				}
				asked++
				if want[name] == "" {
					t.Errorf("no expectation for %s", name)
				}
				args := append([]string{"explain", repo}, strings.Split(strings.TrimSpace(string(f.Data)), "\n")...)
				var out, errs bytes.Buffer
				code := Main(append(args, "--names", "real", "--analyser", binary), nil, &out, &errs, nil)
				if code != exitDone || errs.Len() > 0 {
					t.Errorf("%s: exit code %d, %s", name, code, &errs)
				}
				if diff := cmp.Diff(want[name], out.String()); diff != "" {
					t.Errorf("%s: -expected +printed:\n%s", name, diff)
				}
			}
			if asked == 0 || asked != len(want) {
				t.Errorf("%d questions and %d expectations", asked, len(want))
			}
		})
	}
}

// repository makes a clone of the files below repo/ in an archive.
func repository(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "repo/")
		if !ok {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=Acme", "GIT_AUTHOR_EMAIL=acme@acme.example", "GIT_COMMITTER_NAME=Acme", "GIT_COMMITTER_EMAIL=acme@acme.example")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestExplainLeaks explains objects around Secrets, whole and field by field, and
// looks for the markers in their values.
func TestExplainLeaks(t *testing.T) {
	binary := buildAnalyser(t)
	if binary == "" {
		t.Skip("there is no analyser to build")
	}
	a, err := txtar.ParseFile("testdata/leaks.txtar")
	if err != nil {
		t.Fatal(err)
	}
	repo := repository(t, a)
	objects := strings.Fields(string(a.Files[len(a.Files)-1].Data))
	secret := regexp.MustCompile(`M01|M14|marker-\d\d|bWFya2Vy`)
	ask := func(args ...string) string {
		var out, errs bytes.Buffer
		Main(append([]string{"explain", repo, "--names", "real", "--analyser", binary}, args...), nil, &out, &errs, nil)
		return out.String() + errs.String()
	}
	// The hash is in the names of what is generated, and says nothing.
	for line := range strings.Lines(ask("Secret/generate")) {
		if name, on, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "Secret/shop/") && strings.Contains(on, "on one") {
			objects = append(objects, name)
		}
	}
	if len(objects) < 13 {
		t.Fatalf("the generated Secret was not found: %v", objects)
	}
	shown := 0
	for _, object := range objects {
		for _, flags := range [][]string{
			nil,
			{"--format", "json"},
			{"--field", "data"},
			{"--field", "stringData"},
			{"--field", "metadata", "--format", "json"},
			{"--field", "spec"},
			{"--field", "sops"},
		} {
			if len(flags) > 1 && flags[1] == "spec" != strings.HasPrefix(object, "Kustomization") || len(flags) > 1 && flags[1] == "sops" && object != "ConfigMap/encrypted" {
				continue
			}
			out := ask(append([]string{object}, flags...)...)
			shown += strings.Count(out, "(secret)")
			if m := secret.FindString(out); m != "" {
				t.Errorf("%s %v shows %s:\n%s", object, flags, m, out)
			}
		}
	}
	if shown < 20 {
		t.Errorf("only %d values were held back: the markers are not where they should be", shown)
	}
}

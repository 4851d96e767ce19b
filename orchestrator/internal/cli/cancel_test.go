package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// workplace is a folder with a clone in it, which is the current folder of the
// test; temporary files go to a folder inside.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if out, err := exec.Command("git", "init", "-q", "clone").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if err := os.Mkdir("tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	return dir
}

// listing names every file with its size, the git directory aside.
func listing(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			out[path] = info.Size()
		} else {
			out[path] = 0
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func acme(t *testing.T) []*reachv1.CensusResponse {
	t.Helper()
	messages, err := readStream(filepath.Join("testdata", "acme.textproto"))
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func fakeLaunch(a analyser) launcher {
	return func(context.Context, string, func()) starter {
		return func(context.Context, string, io.Writer) (analyser, error) { return a, nil }
	}
}

// take runs a census with a fake analyser and the arguments behind it.
func take(ctx context.Context, f *fakeAnalyser, args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	s := streams{out: &out, err: &log, env: map[string]string{"SOURCE_DATE_EPOCH": "1764759200"}}
	cmd := rootCommand(s, fakeLaunch(f))
	cmd.SetArgs(append([]string{"census", "clone"}, args...))
	err = cmd.ExecuteContext(ctx)
	return out.String(), log.String(), err
}

// TestNothingLeft: an analyser that fails, and a user who interrupts, at any
// message leave nothing, whether or not a report was there before.
func TestNothingLeft(t *testing.T) {
	messages := acme(t)
	dir := workplace(t)
	if _, _, err := take(t.Context(), &fakeAnalyser{messages: messages}, "--out", "there"); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	died := errors.New("died")
	for n := range len(messages) + 1 {
		for _, out := range []string{"there", "new", "deep/er/new", ""} {
			ctx, cancel := context.WithCancel(t.Context())
			for about, before := range map[string]func(context.Context, int) error{
				"died": func(_ context.Context, i int) error {
					if i == n {
						return died
					}
					return nil
				},
				"interrupted": func(_ context.Context, i int) error {
					if i == n {
						cancel()
					}
					return nil
				},
			} {
				args := []string{"--names", "real"}
				if n%2 == 0 {
					args = nil
				}
				if out != "" {
					args = append(args, "--out", out)
				}
				if _, _, err := take(ctx, &fakeAnalyser{messages: messages, before: before}, args...); err == nil {
					t.Errorf("%s at message %d: no error", about, n)
				}
			}
			cancel()
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Fatalf("at message %d with --out %q something changed: (-before +after)\n%s", n, out, diff)
			}
		}
	}
}

// TestInterruptedWhileWriting: an interrupt while the report is written leaves
// nothing either.
func TestInterruptedWhileWriting(t *testing.T) {
	messages := acme(t)
	dir := workplace(t)
	before := listing(t, dir)
	// The context is asked once for each message that is received and again for
	// each that is written.
	for n := range 2*len(messages) + 1 {
		ctx := &countedContext{Context: t.Context(), left: n}
		if _, _, err := take(ctx, &fakeAnalyser{messages: messages}, "--out", "new"); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d questions: %v", n, err)
		}
		if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
			t.Fatalf("after %d questions something changed: (-before +after)\n%s", n, diff)
		}
	}
	if _, _, err := take(&countedContext{Context: t.Context(), left: 1000}, &fakeAnalyser{messages: messages}, "--out", "new"); err != nil {
		t.Errorf("without an interrupt: %v", err)
	}
}

// countedContext is cancelled once Err was asked a number of times.
type countedContext struct {
	context.Context
	left int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLeakIsNotPublished: a name that the replacer cannot see is found before
// the report is moved into place. A kind is a word of the API and is not
// replaced; in the page for people it stands like any other word.
func TestLeakIsNotPublished(t *testing.T) {
	messages := acme(t)
	dir := workplace(t)
	before := listing(t, dir)
	for _, m := range messages {
		if f := m.GetFinding(); f != nil {
			f.Message += " on prod-eu"
			f.Rule = "prod-eu"
		}
		if r := m.GetRule(); r != nil && r.GetCount() > 0 {
			r.Rule, r.Count = "prod-eu", 3
		}
	}
	// One rule now stands for all three findings.
	kept := messages[:0]
	seen := false
	for _, m := range messages {
		if r := m.GetRule(); r != nil && r.GetCount() > 0 {
			if seen {
				continue
			}
			seen = true
		}
		kept = append(kept, m)
	}
	_, _, err := take(t.Context(), &fakeAnalyser{messages: kept}, "--out", "new")
	if err == nil || !strings.Contains(err.Error(), "the report would give a real name away at report.html:") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("something was left: (-before +after)\n%s", diff)
	}
	if _, _, err := take(t.Context(), &fakeAnalyser{messages: kept}, "--out", "new", "--names", "real"); err != nil {
		t.Errorf("with real names there is nothing to give away: %v", err)
	}
}

// TestRequest: what the flags say arrives at the analyser.
func TestRequest(t *testing.T) {
	messages := acme(t)
	workplace(t)
	f := &fakeAnalyser{messages: messages}
	if _, _, err := take(t.Context(), f, "--out", "new", "--rev", "v1", "--root", "hub=clusters/hub@a/b"); err != nil {
		t.Fatal(err)
	}
	if f.request.GetRevision() != "v1" || f.request.GetNoProgress() || len(f.request.GetRoots()) != 1 {
		t.Errorf("got %v", f.request)
	}
	if r := f.request.GetRoots()[0]; r.GetCluster() != "hub" || r.GetPath() != "clusters/hub" || r.GetNamespace() != "a" || r.GetName() != "b" || r.GetDeclaredBy() != "flag" {
		t.Errorf("got %v", r)
	}
}

// TestHostileText: what a repository calls its files reaches neither the terminal
// nor the page as more than text.
func TestHostileText(t *testing.T) {
	messages := acme(t)
	workplace(t)
	hostile := "a\x1b[2J\u202e|`<img src=x onerror=y>`\n# title [x](https://e.example)"
	for _, m := range messages {
		if f := m.GetFinding(); f != nil {
			f.Path, f.Message, f.Remedy = hostile, hostile, hostile
		}
		if s := m.GetSync(); s != nil {
			s.Detail, s.Name = hostile, hostile
		}
		if s := m.GetSummary(); s != nil {
			s.Notes = []string{hostile}
			s.Clusters[0].Evidence = hostile
		}
		if c := m.GetCoverage(); c != nil {
			c.Root = hostile
		}
	}
	out, log, err := take(t.Context(), &fakeAnalyser{messages: messages}, "--out", "new")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("new", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"terminal": out + log, "report.md": string(page)} {
		for _, bad := range []string{"\x1b", "\u202e", "\n# title"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
	// What stands outside of code spans.
	plain := regexp.MustCompile("``.*?``|`[^`\n]+`").ReplaceAllString(string(page), "")
	for _, bad := range []string{"<img", "](https://", "`"} {
		if at := strings.Index(plain, bad); at >= 0 && !strings.HasPrefix(plain[max(at-1, 0):], `\`) {
			t.Errorf("%q outside of a code span: %.200q", bad, plain[max(at-80, 0):])
		}
	}
}

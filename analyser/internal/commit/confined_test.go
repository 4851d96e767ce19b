//go:build linux

package commit_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"

	"github.com/gitops-reach/reach/analyser/internal/commit"
)

const confinedEnv = "REACH_TEST_CONFINED"

// A process that may read nothing but Directories reads whole commits, whatever
// the repository consists of.
func TestConfined(t *testing.T) {
	origin := gitRepo(t, 20)
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	if err := os.WriteFile(outside, []byte("kind: A\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	place := func(name string) string { return filepath.Join(t.TempDir(), name) }
	linked, shared, nested, bare, moved := place("linked"), place("shared"), place("nested"), place("bare.git"), place("moved")
	mustGit(t, origin, "worktree", "add", "-q", linked, "HEAD~3")
	mustGit(t, origin, "clone", "-q", "--shared", origin, shared)
	mustGit(t, origin, "clone", "-q", "--shared", shared, nested)
	mustGit(t, origin, "clone", "-q", "--bare", "--no-local", origin, bare)
	mustGit(t, origin, "clone", "-q", "--no-local", origin, moved)
	for _, name := range []string{"objects", "packed-refs"} {
		elsewhere := filepath.Join(t.TempDir(), name)
		if err := os.Rename(filepath.Join(moved, ".git", name), elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(moved, ".git", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{origin, filepath.Join(origin, ".git"), linked, shared, nested, bare, moved} {
		want := confinedRead(t, dir, nil)
		cmd := exec.Command(os.Args[0], "-test.run=^TestConfinedChild$", "-test.v")
		cmd.Env = append(os.Environ(), confinedEnv+"="+dir, confinedEnv+"_OUTSIDE="+outside)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "--- SKIP") {
			t.Skipf("%s", out)
		}
		if err != nil || !strings.Contains(string(out), "read: "+want+"\n") {
			t.Errorf("%s: %v, want %s:\n%s", dir, err, want, out)
		}
	}
}

// TestConfinedChild is the process that TestConfined starts.
func TestConfinedChild(t *testing.T) {
	dir := os.Getenv(confinedEnv)
	if dir == "" {
		return
	}
	fmt.Printf("read: %s\n", confinedRead(t, dir, func(dirs []string) {
		if err := landlock.V1.RestrictPaths(landlock.RODirs(dirs...)); err != nil {
			t.Skipf("the kernel has no Landlock: %v", err)
		}
		if _, err := os.ReadFile(os.Getenv(confinedEnv + "_OUTSIDE")); err == nil {
			t.Fatal("the process is not confined")
		}
	}))
}

func confinedRead(tb testing.TB, dir string, confine func(dirs []string)) string {
	l, err := commit.Locate(dir)
	if err != nil {
		tb.Fatal(err)
	}
	if confine != nil {
		confine(l.Directories())
	}
	r, err := l.Open(commit.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	var id string
	files, size := 0, 0
	for _, rev := range []string{"HEAD", "HEAD~5"} {
		c, err := r.Resolve(rev)
		if err != nil {
			tb.Fatal(err)
		}
		s, err := r.Snapshot(context.Background(), c, nil)
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range s.Entries() {
			data, err := s.ReadEntry(e)
			if err != nil {
				tb.Fatal(err)
			}
			files, size = files+1, size+len(data)
		}
		id += c.ID + " "
	}
	if again, err := commit.Open(l.GitDir, commit.Limits{}); err != nil {
		tb.Fatal(err)
	} else if _, err := again.Resolve("HEAD"); err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("%s%d files, %d bytes", id, files, size)
}

package clone

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git, which makes the clones that the product only reads.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestContains: for every kind of clone, every place that belongs to it is found
// out, by whatever name, and no other.
func TestContains(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "main")
	git(t, filepath.Join(dir, "main"), "commit", "-q", "--allow-empty", "-m", "first")
	git(t, filepath.Join(dir, "main"), "worktree", "add", "-q", "../linked")
	git(t, dir, "clone", "-q", "--bare", "main", "bare.git")
	git(t, dir, "clone", "-q", "-s", "bare.git", "shared")
	git(t, dir, "init", "-q", "--separate-git-dir", "elsewhere", "separate")
	for _, d := range []string{"other", "main/sub"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("main/sub", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		clone, name     string
		inside, outside []string
	}{
		{
			"main", "main",
			[]string{"main", "main/out", "main/sub/deep/out", "main/.git/out", "link/out", "other/../main/out", "linked/out"},
			[]string{"other", "mainx", "bare.git/out", "."},
		},
		{"main/.git", "main", []string{"main/out", "main/.git", "linked/out"}, []string{"other/out"}},
		{"linked", "main", []string{"linked/out", "main/out", "main/.git/worktrees/linked/out"}, []string{"other/out"}},
		{"bare.git", "bare", []string{"bare.git", "bare.git/objects/out"}, []string{"main/out", "shared/out"}},
		{"shared", "shared", []string{"shared/out", "bare.git/objects/out"}, []string{"bare.git/out", "main/out"}},
		{"separate", "elsewhere", []string{"separate/out", "elsewhere/out"}, []string{"main/out"}},
	} {
		got, err := Locate(filepath.Join(dir, c.clone))
		if err != nil {
			t.Errorf("%s: %v", c.clone, err)
			continue
		}
		if got.Name() != c.name {
			t.Errorf("%s is called %q, want %q", c.clone, got.Name(), c.name)
		}
		for _, p := range c.inside {
			if own, err := got.Contains(filepath.Join(dir) + "/" + p); own == "" || err != nil {
				t.Errorf("%s does not know that %s is its own: %v (%v)", c.clone, p, err, got.Dirs)
			}
		}
		for _, p := range c.outside {
			if own, err := got.Contains(filepath.Join(dir, p)); own != "" || err != nil {
				t.Errorf("%s thinks that %s is in its own %s: %v", c.clone, p, own, err)
			}
		}
	}
}

// TestHostileFiles: files that name directories may hold anything.
func TestHostileFiles(t *testing.T) {
	for about, content := range map[string]string{
		"long":     "gitdir: " + strings.Repeat("x/", 1<<20),
		"empty":    "",
		"itself":   "gitdir: .",
		"zero":     "gitdir: a\x00b",
		"no colon": "gitdir",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".git"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err := Locate(dir); err == nil {
			t.Errorf("%s: found %+v", about, c)
		}
	}
}

func TestResolve(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if got, err := Resolve(filepath.Join(dir, "a", "b")); err != nil || got != filepath.Join(dir, "a", "b") {
		t.Errorf("got %s, %v", got, err)
	}
	for _, name := range []string{"dangling/out", "loop/out", "dangling"} {
		if got, err := Resolve(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

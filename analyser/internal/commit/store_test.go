package commit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/commit"
)

func mustGit(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	out, err := git(dir, nil, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// gitRepo makes a repository of n commits that each change one of a few files.
func gitRepo(tb testing.TB, n int) string {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not installed")
	}
	dir := tb.TempDir()
	mustGit(tb, dir, "init", "-q", "-b", "main")
	var stream bytes.Buffer
	for i := range n {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter c <c@x> %d +0000\ndata 1\nx\n", 1700000000+i)
		content := strings.Repeat(fmt.Sprintf("key-%d: value\n", i%7), 100+i)
		fmt.Fprintf(&stream, "M 100644 inline dir%d/file%d.yaml\ndata %d\n%s\n", i%5, i%11, len(content), content)
	}
	cmd := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	cmd.Env = append(os.Environ(), gitEnv...)
	cmd.Stdin = &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the corpus takes seconds")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, dir := range corpusRepos(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if err := agree(dir, "HEAD"); err != nil {
				t.Fatalf("loose: %v", err)
			}
			mustGit(t, dir, "repack", "-q", "-adf", "--depth=250")
			if err := agree(dir, "HEAD"); err != nil {
				t.Fatalf("packed: %v", err)
			}
		})
	}
}

// Several goroutines read one snapshot while git repacks the repository under
// it: everything is still found.
func TestConcurrentReads(t *testing.T) {
	dir := gitRepo(t, 120)
	s, err := snapshotOf(dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	read := func() {
		for _, e := range s.Entries() {
			data, err := s.ReadEntry(e)
			if err != nil {
				t.Error(err)
			}
			if !bytes.HasPrefix(data, []byte("key-")) {
				t.Errorf("%s begins with %.20q", e.Path, data)
			}
		}
	}
	for range 4 {
		group.Go(read)
	}
	group.Go(func() {
		if _, err := git(dir, nil, "repack", "-q", "-adf"); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	read()
}

// A pack that is renamed between listing and reading is found again.
func TestRepackedBetween(t *testing.T) {
	for _, first := range [][]string{{"unpack"}, {"repack", "-q", "-ad"}} {
		dir := gitRepo(t, 60)
		if first[0] == "unpack" {
			unpack(t, dir)
		} else {
			mustGit(t, dir, first...)
		}
		s, err := snapshotOf(dir, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		mustGit(t, dir, "repack", "-q", "-adf", "--window=0")
		mustGit(t, dir, "prune-packed", "-q")
		for _, e := range s.Entries() {
			if _, err := s.ReadEntry(e); err != nil {
				t.Errorf("after %v: %v", first, err)
			}
		}
	}
}

// unpack turns all packs into loose objects.
func unpack(tb testing.TB, dir string) {
	tb.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*"))
	if err != nil {
		tb.Fatal(err)
	}
	aside := tb.TempDir()
	for _, p := range packs {
		if err := os.Rename(p, filepath.Join(aside, filepath.Base(p))); err != nil {
			tb.Fatal(err)
		}
	}
	for _, p := range packs {
		if !strings.HasSuffix(p, ".pack") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(aside, filepath.Base(p)))
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := git(dir, data, "unpack-objects", "-q"); err != nil {
			tb.Fatal(err)
		}
	}
}

// Every id, shortened to any length, means what git says.
func TestShortIDsLikeGit(t *testing.T) {
	dir := gitRepo(t, 150)
	r, err := commit.Open(dir, commit.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Fields(mustGit(t, dir, "rev-list", "--all"))
	var query bytes.Buffer
	var revs []string
	for _, id := range ids {
		for _, n := range []int{4, 5, 7, 20, 39} {
			revs = append(revs, id[:n])
			fmt.Fprintln(&query, id[:n]+"^{commit}")
		}
	}
	out, err := git(dir, query.Bytes(), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(revs) {
		t.Fatalf("%d answers to %d questions", len(answers), len(revs))
	}
	for i, rev := range revs {
		c, err := r.Resolve(rev)
		switch {
		case strings.HasSuffix(answers[i], "missing"): // all exist, so it is ambiguous
			if !errors.Is(err, commit.ErrAmbiguous) {
				t.Errorf("%s: %v, git says %s", rev, err, answers[i])
			}
		case err != nil || c.ID != answers[i]:
			t.Errorf("%s: %s, %v, git says %s", rev, c.ID, err, answers[i])
		}
	}
}

// The commit's own fields.
func TestCommitFields(t *testing.T) {
	dir := gitRepo(t, 3)
	r, err := commit.Open(dir, commit.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Resolve("main")
	if err != nil {
		t.Fatal(err)
	}
	want := mustGit(t, dir, "log", "-1", "--format=%H %T %P %ct refs/heads/main", "main")
	got := fmt.Sprintf("%s %s %s %d %s", c.ID, c.Tree, strings.Join(c.Parents, " "), c.Time.Unix(), c.Ref)
	if got != want {
		t.Errorf("got %s, git says %s", got, want)
	}
	if _, err := r.Snapshot(context.Background(), commit.Commit{}, nil); err == nil {
		t.Error("a commit of no repository has a snapshot")
	}
}

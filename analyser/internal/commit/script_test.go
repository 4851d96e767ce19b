package commit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestScripts runs testdata/git: each script makes repositories with git and
// compares what this package reads with what git says.
//
//	agree REPO [REV...]   files, modes and content of each REV (HEAD) as git has them
//	same REPO REV...      each REV is the commit that git rev-parse says
//	resolve REPO REV      prints commit, ref and shadowed refs
//	blob REPO REV PATH    prints a file
//	info REPO             prints what kind of clone it is
//	directories REPO      prints the directories that reading needs
//	open REPO             opens it
func TestScripts(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "testdata", "git"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, gitEnv...)
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agree": cmdAgree, "same": cmdSame, "resolve": cmdResolve, "blob": cmdBlob,
			"info": cmdInfo, "directories": cmdDirectories, "open": cmdOpen,
		},
	})
}

// gitEnv makes git independent of the machine and its output the same
// everywhere.
var gitEnv = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=reach", "GIT_AUTHOR_EMAIL=reach@example.com", "GIT_AUTHOR_DATE=2026-11-01T12:00:00+01:00",
	"GIT_COMMITTER_NAME=reach", "GIT_COMMITTER_EMAIL=reach@example.com", "GIT_COMMITTER_DATE=2026-11-02T12:00:00+01:00",
	"GIT_CONFIG_COUNT=3",
	"GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
	"GIT_CONFIG_KEY_1=init.defaultBranch", "GIT_CONFIG_VALUE_1=main",
	"GIT_CONFIG_KEY_2=advice.detachedHead", "GIT_CONFIG_VALUE_2=false",
}

// git runs git in a directory.
func git(dir string, stdin []byte, args ...string) ([]byte, error) {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		dir = filepath.Dir(dir) // git itself does not take a .git file
	}
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), gitEnv...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, err
}

// outcome checks an error against what the script expects and shows it as
// stderr.
func outcome(ts *testscript.TestScript, neg bool, err error) {
	switch {
	case err == nil && neg:
		ts.Fatalf("unexpected success")
	case err != nil && !neg:
		ts.Fatalf("%v", err)
	case err != nil:
		fmt.Fprintln(ts.Stderr(), err)
	}
}

func cmdAgree(ts *testscript.TestScript, neg bool, args []string) {
	revs := args[1:]
	if len(revs) == 0 {
		revs = []string{"HEAD"}
	}
	dir := ts.MkAbs(args[0])
	for _, rev := range revs {
		outcome(ts, neg, agree(dir, rev))
	}
}

func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	r, err := commit.Open(dir, commit.Limits{})
	ts.Check(err)
	for _, rev := range args[1:] {
		want, err := git(dir, nil, "rev-parse", "--verify", "-q", rev+"^{commit}")
		ts.Check(err)
		c, err := r.Resolve(rev)
		ts.Check(err)
		if got := c.ID; got != strings.TrimSpace(string(want)) {
			ts.Fatalf("%s is %s, git says %s", rev, got, want)
		}
	}
}

func cmdResolve(ts *testscript.TestScript, neg bool, args []string) {
	r, err := commit.Open(ts.MkAbs(args[0]), commit.Limits{})
	ts.Check(err)
	c, err := r.Resolve(args[1])
	if err == nil {
		fmt.Fprintln(ts.Stdout(), strings.Join(append([]string{c.ID, c.Ref}, c.Shadowed...), " "))
	}
	outcome(ts, neg, err)
}

func cmdBlob(ts *testscript.TestScript, neg bool, args []string) {
	s, err := snapshotOf(ts.MkAbs(args[0]), args[1])
	ts.Check(err)
	e, ok := s.Lookup(args[2])
	if !ok {
		ts.Fatalf("no entry %q", args[2])
	}
	data, err := s.ReadEntry(e)
	if errors.Is(err, fs.ErrNotExist) {
		ts.Fatalf("%v: says that the file does not exist", err)
	}
	ts.Stdout().Write(data)
	outcome(ts, neg, err)
}

func cmdInfo(ts *testscript.TestScript, neg bool, args []string) {
	r, err := commit.Open(ts.MkAbs(args[0]), commit.Limits{})
	if err == nil {
		i := r.Info()
		fmt.Fprintf(ts.Stdout(), "shallow=%t partial=%t format=%s origin=%s lost=%d\n",
			i.Shallow, i.Partial, i.ObjectFormat, i.OriginURL, len(i.LostAlternates))
	}
	outcome(ts, neg, err)
}

func cmdDirectories(ts *testscript.TestScript, neg bool, args []string) {
	dirs, err := commit.Directories(ts.MkAbs(args[0]))
	for _, d := range dirs {
		rel, relErr := filepath.Rel(ts.MkAbs("."), d)
		ts.Check(relErr)
		fmt.Fprintln(ts.Stdout(), filepath.ToSlash(rel))
	}
	outcome(ts, neg, err)
}

func cmdOpen(ts *testscript.TestScript, neg bool, args []string) {
	_, err := commit.Open(ts.MkAbs(args[0]), commit.Limits{})
	outcome(ts, neg, err)
}

func snapshotOf(dir, rev string) (*snapshot.Snapshot, error) {
	r, err := commit.Open(dir, commit.Limits{})
	if err != nil {
		return nil, err
	}
	c, err := r.Resolve(rev)
	if err != nil {
		return nil, err
	}
	return r.Snapshot(context.Background(), c, nil)
}

// agree compares every entry and its content with git's, both ways, and checks
// that reading left the repository as it was.
func agree(dir, rev string) error {
	before, err := fingerprint(dir)
	if err != nil {
		return err
	}
	s, err := snapshotOf(dir, rev)
	if err != nil {
		return err
	}
	var listing, ids, contents bytes.Buffer
	for _, e := range s.Entries() {
		fmt.Fprintf(&listing, "%s %s\t%s\x00", gitMode[e.Mode], e.Blob, e.Path)
		if e.Mode == snapshot.Submodule {
			continue
		}
		data, err := s.ReadEntry(e)
		if err != nil {
			return err
		}
		fmt.Fprintln(&ids, e.Blob)
		fmt.Fprintf(&contents, "%s blob %d\n%s\n", e.Blob, len(data), data)
	}
	after, err := fingerprint(dir)
	if err != nil {
		return err
	}
	if before != after {
		return errors.New("reading changed the repository")
	}
	want, err := git(dir, nil, "ls-tree", "-r", "-z", "--full-tree", rev)
	if err != nil {
		return err
	}
	want = []byte(strings.NewReplacer(" blob ", " ", " commit ", " ").Replace(string(want)))
	if !bytes.Equal(want, listing.Bytes()) {
		return fmt.Errorf("the listing is %q, git says %q", listing.Bytes(), want)
	}
	want, err = git(dir, ids.Bytes(), "cat-file", "--batch")
	if err != nil {
		return err
	}
	if !bytes.Equal(want, contents.Bytes()) {
		return errors.New("content differs from git's")
	}
	return nil
}

var gitMode = map[snapshot.Mode]string{
	snapshot.Regular: "100644", snapshot.Executable: "100755",
	snapshot.Symlink: "120000", snapshot.Submodule: "160000",
}

// fingerprint is a listing of the files that reading may touch.
func fingerprint(dir string) (string, error) {
	dirs, err := commit.Directories(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := d.Info()
			if err == nil {
				b.WriteString(path + " " + strconv.FormatInt(st.Size(), 10) + " " + st.ModTime().String() + "\n")
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

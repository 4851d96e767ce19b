package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// The example works as it is written, with the real analyser.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	analyser := filepath.Join(dir, "reach-analyser")
	build := exec.Command("go", "build", "-o", analyser, "../../analyser")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the analyser: %v\n%s", err, out)
	}
	repository := clone(t, "testdata/platform.txtar")

	var out bytes.Buffer
	if err := run(&out, analyser, repository, "HEAD"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"wall landlock stands: ",
		"commit ",
		`clusters/hub/settings.yaml lands on "hub" by flux-system/flux-system: CLASS_LOCAL` + "\n",
		`attic/old.yaml lands on "" by : CLASS_UNCOVERED` + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}

	// Errors arrive as they are: nothing is printed as if it were a census.
	out.Reset()
	err := run(&out, analyser, repository, "no-such-revision")
	if err == nil || !strings.Contains(err.Error(), "no-such-revision") {
		t.Errorf("unknown revision: %v", err)
	}
	if strings.Contains(out.String(), "lands on") {
		t.Errorf("placements of a revision that does not exist:\n%s", &out)
	}
}

// clone makes a git repository of an archive.
func clone(t *testing.T, archive string) string {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"commit", "--quiet", "--message=platform"},
	} {
		git := exec.Command("git", args...)
		git.Dir = dir
		git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=reach", "GIT_AUTHOR_EMAIL=reach@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
			"GIT_COMMITTER_NAME=reach", "GIT_COMMITTER_EMAIL=reach@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

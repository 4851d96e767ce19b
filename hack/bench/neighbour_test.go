package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeighbours measures a small fleet with an analyser that was built for
// it: ten files differ in each of the two commits, and the repository stays as it is.
func TestNeighbours(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "fleet")
	for _, args := range [][]string{
		{"go", "build", "-o", filepath.Join(dir, "reach-analyser"), "../../analyser"},
		{"go", "run", "../fleet", "-files", "300", "-clusters", "3", repo},
	} {
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, b)
		}
	}
	refs := func() string {
		b, err := exec.Command("git", "-C", repo, "count-objects", "-v").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := refs()
	o := options{n: 1, reach: filepath.Join(dir, "reach")}
	got, err := o.neighbours(repo, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.first.wall <= 0 || got.spread.wall <= 0 || got.together.wall <= 0 {
		t.Errorf("not all were measured: %+v", got)
	}
	if after := refs(); after != before {
		t.Errorf("the repository had %s and has %s", before, after)
	}
	clone := filepath.Join(dir, "clone")
	if err := exec.Command("git", "clone", "-q", "--bare", "--shared", repo, clone).Run(); err != nil {
		t.Fatal(err)
	}
	files, err := manifests(clone)
	if err != nil || len(files) < 100 {
		t.Fatalf("%d manifests, %v", len(files), err)
	}
	id, err := neighbour(clone, "x", spread(files, changedFiles))
	if err != nil {
		t.Fatal(err)
	}
	b, err := exec.Command("git", "-C", clone, "diff", "--name-only", "HEAD", id).Output()
	if err != nil || strings.Count(string(b), "\n") != changedFiles {
		t.Errorf("%v, changed:\n%s", err, b)
	}
}

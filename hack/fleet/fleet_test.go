package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFleet makes small fleets of every shape. The hash of the commit stands for
// all that is in it and before it.
func TestFleet(t *testing.T) {
	for _, c := range []struct {
		fleet fleet
		files int
		head  string
	}{
		{fleet{files: 300, clusters: 10, history: 1, seed: 1}, 300, "8bf7ae88f0ab3dacc7ff6c874b01ec25d564a466"},
		{fleet{files: 300, clusters: 10, history: 1, seed: 2}, 300, "1fc3fc495d4c1f4361a7978e621869e57db4eda5"},
		{fleet{files: 200, clusters: 450, history: 1, seed: 1}, 200, "d0ac2731acd4cacf9d432005adbed606142e2abe"},
		{fleet{files: 250, clusters: 5, history: 3, crds: 1, seed: 1}, 250, "16325d1d26d30f252559905d65d0bee33c06e091"},
		{fleet{files: 1, clusters: 1, history: 2, seed: 1}, 149, "90f72e9633eb63f1c752ebee33253de6160dd98e"},
	} {
		about := fmt.Sprintf("-files %d -clusters %d -seed %d -history %d -crds %d", c.fleet.files, c.fleet.clusters, c.fleet.seed, c.fleet.history, c.fleet.crds)
		dir := filepath.Join(t.TempDir(), "fleet")
		files, err := c.fleet.write(dir)
		if err != nil {
			t.Fatal(err)
		}
		if listed := strings.Count(git(t, dir, "ls-tree", "-r", "--name-only", "HEAD"), "\n"); files != listed {
			t.Errorf("%s: says %d files and holds %d", about, files, listed)
		}
		// A few more than asked for, where the last overlay needs them.
		if files < c.files || files > c.files+10 {
			t.Errorf("%s: %d files, want about %d", about, files, c.files)
		}
		if commits := strings.Count(git(t, dir, "log", "--format=%h"), "\n"); commits != c.fleet.history {
			t.Errorf("%s: %d commits", about, commits)
		}
		if head := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD")); head != c.head {
			t.Errorf("%s: HEAD is %s, want %s", about, head, c.head)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

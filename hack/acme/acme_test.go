package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

const archive = "../../testdata/census/acme-platform.txtar"

// commit of acme-platform. A change of the repository changes it on purpose.
const commit = "cbe8949abf1bf64198e8337ce6175a0a219b7f94"

// The archive holds what the sources say: rewriting it changes nothing.
func TestArchiveIsWritten(t *testing.T) {
	before, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "acme.txtar")
	if err := os.WriteFile(copied, before, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"-archive", copied}, &bytes.Buffer{}, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	after, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the archive is not what hack/acme/source says; run `go run ./hack/acme`:\n%s", diff)
	}
}

// The git repository has a fixed commit and the content of the archive.
func TestGitRepository(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "acme-platform")
	var out bytes.Buffer
	if code := run([]string{"-archive", archive, "-git", dir, "-config", dir + ".yaml"}, &out, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if got := strings.TrimSpace(out.String()); got != commit {
		t.Errorf("commit %s, want %s", got, commit)
	}
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := exec.Command("git", "-C", dir, "ls-tree", "-r", "--name-only", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "repo/")
		if !ok {
			continue
		}
		names = append(names, name)
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, f.Data) {
			t.Errorf("%s differs from the archive", name)
		}
	}
	if got := len(strings.Fields(string(listed))); got != len(names) {
		t.Errorf("%d files in the commit, %d in the archive", got, len(names))
	}
	config, err := os.ReadFile(dir + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(config, []byte("controllerCluster: hub-west")) {
		t.Errorf("the configuration beside the repository is not the archive's:\n%s", config)
	}
	if code := run([]string{"-archive", archive, "-git", dir}, &out, &bytes.Buffer{}); code != 1 {
		t.Errorf("a directory that is not empty gives exit code %d, want 1", code)
	}
}

func TestExpandRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no directive", "some text\n", "want \"once\""},
		{"unknown set", "each: planets\n", "no data set"},
		{"unknown field", "each: apps\n-- [[.Colour]] --\n", "Colour"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := expand("x.txtar", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

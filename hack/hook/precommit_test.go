package hook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreCommit: pre-commit itself takes the definition, runs the hook on what is
// staged, with its flags, and shows what it found.
func TestPreCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs: not in the short tests")
	}
	preCommit, err := exec.LookPath("pre-commit")
	if err != nil {
		t.Skip("pre-commit is not there: make test installs it where apt can")
	}
	// The project as pre-commit fetches it: what the hook needs of it, committed.
	project := filepath.Join(t.TempDir(), "project")
	for name, mode := range map[string]os.FileMode{".pre-commit-hooks.yaml": 0o644, "hack/hook/reach-census": 0o755} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, mode); err != nil {
			t.Fatal(err)
		}
	}
	c := newClone(t, "")
	if err := os.Remove(filepath.Join(c.dir, ".git/hooks/pre-commit")); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "PRE_COMMIT_HOME="+t.TempDir())
	run := func(dir, name string, args ...string) (string, error) {
		command := exec.Command(name, args...)
		command.Dir, command.Env = dir, c.env
		out, err := command.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"},
	} {
		if out, err := run(project, "git", args...); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit, err := run(project, "git", "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(project, preCommit, "validate-manifest", ".pre-commit-hooks.yaml"); err != nil {
		t.Fatalf("the manifest is refused: %v\n%s", err, out)
	}
	c.write(".pre-commit-config.yaml", fmt.Sprintf(
		"repos: [{repo: %q, rev: %s, hooks: [{id: reach-census, args: [--root, hub=clusters/hub, --fail-on, error]}]}]\n", project, strings.TrimSpace(commit)))
	c.must("add", "-A")
	if out, err := run(c.dir, preCommit, "run"); err != nil || !strings.Contains(out, "Passed") {
		t.Fatalf("what is whole does not pass: %v\n%s", err, out)
	}
	c.write("clusters/hub/kustomization.yaml", "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\nresources: [team.yaml, gone.yaml]\n")
	c.must("add", "-A")
	out, err := run(c.dir, preCommit, "run")
	if err == nil || !strings.Contains(out, "exit code: 3") || !strings.Contains(out, "gone.yaml") {
		t.Errorf("a build that fails passes: %v\n%s", err, out)
	}
}

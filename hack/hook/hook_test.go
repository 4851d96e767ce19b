// Package hook tests the hook for pre-commit as pre-commit and git run it.
package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestDefinition: .pre-commit-hooks.yaml says what pre-commit wants
// (https://pre-commit.com/#creating-new-hooks), and its entry can be run.
func TestDefinition(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID            string `json:"id"`
		Name          string `json:"name"`
		Description   string `json:"description"`
		Entry         string `json:"entry"`
		Language      string `json:"language"`
		Files         string `json:"files"`
		PassFilenames *bool  `json:"pass_filenames"`
		RequireSerial bool   `json:"require_serial"`
	}
	if err := yaml.UnmarshalStrict(text, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 1 || hooks[0].ID != "reach-census" || hooks[0].Language != "script" || hooks[0].PassFilenames == nil || *hooks[0].PassFilenames {
		t.Fatalf("unexpected: %+v", hooks)
	}
	info, err := os.Stat(filepath.Join(root, hooks[0].Entry))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%s cannot be run: %v", hooks[0].Entry, err)
	}
}

// clone is a repository whose commits go through the hook.
type clone struct {
	t   *testing.T
	dir string
	env []string
}

func newClone(t *testing.T, flags string) *clone {
	t.Helper()
	if testing.Short() {
		t.Skip("builds both programs: not in the short tests")
	}
	bin := t.TempDir()
	for name, pkg := range map[string]string{"reach": "orchestrator", "reach-analyser": "analyser"} {
		if out, err := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(bin, name), filepath.Join(root, pkg)).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
	entry, err := filepath.Abs("reach-census")
	if err != nil {
		t.Fatal(err)
	}
	c := &clone{t, filepath.Join(t.TempDir(), "a platform"), append(os.Environ(),
		"REACH="+filepath.Join(bin, "reach"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "TMPDIR="+t.TempDir())}
	c.write("clusters/hub/kustomization.yaml", "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\nresources: [team.yaml]\n")
	c.write("clusters/hub/team.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n")
	c.must("init", "-q", "-b", "main")
	c.must("config", "user.name", "a")
	c.must("config", "user.email", "a@example.com")
	c.write(".git/hooks/pre-commit", "#!/bin/sh\nexec '"+entry+"' "+flags+"\n")
	if err := os.Chmod(filepath.Join(c.dir, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *clone) write(name, text string) {
	c.t.Helper()
	name = filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clone) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *clone) must(args ...string) string {
	c.t.Helper()
	out, err := c.git(args...)
	if err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TestHook: what is staged decides, not what lies in the working tree; a first
// commit, a commit from a subfolder, a commit of some files.
func TestHook(t *testing.T) {
	c := newClone(t, "--root hub=clusters/hub --fail-on error")
	c.must("add", "-A")
	if out := c.must("commit", "-q", "-m", "first"); !strings.Contains(out, "Findings") {
		t.Errorf("the hook shows %q", out)
	}
	// The file that the layer lists is gone from the index: the build fails.
	c.must("rm", "-q", "--cached", "clusters/hub/team.yaml")
	head := c.must("rev-parse", "HEAD")
	out, err := c.git("commit", "-q", "-m", "broken")
	if err == nil || !strings.Contains(out, "reach.flux.build_failed") {
		t.Errorf("a broken commit is let pass (%v): %s", err, out)
	}
	if c.must("rev-parse", "HEAD") != head {
		t.Error("the hook moved a branch")
	}
	// Staged again, and broken in the working tree alone.
	c.must("add", "clusters/hub/team.yaml")
	c.write("clusters/hub/kustomization.yaml", "resources: [absent.yaml]\n")
	c.write("notes.txt", "x")
	c.must("add", "notes.txt")
	c.must("commit", "-q", "-m", "only what is staged")
	if out, err := c.git("commit", "-q", "-m", "by name", "clusters/hub/kustomization.yaml"); err == nil {
		t.Errorf("a broken file is let pass when it is named: %s", out)
	}
	left, err := os.ReadDir(strings.TrimPrefix(c.env[len(c.env)-1], "TMPDIR="))
	if err != nil || len(left) > 0 {
		t.Errorf("the hook leaves %v behind (%v)", left, err)
	}
}

// TestHookWithoutReach says what to do.
func TestHookWithoutReach(t *testing.T) {
	c := exec.Command("sh", "reach-census")
	c.Env = append(os.Environ(), "REACH=/nonexistent/reach")
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "put it on the PATH") {
		t.Errorf("%v: %s", err, out)
	}
}

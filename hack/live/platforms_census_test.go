package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/hack/live/internal/api"
)

// is takes a census of the cluster and compares what it says that it is.
func is(t *testing.T, p platform, repository, kubeconfig string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report")
	reach(t, "census", repository, "--root", "one=clusters/one", "--names", "real", "--out", out,
		"--kubeconfig", kubeconfig, "--context", "one=one")
	one := clusterOf(t, census(out), "one")
	if readings, _ := one["readings"].([]any); len(readings) == 0 {
		t.Fatal("nothing was read")
	}
	if got := text(one, "flavour") + ", " + text(one, "platform"); got != p.flavour+", "+p.platform {
		t.Errorf("it is %s, want %s, %s; signals: %v", got, p.flavour, p.platform, one["signals"])
	}
	for _, flavour := range p.contradicts {
		shown := false
		signals, _ := one["signals"].([]any)
		for _, s := range signals {
			decides, _ := api.At(s, "decides").(bool)
			shown = shown || decides && api.String(s, "says") == flavour
		}
		if !shown {
			t.Errorf("no signal says %s: %v", flavour, one["signals"])
		}
	}
}

// clusterOf is what census.json says of a cluster.
func clusterOf(t *testing.T, c census, name string) record {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(string(c), "census.json"))
	if err != nil {
		t.Fatal(err)
	}
	var whole struct{ Clusters []record }
	// JSON is YAML, and a census is one object over many lines.
	if err := yaml.Unmarshal(content, &whole); err != nil {
		t.Fatal(err)
	}
	for _, r := range whole.Clusters {
		if text(r, "name") == name {
			return r
		}
	}
	t.Fatalf("census.json has no cluster %s", name)
	return nil
}

// small is a repository with one cluster and one object.
func small(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "small.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "one"},
	} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v: %s", err, out)
		}
	}
	return dir
}

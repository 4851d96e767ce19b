package golden

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const census = "../../testdata/census"

// TestGolden takes every golden census the way a user does: a real commit, the
// real command, the real child process, the report on disk.
func TestGolden(t *testing.T) {
	reach := build(t)
	archives, err := filepath.Glob(census + "/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden censuses: ", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			if name := filepath.Base(path); testing.Short() && !strings.HasPrefix(name, "acme") && !strings.HasPrefix(name, "class") {
				t.Skip("-short takes acme-platform and one of each class")
			}
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range c.Diff(take(t, reach, c)) {
				t.Error(d)
			}
		})
	}
}

// build builds both programs side by side and returns the path of reach.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, pkg := range map[string]string{"reach": "../../orchestrator", "reach-analyser": "../../analyser"} {
		if out, err := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
	return filepath.Join(dir, "reach")
}

// Repository makes the case's files a commit.
func repository(t *testing.T, c *Case) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "platform")
	for p, data := range c.Files {
		f := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps := [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f"}}
	for _, s := range c.Special {
		switch f := filepath.Join(dir, filepath.FromSlash(s.Path)); s.Kind {
		case "symlink":
			if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(s.Target, f); err != nil {
				t.Fatal(err)
			}
		case "submodule":
			steps = append(steps, []string{"update-index", "--add", "--cacheinfo", "160000," + s.Target + "," + s.Path})
		}
	}
	for _, args := range append(steps, []string{"commit", "-q", "--allow-empty", "-m", "case"}) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.autocrlf=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=reach", "GIT_AUTHOR_EMAIL=reach@example.com", "GIT_AUTHOR_DATE=2026-11-01T00:00:00Z",
			"GIT_COMMITTER_NAME=reach", "GIT_COMMITTER_EMAIL=reach@example.com", "GIT_COMMITTER_DATE=2026-11-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// take runs the command, checks the formats of the report, and reads it.
func take(t *testing.T, reach string, c *Case) Census {
	t.Helper()
	out := folder(t, reach, c)
	checkFormats(t, reach, out)
	return readReport(t, out)
}

// folder runs the command and returns the report folder.
func folder(t *testing.T, reach string, c *Case) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report")
	repo := repository(t, c)
	args := append([]string{"census", repo, "--names", "real", "--out", out}, c.Flags...)
	if c.Facts != nil {
		id, err := exec.Command("git", "-C", repo, "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		c.At(strings.TrimSpace(string(id)))
		facts := filepath.Join(t.TempDir(), "facts.jsonl")
		if err := os.WriteFile(facts, c.Facts, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--facts", facts)
	}
	if c.Config != nil {
		config := filepath.Join(t.TempDir(), "reach.yaml")
		if err := os.WriteFile(config, c.Config, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", config)
	}
	cmd := exec.Command(reach, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("reach %v: %v\n%s", args, err, stderr.String())
	}
	return out
}

func readReport(t *testing.T, dir string) Census {
	t.Helper()
	got := Census{}
	files, err := filepath.Glob(dir + "/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		d := json.NewDecoder(bytes.NewReader(data))
		for d.More() {
			var r Record
			if err := d.Decode(&r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got[name] = append(got[name], r)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "census.json"))
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Counts          Record
		Clusters, Roots []Record
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		t.Fatal(err)
	}
	got["counts"], got["clusters.jsonl"], got["roots.jsonl"] = []Record{whole.Counts}, whole.Clusters, whole.Roots
	return got
}

// TestDiffConvicts plants one wrong line of every kind.
func TestDiffConvicts(t *testing.T) {
	got := Census{
		"findings.jsonl":   {{"rule": "a", "count": 1.0}, {"rule": "b", "count": 2.0}},
		"placements.jsonl": {{"path": "x", "class": "local"}, {"path": "x", "class": "remote_direct"}, {"path": "y", "class": "local"}},
		"counts":           {{"files": 3.0, "by": map[string]any{"x": 1.0, "y": 0.0}}},
	}
	for _, tt := range []struct {
		name, file, want string
		differ           bool
	}{
		{"right", "findings.jsonl", `{"rule":"a"}` + "\n# why\n" + `{"rule":"b","count":2}`, false},
		{"wrong value", "findings.jsonl", `{"rule":"a","count":2}` + "\n" + `{"rule":"b"}`, true},
		{"one too few", "findings.jsonl", `{"rule":"a"}`, true},
		{"one too many", "findings.jsonl", `{"rule":"a"}` + "\n" + `{"rule":"b"}` + "\n" + `{"rule":"b"}`, true},
		{"none at all", "findings.jsonl", "# none", true},
		{"placements of a path", "placements.jsonl", `{"path":"y","class":"local"}`, false},
		{"placement left over", "placements.jsonl", `{"path":"x","class":"local"}`, true},
		{"empty is missing", "placements.jsonl", `{"path":"y","reason":""}`, false},
		{"count", "counts.yaml", "files: 3\nby: {x: 1}\nfindings_by_rule: {a: 1, b: 1}", false},
		{"wrong count", "counts.yaml", "files: 4", true},
		{"key left out", "counts.yaml", "by: {}", true},
		{"key too many", "counts.yaml", "by: {x: 1, z: 1}", true},
		{"unknown file", "else.jsonl", `{}`, true},
		{"not JSON", "findings.jsonl", `rule a`, true},
	} {
		c := &Case{want: map[string][]byte{tt.file: []byte(tt.want)}}
		if d := c.Diff(got); (len(d) > 0) != tt.differ {
			t.Errorf("%s: %q", tt.name, d)
		}
	}
	for _, text := range []string{"claim\n-- repo/a.yaml --\n", "-- want/counts.yaml --\nfiles: 1\n", "claim\n-- else --\n"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is taken for a case", text)
		}
	}
}

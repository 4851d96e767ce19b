package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOracleAndCensus renders acme-platform and holds the census against it: they
// agree on every Kustomization that renders, a planted difference is a graph
// defect, and so is a census that was told something wrong.
func TestOracleAndCensus(t *testing.T) {
	dir := t.TempDir()
	build := func(name, from, what string) string {
		t.Helper()
		out := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", out, what)
		cmd.Dir = from
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", what, err, text)
		}
		return out
	}
	build("reach-oracle", ".", ".")
	build("reach-analyser", "../..", "./analyser")
	reach := build("reach", "../..", "./orchestrator")
	repository, config := filepath.Join(dir, "acme"), filepath.Join(dir, "acme.yaml")
	acme := exec.Command(build("acme-platform", "../..", "./hack/acme"), "-git", repository, "-config", config)
	acme.Dir = "../.."
	if text, err := acme.CombinedOutput(); err != nil {
		t.Fatalf("making acme-platform: %v\n%s", err, text)
	}
	file := filepath.Join(dir, "oracle.json")
	if text, err := exec.Command(reach, "oracle", repository, "--config", config, "--out", file).CombinedOutput(); err != nil {
		t.Fatalf("reach oracle: %v\n%s", err, text)
	}
	rendered, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type oracle struct {
		Kustomizations, Agree, Differ int
		OnlyTheirs                    int `json:"only_theirs"`
		OnlyOurs                      int `json:"only_ours"`
		TheirsFailed                  int `json:"theirs_failed"`
	}
	census := func(oracleFile []byte, configuration string) (oracle, string) {
		t.Helper()
		name, out := filepath.Join(dir, "held.json"), filepath.Join(dir, "out")
		if err := os.WriteFile(name, oracleFile, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(reach, "census", repository, "--config", configuration, "--oracle", name, "--names", "real", "--require-seal=false", "--out", out)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("reach census: %v\n%s", err, text)
		}
		data, err := os.ReadFile(filepath.Join(out, "census.json"))
		if err != nil {
			t.Fatal(err)
		}
		var c struct{ Oracle oracle }
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		findings, err := os.ReadFile(filepath.Join(out, "findings.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return c.Oracle, string(findings)
	}
	const defect = `"rule":"reach.graph.defect"`
	// 50 Kustomizations, five of which do not build (hack/acme plants them).
	if o, findings := census(rendered, config); o != (oracle{Kustomizations: 50, Agree: 45, TheirsFailed: 5}) || strings.Contains(findings, defect) {
		t.Errorf("%+v\n%s", o, findings)
	}
	planted := bytes.Replace(rendered, []byte(`"name":"apps","class":"remote_direct","target":"aks-weu-prod"`), []byte(`"name":"apps","class":"local","target":"hub-east"`), 1)
	if o, findings := census(planted, config); o.Differ != 1 || o.Agree != 44 || strings.Count(findings, defect) != 1 {
		t.Errorf("a planted difference: %+v", o)
	}
	// A census that takes another repository's source for this one's, or the
	// reverse, has a broken graph.
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.yaml")
	wrong := strings.Replace(string(text), "cluster: aks-weu-prod", "cluster: aks-weu-stage", 1)
	if err := os.WriteFile(broken, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, findings := census(rendered, broken); o.Differ < 4 || strings.Count(findings, defect) < 4 {
		t.Errorf("a broken graph: %+v", o)
	}
}

// TestSecretsStayIn: neither the result nor an error holds what a Secret says,
// also when a tool fails over it.
func TestSecretsStayIn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.ReadFile(filepath.Join("testdata", "secrets.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(archive), "=== ") {
		if name, text, ok := strings.Cut(part, "\n"); ok && name != "" {
			write(name, text)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	out := filepath.Join(t.TempDir(), "reach-oracle")
	if text, err := exec.Command("go", "build", "-o", out, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	cmd := exec.Command(out, dir)
	cmd.Stdin = strings.NewReader(`{"roots":[{"cluster":"hub","path":"hub"}]}`)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a value of a Secret: %s", text)
	}
	for _, want := range []string{
		`"name":"flux-system","class":"local","target":"hub","state":"rendered","objects":3`,
		`"name":"used","class":"local","target":"hub","state":"rendered","objects":2`,
		`"name":"by-${NAME}","class":"local"`,
		`"name":"fails","class":"local","target":"hub","state":"failed","reason":"build_failed"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the result does not hold %s: %s", want, text)
		}
	}
}

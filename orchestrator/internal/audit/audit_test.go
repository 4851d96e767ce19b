package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/orchestrator/internal/launch"
)

const root = "../../.."

// seal builds the analyser, or the canary, as `make build` does.
func seal(t *testing.T, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("links the analyser: not in the short tests")
	}
	file := filepath.Join(t.TempDir(), "reach-analyser")
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(base, file)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", append([]string{"run", "./hack/seal", "-o", relative}, args...)...)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return file
}

var planted = filepath.Join(root, "firewall/testdata/planted/binaries")

// link builds a planted program.
func link(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	c := exec.Command("go", "build", "-trimpath", "-o", file, "./"+dir)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-mod=readonly")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("linking %s: %v\n%s", dir, err, out)
	}
	return file
}

// The analyser is clean, and its canary finds no way out.
func TestAnalyser(t *testing.T) {
	o := Options{Binary: seal(t), Source: root}
	if runtime.GOOS == "linux" {
		o.Canary = seal(t, "-canary")
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Text(&text, true); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Clean {
		t.Fatalf("verdict %s:\n%s", r.Verdict, &text)
	}
	for _, m := range r.Modules {
		if m.Version == "" || m.Sum == "" && m.Edited == "" || m.Why == "" {
			t.Errorf("a module without version, checksum or reason: %+v", m)
		}
	}
	for _, w := range r.Walls {
		if len(w.Evidence) == 0 {
			t.Errorf("no evidence for %s", w.Name)
		}
		for _, l := range w.Evidence {
			if l.What == "" || l.Why == "" {
				t.Errorf("%s: a line without reason: %+v", w.Name, l)
			}
		}
	}
	if c := r.Canary; c != nil && (c.Refused+c.Skipped != len(c.Attempts) || c.Refused < 60) {
		t.Errorf("canary:\n%s", &text)
	}
	// Sealed as built, it serves whoever asks for every wall.
	a, err := launch.Start(t.Context(), launch.Options{Binary: o.Binary, Args: []string{"--require-seal"}, Repository: root})
	if err != nil {
		t.Errorf("with every wall required: %v", err)
	} else {
		a.Close()
	}
	var document map[string]any
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &document); err != nil || document["schema"] != Schema {
		t.Errorf("JSON: %v, error %v", document["schema"], err)
	}
}

// The canary, a program that is not the analyser, and one built otherwise are
// convicted.
func TestConvicted(t *testing.T) {
	for _, tt := range []struct {
		name, binary, want string
	}{
		{"canary", seal(t, "-canary"), "canary: github.com/gitops-reach/reach/firewall/canary."},
		{"another program", link(t, filepath.Join(planted, "exec")), "sandbox.Enter is not in the binary"},
	} {
		r, err := Run(t.Context(), Options{Binary: tt.binary})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := r.Text(&text, false); err != nil {
			t.Fatal(err)
		}
		if r.Verdict != Violation || !strings.Contains(text.String(), tt.want) {
			t.Errorf("%s: verdict %s, want %q in:\n%s", tt.name, r.Verdict, tt.want, &text)
		}
	}
}

// Every difference from what was committed is told.
func TestDifferences(t *testing.T) {
	source := t.TempDir()
	if err := os.MkdirAll(filepath.Join(source, "firewall/policy"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"policy.txt", "symbols.txt"} {
		if err := os.WriteFile(filepath.Join(source, "firewall/policy", f), []byte("# empty\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), Options{Binary: link(t, filepath.Join(planted, "clean")), Expected: strings.Repeat("0", 64), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the digest is not", "built with -tags=", "policy.txt of the source is not", "analyser.deps: no such file", "symbols.txt of the source is not"} {
		if !slices.ContainsFunc(r.Differences, func(d string) bool { return strings.Contains(d, want) }) {
			t.Errorf("no difference %q in %q", want, r.Differences)
		}
	}
	if r.Verdict != Violation {
		t.Errorf("verdict %s", r.Verdict)
	}
}

// What cannot be read is an error.
func TestUnreadable(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, binary := range []string{text, filepath.Join(t.TempDir(), "absent")} {
		if r, err := Run(t.Context(), Options{Binary: binary}); err == nil {
			t.Errorf("%s: %+v", binary, r)
		}
	}
	clean := link(t, filepath.Join(planted, "clean"))
	if r, err := Run(t.Context(), Options{Binary: clean, Canary: clean}); err == nil {
		t.Errorf("a canary that is none: %+v", r.Canary)
	}
}

// An attempt counts as refused only when it is possible without the seal, and
// one that escapes decides the verdict.
func TestJudge(t *testing.T) {
	for _, tt := range []struct{ sealed, unsealed, want string }{
		{killed, succeeded, Clean},
		{"refused: permission denied", succeeded, Clean},
		{skipped, skipped, Clean},
		{succeeded, succeeded, Violation},
		{killed, killed, CannotTell},
		{"the analyser hangs", succeeded, CannotTell},
	} {
		c := &Canary{Attempts: []Attempt{{Name: "a", Sealed: tt.sealed, Unsealed: tt.unsealed}}}
		c.count()
		r := &Report{Canary: c}
		if r.judge(); r.Verdict != tt.want {
			t.Errorf("sealed %s, unsealed %s: %s, want %s", tt.sealed, tt.unsealed, r.Verdict, tt.want)
		}
	}
	r := &Report{Walls: []Wall{{Verdict: CannotTell}}}
	if r.judge(); r.Verdict != CannotTell {
		t.Errorf("a wall that could not be judged: %s", r.Verdict)
	}
}

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A plain build has no audited symbols: with --require-seal it ends before it
// answers, and says why.
func TestRequireSeal(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "reach-analyser")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--require-seal", dir}, 1, "not sealed as required: symbols (built by go build"},
		{[]string{dir}, 0, ""},
		{[]string{"--unsealed", dir}, 2, "usage"},
		{nil, 2, "usage"},
		{[]string{dir, dir, dir}, 2, "usage"},
	} {
		c := exec.Command(binary, tt.args...)
		c.Env = []string{}
		var stdout, stderr bytes.Buffer
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(""), &stdout, &stderr
		_ = c.Run()
		if code := c.ProcessState.ExitCode(); code != tt.code || !strings.Contains(stderr.String(), tt.want) || tt.code != 0 && stdout.Len() > 0 {
			t.Errorf("%q: code %d, standard output %q, error %q", tt.args, code, &stdout, &stderr)
		}
	}
}

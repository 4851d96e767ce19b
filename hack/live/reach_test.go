package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/programs"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// root is the product's repository.
var root = filepath.Join("..", "..")

// theStack is the two hubs and the two spokes.
var theStack = sync.OnceValues(func() (*stack.Stack, error) {
	apis, err := shared.programs()
	if err != nil {
		return nil, err
	}
	flux, err := programs.Controllers(".", os.Stderr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	s, err := stack.Up(ctx, apis, flux, root, filepath.Join(shared.dir, "stack"), os.Stderr)
	if err == nil {
		shared.end = s.Close
	}
	return s, err
})

// clusters are the two hubs and the two spokes, at rest.
func clusters(t *testing.T) *stack.Stack {
	t.Helper()
	if testing.Short() {
		t.Skip("real clusters take minutes: not in the short tests")
	}
	s, err := theStack()
	if err != nil {
		t.Fatalf("the live clusters could not be had: %v", err)
	}
	return s
}

// built is the path of reach, with the analyser beside it.
var built = sync.OnceValues(buildReach)

// buildReach builds both programs of the product and returns the path of reach.
func buildReach() (string, error) {
	bin := filepath.Join(shared.dir, "bin")
	for name, source := range map[string]string{"reach-analyser": "./analyser", "reach": "./orchestrator"} {
		cmd := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(bin, name), source)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return filepath.Join(bin, "reach"), nil
}

// reach runs reach, which has to succeed, and returns what it printed.
func reach(t testing.TB, args ...string) string {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := execute(t, &out, program, args...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// execute runs reach. What it writes to its standard error is in the error.
func execute(t testing.TB, out io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(t.Context(), program, args...)
	// Nothing of the person who runs the tests: no kubeconfig, no home.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir()}
	var problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("reach %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return nil
}

// A record is one line of a file of the report.
type record = map[string]any

// A census is the folder of a report.
type census string

// take takes a census with the contexts of a kubeconfig that are named as their
// clusters.
func take(t testing.TB, s *stack.Stack, kubeconfig string, contexts []string, more ...string) census {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report")
	args := []string{"census", s.Repository, "--config", s.Config, "--names", "real", "--out", out}
	if contexts != nil {
		args = append(args, "--kubeconfig", kubeconfig)
	}
	for _, context := range contexts {
		args = append(args, "--context", context+"="+context)
	}
	reach(t, append(args, more...)...)
	return census(out)
}

// lines are the records of a file of the report.
func (c census) lines(t testing.TB, name string) []record {
	t.Helper()
	f, err := os.Open(filepath.Join(string(c), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var records []record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		records = append(records, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return records
}

// text is a field of a record, "" when it is not there.
func text(r record, key string) string {
	s, _ := r[key].(string)
	return s
}

package poison

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build builds a package of this module on the poisoned standard library.
// Paths are trimmed, so that a second run finds everything compiled.
func build(t *testing.T, pkg, out string) {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := Overlay(strings.TrimSpace(string(goroot)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-overlay", overlay, "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, b)
	}
}

// TestEveryWriterIsPoisoned touches each writer and wants it to panic by its
// own name: without this, a poison that has no effect would prove nothing.
func TestEveryWriterIsPoisoned(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	touch := filepath.Join(t.TempDir(), "touch")
	build(t, "./testdata/touch", touch)
	names := []string{"os.OpenFile"}
	for _, w := range Writers {
		for _, f := range w.Functions {
			names = append(names, w.Package+"."+f)
		}
	}
	for _, name := range names {
		out, err := exec.Command(touch, name).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("poisoned: "+name)) {
			t.Errorf("%s does not panic when touched: %v\n%s", name, err, out)
		}
	}
}

// TestCensusTouchesNoWriter takes a whole census with the analyser built on
// the poisoned library: of acme-platform, in which every kind of layer,
// source and finding occurs.
func TestCensusTouchesNoWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	dir := t.TempDir()
	analyser := filepath.Join(dir, "reach-analyser")
	build(t, "../../analyser", analyser)

	repo := filepath.Join(dir, "acme-platform")
	run(t, "go", "run", "./hack/acme", "-git", repo)
	out := run(t, "go", "run", "./proto/example", analyser, repo)
	if n := strings.Count(out, " lands on "); n < 400 {
		t.Errorf("the census placed %d files, want at least 400:\n%s", n, out)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.String())
	}
	return string(out)
}

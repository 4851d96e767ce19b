package browser

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// programs are built once, and so is each report.
var (
	programs = sync.OnceValues(func() (string, error) {
		dir := filepath.Join(profile, "bin")
		for name, source := range map[string]string{"reach": "../../orchestrator", "reach-analyser": "../../analyser"} {
			build := exec.Command("go", "build", "-o", filepath.Join(dir, name), source)
			if out, err := build.CombinedOutput(); err != nil {
				return "", &failure{"building " + name, string(out), err}
			}
		}
		return dir, nil
	})
	reports sync.Map
)

type failure struct {
	what, output string
	err          error
}

func (f *failure) Error() string { return f.what + ": " + f.err.Error() + "\n" + f.output }

// command runs a program and wants it to succeed.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatal(&failure{name + " " + strings.Join(args, " "), string(out), err})
	}
	return string(out)
}

// once makes a report folder unless that is done.
func once(t *testing.T, name string, make func(dir string)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("no browser in short tests")
	}
	dir := filepath.Join(profile, "reports", name)
	if _, done := reports.Load(name); !done {
		make(dir)
		reports.Store(name, true)
	}
	return dir
}

// reach runs the program.
func reach(t *testing.T, args ...string) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return command(t, filepath.Join(bin, "reach"), args...)
}

// acme is the report of acme-platform, with aliases or real names.
func acme(t *testing.T, names string) string {
	return once(t, "acme-"+names, func(dir string) {
		repository, config := dir+".git", dir+".yaml"
		command(t, "go", "run", "../acme", "-archive", "../../testdata/census/acme-platform.txtar", "-git", repository, "-config", config)
		reach(t, "census", repository, "--config", config, "--names", names, "--out", dir)
	})
}

// corpus is the report of a repository of the corpus.
func corpus(t *testing.T, name string, flags ...string) string {
	repositories := filepath.Join(profile, "corpus")
	makeRepositories, err := filepath.Abs("../../../shared/corpus/make-repos")
	if err == nil {
		_, err = os.Stat(makeRepositories)
	}
	if err != nil {
		t.Skipf("the corpus is absent: %v", err)
	}
	return once(t, name, func(dir string) {
		if _, err := os.Stat(repositories); err != nil {
			command(t, makeRepositories, repositories)
		}
		reach(t, append([]string{"census", filepath.Join(repositories, name), "--names", "real", "--out", dir}, flags...)...)
	})
}

// html is the page of a report folder.
func html(dir string) string { return filepath.Join(dir, "report.html") }

// records reads a data file of a report.
func records(t *testing.T, dir, file string) []map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []map[string]any
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		record := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		out = append(out, record)
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%s has %d records: %v", file, len(out), err)
	}
	return out
}

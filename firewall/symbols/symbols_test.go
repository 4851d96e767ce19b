package symbols

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const binaries = "../testdata/planted/binaries"

func committedRules(t *testing.T) *Rules {
	t.Helper()
	f, err := os.Open(filepath.Join("../..", PolicyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rules, err := ParseRules(PolicyFile, f)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// link builds a program as the analyser is built.
func link(t *testing.T, dir string, stripped, cgo bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", file}
	if stripped {
		args = append(args, "-ldflags=-s -w")
	}
	c := exec.Command("go", append(args, "./"+dir)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-mod=readonly")
	if cgo {
		c.Env = append(c.Env, "CGO_ENABLED=1")
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("linking %s: %v\n%s", dir, err, out)
	}
	return file
}

// wants reads the categories that a planted program is to be convicted of.
func wants(t *testing.T, dir string) []string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(source), "\n")
	list, ok := strings.CutPrefix(first, "// want:")
	if !ok {
		t.Fatalf("%s does not begin with a want", dir)
	}
	return strings.Fields(list)
}

// Every planted program is convicted of what it can do and of nothing else,
// with its symbol table and without.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	rules := committedRules(t)
	rules.Requires, rules.Readonlys = nil, nil // they are not the analyser
	dirs, err := filepath.Glob(binaries + "/*")
	if err != nil {
		t.Fatal(err)
	}
	planted := map[string]bool{}
	for _, dir := range dirs {
		want := wants(t, dir)
		for _, category := range want {
			planted[category] = true
		}
		for _, stripped := range []bool{false, true} {
			name := filepath.Base(dir) + map[bool]string{false: "", true: " stripped"}[stripped]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cgo := slices.Contains(want, Linkage)
				if _, err := exec.LookPath("gcc"); cgo && err != nil {
					t.Skip("no C compiler to plant C with")
				}
				b, err := Read(link(t, dir, stripped, cgo))
				if err != nil {
					t.Fatal(err)
				}
				if b.Stripped != stripped {
					t.Errorf("stripped: %t", b.Stripped)
				}
				verdict, err := rules.Audit(b)
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, v := range verdict.Violations {
					if v.Rule != DeadRule && !slices.Contains(got, v.Rule) {
						got = append(got, v.Rule)
					}
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("convictions (-want +got):\n%s\n%v", diff, verdict.Violations)
				}
			})
		}
	}
	for _, f := range rules.Forbids {
		if !planted[f.Category] {
			t.Errorf("no program is planted for category %s", f.Category)
		}
	}
}

// What is not the analyser, or cannot be read, gives an error and no verdict.
func TestCannotTell(t *testing.T) {
	rules := committedRules(t)
	b, err := Read(link(t, binaries+"/clean", true, false))
	if err != nil {
		t.Fatal(err)
	}
	if verdict, err := rules.Audit(b); err == nil {
		t.Errorf("another program than the analyser: %+v", verdict)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{text, filepath.Join(t.TempDir(), "absent")} {
		if b, err := Read(file); err == nil {
			t.Errorf("%s: %d functions", file, len(b.Functions))
		}
	}
}

// A line that allows what is not there is a violation.
func TestDeadAllow(t *testing.T) {
	rules, err := ParseRules("policy", strings.NewReader("forbid w ^os\\.Write -- r\nallow os.WriteFile -- r\nallow os.Gone -- r\nallow fmt.Println -- nothing forbids it\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Binary{Functions: []string{"fmt.Println", "os.WriteFile", "os.WriteFile.func1"}, Build: map[string]string{"CGO_ENABLED": "0"}}
	verdict, err := rules.Audit(b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range verdict.Violations {
		got = append(got, v.Rule+" "+v.Subject)
	}
	if diff := cmp.Diff([]string{"dead-rule os.Gone", "dead-rule fmt.Println"}, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if len(verdict.Left) != 2 {
		t.Errorf("left %v, want the function and its closure", verdict.Left)
	}
}

// The analyser that `make build` linked.
func TestBuiltAnalyser(t *testing.T) {
	b, err := Read("../../bin/reach-analyser")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("bin/reach-analyser is not built: make build")
	}
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := committedRules(t).Audit(b)
	if err != nil {
		t.Fatalf("could not tell: %v", err)
	}
	for _, v := range verdict.Violations {
		t.Error(v)
	}
}

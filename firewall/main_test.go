package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/firewall/imports"
	"github.com/gitops-reach/reach/firewall/symbols"
)

// tree is a small module with a policy and a list that need not fit.
func tree(t *testing.T, source, list string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":           "module github.com/gitops-reach/reach\n\ngo 1.26\n",
		"analyser/main.go": source,
		imports.PolicyFile: "ban chat net/smtp -- sends mail\ncapability os -- opens files\n",
		imports.DepsFile:   list,
		symbols.PolicyFile: "forbid write ^os\\.WriteFile -- writes\nrequire main.main -- the program\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	clean  = "package main\n\nimport _ \"os\"\n\nfunc main() {}\n"
	mail   = "package main\n\nimport (\n\t_ \"net/smtp\"\n\t_ \"os\"\n)\n\nfunc main() {}\n"
	broken = "package main\n\nimport _ \"example.com/absent\"\n"

	reasoned   = "std os by github.com/gitops-reach/reach\n  reason: the planted program's\n  github.com/gitops-reach/reach/analyser\n"
	reasonless = "std os by github.com/gitops-reach/reach\n  reason:\n  github.com/gitops-reach/reach/analyser\n"
)

func TestExitCodes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, source, list string
		args               []string
		code               int
		out, errOut        string
	}{
		{"clean", clean, reasoned, nil, 0, "imports: clean", ""},
		{"banned", mail, reasoned, nil, 1, "chat: net/smtp: sends mail", ""},
		{"not listed", clean, "", nil, 1, "not-listed: std os", ""},
		{"no reason", clean, reasonless, nil, 1, "reason-missing: std os", ""},
		{"does not load", broken, reasoned, nil, 2, "", "could not tell"},
		{"policy with a fault", clean, "stray\n", []string{"-C", "/dev/null"}, 2, "", "could not tell"},
		{"no binary", clean, reasoned, []string{"-binary", "absent"}, 2, "imports: clean", "symbols: could not tell"},
		{"not linked like the analyser", clean, reasoned, []string{"-binary", self}, 1, "write: os.WriteFile", ""},
		{"banned and no binary", mail, reasoned, []string{"-binary", "absent"}, 2, "chat: net/smtp", "symbols: could not tell"},
		{"unknown flag", clean, reasoned, []string{"-x"}, 2, "", "flag provided but not defined"},
		{"argument", clean, reasoned, []string{"x"}, 2, "", "unexpected argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"-C", tree(t, tt.source, tt.list)}, tt.args...)
			var out, errOut bytes.Buffer
			if code := run(t.Context(), args, &out, &errOut); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.errOut) {
				t.Errorf("output %q and %q, want %q and %q", &out, &errOut, tt.out, tt.errOut)
			}
		})
	}
}

// An update writes what is there and still fails for want of a reason; once
// that is written, nothing is left to do.
func TestUpdate(t *testing.T) {
	root := tree(t, clean, "module example.com/gone\n  reason: long ago\n  example.com/gone\n")
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"-C", root, "-update"}, &out, &errOut); code != exitViolation || !strings.Contains(out.String(), imports.ReasonMissing) {
		t.Errorf("code %d, output %q %q", code, &out, &errOut)
	}
	file := filepath.Join(root, imports.DepsFile)
	list, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(list), "\n"+reasonless) || strings.Contains(string(list), "gone") {
		t.Errorf("list:\n%s", list)
	}
	written := strings.Replace(string(list), "reason:", "reason: because", 1)
	if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := run(t.Context(), []string{"-C", root, "-update"}, &out, &errOut); code != exitClean {
		t.Errorf("code %d, output %q %q", code, &out, &errOut)
	}
	again, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != written {
		t.Errorf("the second update changed the list:\n%s", again)
	}
}

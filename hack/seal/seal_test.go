package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An edit that does not fit exactly once is an error that names the text.
func TestEdit(t *testing.T) {
	e := edit{file: "f.go", old: "\tdial()\n", new: "\treturn nil\n"}
	file := filepath.Join(t.TempDir(), "f.go")
	for _, tt := range []struct{ content, want, fails string }{
		{"a\n\tdial()\nb\n", "a\n\treturn nil\nb\n", ""},
		{"a\nb\n", "", "0 times"},
		{"\tdial()\n\tdial()\n", "", "2 times"},
	} {
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := e.apply(file)
		if tt.fails == "" && (err != nil || string(got) != tt.want) {
			t.Errorf("%q: %q, error %v, want %q", tt.content, got, err, tt.want)
		}
		if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%q: error %v, want %q", tt.content, err, tt.fails)
		}
	}
	if _, err := e.apply(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a source that is not there was edited")
	}
}

// The edits fit the sources that are installed, and are derived from them in
// any folder.
func TestDerive(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (build{root: root, dir: "build/seal"}).derive(); err != nil {
		t.Fatal(err)
	}
	edited, err := filepath.Glob(filepath.Join(root, "build/seal/grpc@*/clientconn.go"))
	if err != nil || len(edited) != 1 {
		t.Fatalf("edited files %v, error %v", edited, err)
	}
	for _, file := range append(edited, filepath.Join(root, "build/seal/transport_default_other.go")) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, old := range []string{httpEdit.old, grpcEdit.old} {
			if strings.Contains(string(content), old) {
				t.Errorf("%s still holds %q", file, old)
			}
		}
	}
}

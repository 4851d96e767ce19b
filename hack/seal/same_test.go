package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The same source gives the same bytes in two folders of different names, also
// when it is built twice in one of them; another source gives others.
func TestSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("links the analyser four times: not in the short tests")
	}
	first := source(t, "a")
	second := source(t, filepath.Join("some", "deeper folder", "b"))
	want := sumOf(t, first)
	if got := sumOf(t, first); got != want {
		t.Errorf("built twice in one folder: %s and %s", want, got)
	}
	if got := sumOf(t, second); got != want {
		t.Errorf("built in two folders: %s and %s", want, got)
	}
	main := filepath.Join(second, "analyser/main.go")
	content, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main, bytes.Replace(content, []byte("usage:"), []byte("Usage:"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if sumOf(t, second) == want {
		t.Error("another source gives the same bytes")
	}
}

// digest builds and returns what the build prints, the digest.
func sumOf(t *testing.T, root string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run([]string{"-C", root, "-o", "out/reach-analyser"}, &out); err != nil {
		t.Fatal(err)
	}
	sum, _, _ := strings.Cut(out.String(), " ")
	if len(sum) != 64 {
		t.Fatalf("the build printed %q", &out)
	}
	return sum
}

// source copies what the analyser is built from.
func source(t *testing.T, name string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	copyFile := func(file string) {
		content, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copyFile("go.mod")
	copyFile("go.sum")
	for _, dir := range []string{"analyser", "proto", "firewall/policy"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			file, err := filepath.Rel("../..", path)
			if err == nil && !strings.HasSuffix(file, "_test.go") {
				copyFile(file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

package golden

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestShortcutsChangeNothing takes every golden census, and one of every
// repository of the corpus, with and without shortcuts: the reports are the
// same files.
func TestShortcutsChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short takes every census once")
	}
	reach := build(t)
	archives, err := filepath.Glob(census + "/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden censuses: ", err)
	}
	for _, path := range archives {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			short := folder(t, reach, c)
			c.Flags = append(slices.Clone(c.Flags), "--no-shortcuts")
			sameFiles(t, short, folder(t, reach, c))
		})
	}
	script := filepath.Join("..", "..", "..", "shared", "corpus", "make-repos")
	if _, err := os.Stat(script); err != nil {
		t.Log("the corpus is not beside the project")
		return
	}
	dir := t.TempDir()
	if out, err := exec.Command(script, dir).CombinedOutput(); err != nil {
		t.Fatalf("make-repos: %v\n%s", err, out)
	}
	repositories, err := filepath.Glob(dir + "/*")
	if err != nil || len(repositories) == 0 {
		t.Fatal("no repositories: ", err)
	}
	for _, repository := range repositories {
		t.Run(filepath.Base(repository), func(t *testing.T) {
			t.Parallel()
			var reports [2]string
			for i, flags := range [][]string{nil, {"--no-shortcuts"}} {
				reports[i] = filepath.Join(t.TempDir(), "report")
				args := append([]string{"census", repository, "--names", "real", "--out", reports[i]}, flags...)
				if out, err := exec.Command(reach, args...).CombinedOutput(); err != nil {
					t.Fatalf("reach %v: %v\n%s", args, err, out)
				}
			}
			sameFiles(t, reports[0], reports[1])
		})
	}
}

// sameFiles wants two folders to hold the same bytes.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	names := func(dir string) (out []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	if !slices.Equal(names(a), names(b)) || len(names(a)) < 5 {
		t.Fatalf("the reports hold %v and %v", names(a), names(b))
	}
	for _, name := range names(a) {
		if !bytes.Equal(read(t, a, name), read(t, b, name)) {
			t.Errorf("%s differs without shortcuts", name)
		}
	}
}

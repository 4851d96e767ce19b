package document

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// seeds adds every file of the hand-made cases.
func seeds(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(b).Files {
			f.Add(unescape(string(file.Data)))
		}
	}
}

func FuzzReader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, content string) {
		if len(content) > 1<<16 {
			t.Skip("upstream is quadratic in places")
		}
		if d := agree(content); d != "" {
			t.Error(d)
		}
	})
}

package document

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus yields every manifest of the shared corpus, in a stable order. It
// skips the test when the corpus is absent.
func corpus(t testing.TB) iter.Seq2[string, string] {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	return func(yield func(string, string) bool) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !isManifest(path) {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if !yield(strings.TrimPrefix(path, root+"/"), string(b)) {
				return filepath.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func isManifest(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

package bounded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if _, _, err := ReadFile(name, "the list", 10); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "reading the list: ") {
		t.Errorf("no file: %v", err)
	}
	if _, _, err := ReadFile(filepath.Dir(name), "the list", 10); err == nil || !strings.HasPrefix(err.Error(), "reading the list: ") {
		t.Errorf("a folder: %v", err)
	}
	for _, n := range []int{0, 9, 10, 11, 1000} {
		if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		data, large, err := ReadFile(name, "the list", 10)
		if err != nil || large != (n > 10) || !large && len(data) != n || large && data != nil {
			t.Errorf("%d bytes: %d, %t, %v", n, len(data), large, err)
		}
	}
}

package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeaksBehindEscapes: a name does not hide behind the escapes of a page's
// language, and a page may have its own way to look.
func TestLeaksBehindEscapes(t *testing.T) {
	has := func(s string) string {
		if strings.Contains(s, "prod-eu") {
			return "prod-eu"
		}
		return ""
	}
	f := write(t, filepath.Join(t.TempDir(), "out"), small())
	defer f.Discard()
	if err := Leaks(f.Dir(), has, has); err != nil {
		t.Fatalf("nothing is planted: %v", err)
	}
	for _, planted := range []string{
		"prod-eu", "prod&#45;eu", "prod&#x2D;eu", `"prod\u002deu"`, "prod#45;eu", "apps/prod%2Deu/x", "%70rod-eu",
	} {
		page := filepath.Join(f.Dir(), HTMLFile)
		if err := os.WriteFile(page, []byte("<p>\n<b>"+planted+"</b>\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := Leaks(f.Dir(), has, has)
		if err == nil || !strings.Contains(err.Error(), "report.html:2") || strings.Contains(err.Error(), "prod-eu") {
			t.Errorf("%s: %v", planted, err)
		}
		never := func(string) string { return "" }
		if err := Leaks(f.Dir(), has, has, PageCheck{File: HTMLFile, Prose: never}); err != nil {
			t.Errorf("%s: the page's own check is not asked: %v", planted, err)
		}
	}
}

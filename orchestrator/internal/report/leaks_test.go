package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLeaksBehindEscapes: a name does not hide behind the escapes of a page's
// language, and a page may have its own way to look.
func TestLeaksBehindEscapes(t *testing.T) {
	has := func(s string) []string {
		if strings.Contains(s, "prod-eu") {
			return []string{"prod-eu"}
		}
		return nil
	}
	f := write(t, filepath.Join(t.TempDir(), "out"), small())
	defer f.Discard()
	if leaks, err := Leaks(f.Dir(), has, has); err != nil || len(leaks) > 0 {
		t.Fatalf("nothing is planted: %v, %v", leaks, err)
	}
	for _, planted := range []string{
		"prod-eu", "prod&#45;eu", "prod&#x2D;eu", `"prod\u002deu"`, "prod#45;eu", "apps/prod%2Deu/x", "%70rod-eu",
	} {
		page := filepath.Join(f.Dir(), HTMLFile)
		if err := os.WriteFile(page, []byte("<p>\n<b>"+planted+"</b>\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		leaks, err := Leaks(f.Dir(), has, has)
		if err != nil || len(leaks) != 1 {
			t.Errorf("%s: %v, %v", planted, leaks, err)
		} else if said := leaks[0].Error(); !strings.Contains(said, "report.html:2") || strings.Contains(said, "prod-eu") {
			t.Errorf("%s: %s", planted, said)
		}
		never := func(string) []string { return nil }
		if leaks, err := Leaks(f.Dir(), has, has, PageCheck{File: HTMLFile, Prose: never}); err != nil || len(leaks) > 0 {
			t.Errorf("%s: the page's own check is not asked: %v, %v", planted, leaks, err)
		}
	}
}

// TestLeaksInLargeFiles: lines count from the beginning of a file that is looked at
// in pieces, and every place is told.
func TestLeaksInLargeFiles(t *testing.T) {
	has := func(s string) []string {
		if strings.Contains(s, "prod-eu") {
			return []string{"prod-eu"}
		}
		return nil
	}
	f := write(t, filepath.Join(t.TempDir(), "out"), small())
	defer f.Discard()
	lines := strings.Split(strings.Repeat(strings.Repeat("x", 9)+"\n", 4*pieceSize/10), "\n")
	last := len(lines) - 2
	lines[4], lines[last] = "prod-eu", "prod-eu"
	if err := os.WriteFile(filepath.Join(f.Dir(), HTMLFile), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	leaks, err := Leaks(f.Dir(), has, has)
	if err != nil {
		t.Fatal(err)
	}
	want := []LeakError{{HTMLFile, 5, "prod-eu"}, {HTMLFile, last + 1, "prod-eu"}}
	if !slices.Equal(leaks, want) {
		t.Errorf("got %v, want %v", leaks, want)
	}
}

package document

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the cases expect")

var escapes = strings.NewReplacer(
	"<CR>", "\r", "<BOM>", "\ufeff", "<NUL>", "\x00", "<TAB>", "\t",
	"<NEL>", "\u0085", "<LS>", "\u2028", "<FF>", "\xff", "<EOF>\n", "",
)

func unescape(s string) string { return escapes.Replace(s) }

// TestCases compares what is read of each file with the file of that name and
// ".want", and with upstream.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archive := txtar.Parse(b)
		changed := false
		for i := 0; i < len(archive.Files); i += 2 {
			file := archive.Files[i]
			if i+1 == len(archive.Files) || archive.Files[i+1].Name != file.Name+".want" {
				t.Fatalf("%s: %s expects nothing", path, file.Name)
			}
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+file.Name, func(t *testing.T) {
				content := unescape(string(file.Data))
				got := outline(t, file.Name, content)
				if want := string(archive.Files[i+1].Data); got != want {
					if *update {
						archive.Files[i+1].Data, changed = []byte(got), true
					} else {
						t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
					}
				}
				if d := agree(content); d != "" {
					t.Error(d)
				}
			})
		}
		if changed {
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// outline is one line per resource and one for the error.
func outline(t *testing.T, path, content string) string {
	t.Helper()
	r, f := readOne(t, path, content, Limits{Nodes: 10_000})
	var b strings.Builder
	for _, res := range f.Resources() {
		fmt.Fprintf(&b, "%d ", r.Positions().Position(res.Pos).Line)
		if res.Reason != "" {
			fmt.Fprintln(&b, res.Reason)
			continue
		}
		fmt.Fprintf(&b, "%s %s %s/%s\n", res.Ref.APIVersion(), res.Ref.Kind, res.Ref.Namespace, res.Ref.Name)
	}
	if f.Err != nil {
		fmt.Fprintf(&b, "error %s %d\n", f.Err.Code, r.Positions().Position(f.Err.Pos).Line)
	}
	return b.String()
}

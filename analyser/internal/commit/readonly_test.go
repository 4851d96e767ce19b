package commit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// The package asks the system only for what reading needs, opens files in one
// place, and takes nothing of go-git but types and the application of deltas.
func TestOnlyReads(t *testing.T) {
	allowed := map[string][]string{
		"os":       {"Open", "Stat", "Readlink", "File"},
		"syscall":  {"ENOTDIR"},
		"plumbing": nil, // types
		"packfile": {"PatchDelta"},
	}
	imports := []string{
		"github.com/go-git/go-git/v5/plumbing", "github.com/go-git/go-git/v5/plumbing/format/packfile",
		"github.com/gitops-reach/reach/analyser/internal/snapshot",
	}
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var opens []string
	files := token.NewFileSet()
	for _, e := range names {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if strings.Contains(path, ".") && !slices.Contains(imports, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || pkg.Obj != nil {
				return true
			}
			if only := allowed[pkg.Name]; only != nil && !slices.Contains(only, sel.Sel.Name) {
				t.Errorf("%s uses %s.%s", files.Position(sel.Pos()), pkg.Name, sel.Sel.Name)
			}
			if pkg.Name == "os" && sel.Sel.Name == "Open" {
				opens = append(opens, name)
			}
			return true
		})
	}
	if !slices.Equal(opens, []string{"files.go"}) {
		t.Errorf("files are opened in %v, want it once, in files.go", opens)
	}
}

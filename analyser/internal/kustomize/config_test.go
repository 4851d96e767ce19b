package kustomize

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite expectations")

// TestDefaultFieldSpecs proves fieldspecs.txt equal to what the pinned version
// of kustomize has in its sources, in the order in which it uses them.
func TestDefaultFieldSpecs(t *testing.T) {
	want, err := parseFieldConfig(upstreamFieldSpecs(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		head, _, _ := strings.Cut(defaultFieldSpecs, "\n\n")
		if err := os.WriteFile("fieldspecs.txt", []byte(head+"\n"+want.format()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.format(), defaultConfig().format()); diff != "" {
		t.Errorf("fieldspecs.txt differs from kustomize (-kustomize +ours):\n%s", diff)
	}
	if n := len(want.NameReference); n < 15 {
		t.Errorf("only %d referral kinds found in the sources of kustomize", n)
	}
}

// upstreamFieldSpecs joins the string constants of kustomize's
// builtinpluginconsts in the way its GetDefaultFieldSpecs does.
func upstreamFieldSpecs(t *testing.T) []byte {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kustomize/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "internal/konfig/builtinpluginconsts/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	consts := map[string]ast.Expr{}
	var joined []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if i < len(n.Values) {
						consts[id.Name] = n.Values[i]
					}
				}
			case *ast.FuncDecl:
				if n.Name.Name == "GetDefaultFieldSpecs" {
					ast.Inspect(n, func(n ast.Node) bool {
						if c, ok := n.(*ast.CallExpr); ok {
							if _, conv := c.Fun.(*ast.ArrayType); conv {
								if id, ok := c.Args[0].(*ast.Ident); ok {
									joined = append(joined, id.Name)
								}
							}
						}
						return true
					})
				}
			}
			return true
		})
	}
	var value func(ast.Expr) string
	value = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return s
		case *ast.Ident:
			return value(consts[e.Name])
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		}
		t.Fatalf("constant of form %T", e)
		return ""
	}
	var parts []string
	for _, name := range joined {
		parts = append(parts, value(consts[name]))
	}
	return []byte(strings.Join(parts, "\n"))
}

package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// docs reads the comments of the contract: under "Type" that of a type, under
// "Type.Field" that of a field.
func docs(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob(filepath.Join("..", "report", "schema*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var declarations []ast.Decl
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		declarations = append(declarations, file.Decls...)
	}
	for _, declaration := range declarations {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			named := spec.(*ast.TypeSpec)
			out[named.Name.Name] = text(general.Doc)
			structure, ok := named.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					out[named.Name.Name+"."+name.Name] = text(field.Doc)
				}
			}
		}
	}
	return out
}

func text(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }

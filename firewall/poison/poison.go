// Package poison makes a Go standard library in which everything that writes,
// connects or starts a process panics as soon as it is touched. A census that
// completes on it has touched none of that, on any path that it took.
//
// The poisoned sources are derived from the installed ones and given to the
// compiler as an overlay; nothing is copied into the repository.
package poison

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
)

// Writers are the functions that are poisoned: package, file, and functions
// or methods ("Type.Name").
//
// (*os.File).Write is not among them: the protocol leaves the process through
// it. Opening a file for writing is, by its flags.
var Writers = []Target{
	{"os", "file.go", []string{"Mkdir", "Rename", "Create", "WriteFile", "Chmod", "File.Chmod"}},
	{"os", "path.go", []string{"MkdirAll", "RemoveAll"}},
	{"os", "tempfile.go", []string{"CreateTemp", "MkdirTemp"}},
	{"os", "file_unix.go", []string{"Remove", "Truncate", "Link", "Symlink"}},
	{"os", "file_posix.go", []string{"File.Truncate", "Chown", "Lchown", "Chtimes"}},
	{"os", "exec.go", []string{"StartProcess", "Process.Kill", "Process.Signal"}},
	{"os/exec", "exec.go", []string{"Command", "Cmd.Start"}},
	{"os/exec", "lookpath.go", []string{"LookPath"}},
	{"net", "dial.go", []string{"Dial", "DialTimeout", "Dialer.DialContext", "Listen", "ListenPacket"}},
	{"net", "lookup.go", []string{"LookupHost", "LookupIP", "Resolver.LookupHost", "Resolver.LookupIPAddr"}},
	{"net/http", "client.go", []string{"Client.do"}},
	{"net/http", "transport.go", []string{"Transport.roundTrip"}},
	{"syscall", "exec_unix.go", []string{"ForkExec", "StartProcess", "Exec"}},
}

// Target is a file of the standard library and the functions to poison in it.
type Target struct {
	Package, File string
	Functions     []string
}

// writeFlags poisons os.OpenFile for everything but reading.
const writeFlags = `if flag&(O_WRONLY|O_RDWR|O_APPEND|O_CREATE|O_TRUNC) != 0 { panic("poisoned: os.OpenFile for writing") };`

// Overlay writes poisoned sources below dir and returns the file for
// `go build -overlay`. It fails when a function is not where it is expected, so
// that a new Go version cannot silently unpoison anything.
func Overlay(goroot, dir string) (string, error) {
	replace := map[string]string{}
	for _, t := range Writers {
		src := filepath.Join(goroot, "src", t.Package, t.File)
		edits := map[string]string{}
		for _, f := range t.Functions {
			edits[f] = fmt.Sprintf("panic(%q);", "poisoned: "+t.Package+"."+f)
		}
		if t.Package == "os" && t.File == "file.go" {
			edits["OpenFile"] = writeFlags
		}
		text, err := edit(src, edits)
		if err != nil {
			return "", err
		}
		dst := filepath.Join(dir, t.Package, t.File)
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(dst, text, 0o644); err != nil {
			return "", err
		}
		replace[src] = dst
	}
	b, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o644)
}

// edit inserts a statement at the start of functions.
func edit(file string, insert map[string]string) ([]byte, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := map[int]string{}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		if text, ok := insert[name(fn)]; ok {
			// On the same line, so that positions in stack traces stay.
			at[fset.Position(fn.Body.Lbrace).Offset+1] = " " + text + " "
		}
	}
	if len(at) != len(insert) {
		return nil, fmt.Errorf("%s: found %d of %d functions to poison: %v", file, len(at), len(insert), insert)
	}
	var out []byte
	last := 0
	offsets := make([]int, 0, len(at))
	for o := range at {
		offsets = append(offsets, o)
	}
	slices.Sort(offsets)
	for _, o := range offsets {
		out = append(append(out, src[last:o]...), at[o]...)
		last = o
	}
	return append(out, src[last:]...), nil
}

func name(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

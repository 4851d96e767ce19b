package document

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// readOne parses one file in a fresh reader.
func readOne(t testing.TB, path, content string, limits Limits) (*Reader, *File) {
	t.Helper()
	r := NewReader(&position.Set{}, limits)
	s := snapshot.FromMap(map[string]string{path: content})
	f, err := r.Read(s, s.Entries()[0])
	if err != nil {
		t.Fatal(err)
	}
	return r, f
}

func TestReadKeepsWhatItParsed(t *testing.T) {
	r := NewReader(&position.Set{}, Limits{})
	s := snapshot.FromMap(map[string]string{"a.yaml": "kind: A\n", "b.yaml": "kind: A\n"})
	read := func(path string) *File {
		e, _ := s.Lookup(path)
		f, err := r.Read(s, e)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if first, again := read("a.yaml"), read("a.yaml"); first != again {
		t.Error("one file was parsed twice")
	}
	if read("a.yaml") == read("b.yaml") {
		t.Error("two files share positions")
	}
}

func TestConcurrentReadersShareOneFile(t *testing.T) {
	r := NewReader(&position.Set{}, Limits{})
	reads := make(chan struct{}, 1000)
	s, err := snapshot.New([]snapshot.Entry{{Path: "a.yaml", Blob: "1"}}, func(snapshot.Entry) ([]byte, error) {
		reads <- struct{}{}
		return []byte("kind: &k A\napiVersion: v1\n"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files := make([]*File, 32)
	headers := make([][]Header, 32)
	var wg sync.WaitGroup
	for i := range files {
		wg.Go(func() {
			if i%2 == 0 {
				files[i], _ = r.Read(s, s.Entries()[0])
			} else {
				headers[i], _, _ = r.Headers(s, s.Entries()[0])
			}
		})
	}
	wg.Wait()
	for i := range files {
		if i%2 == 0 && files[i] != files[0] {
			t.Fatal("the file was parsed twice")
		}
		if i%2 == 1 && (len(headers[i]) != 1 || headers[i][0].Pos != files[0].Documents[0].Pos) {
			t.Fatalf("headers %v", headers[i])
		}
	}
	if n := len(reads); n != 1 {
		t.Errorf("the content was read %d times", n)
	}
}

func TestReadNamesTheErrorOfTheContent(t *testing.T) {
	absent := errors.New("object absent")
	s, err := snapshot.New([]snapshot.Entry{{Path: "a.yaml"}}, func(snapshot.Entry) ([]byte, error) { return nil, absent })
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(&position.Set{}, Limits{})
	if f, err := r.Read(s, s.Entries()[0]); !errors.Is(err, absent) || f == nil || f.Path != "a.yaml" {
		t.Errorf("%v, %v", f, err)
	}
	if _, _, err := r.Headers(s, s.Entries()[0]); !errors.Is(err, absent) {
		t.Errorf("headers: %v", err)
	}
}

// TestScalar reads manifests in fields of a file: each document is named by
// the line on which it stands there.
func TestScalar(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "inline.txt"))
	if err != nil {
		t.Fatal(err)
	}
	r, f := readOne(t, "k.yaml", string(archive.Files[0].Data), Limits{})
	if f.Err != nil {
		t.Fatal(f.Err)
	}
	var got strings.Builder
	for _, patch := range field(f.Documents[0].Node(), "patches").Content {
		inner := r.Scalar(field(patch, "patch"))
		fmt.Fprintf(&got, "%s:", inner.Path)
		for _, d := range inner.Documents {
			fmt.Fprintf(&got, " %s %d", d.Ref.Name, r.Positions().Position(d.Pos).Line)
		}
		if inner.Err != nil {
			fmt.Fprintf(&got, " error %d", r.Positions().Position(inner.Err.Pos).Line)
		}
		got.WriteByte('\n')
	}
	if d := cmp.Diff(string(archive.Files[1].Data), got.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTextWithoutPositionHasNoLines(t *testing.T) {
	r := NewReader(&position.Set{}, Limits{})
	f := r.Text("kind: A\nx: [\n\n\n1]\n", 0)
	if f.Err != nil || len(f.Documents) != 1 {
		t.Fatalf("%+v", f)
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Line != 0 {
			t.Errorf("%q has line %d", n.Value, n.Line)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(f.Documents[0].Node())
}

func TestTextStaysInItsFile(t *testing.T) {
	r, f := readOne(t, "a.yaml", "kind: A\n", Limits{})
	r.Positions().Add("b.yaml", 10)
	inner := r.Text("\n\n\n\n\nkind: B\n", f.Documents[0].Pos)
	if got, want := r.Positions().Position(inner.Documents[0].Pos).String(), "a.yaml:2"; got != want {
		t.Errorf("at %s, want %s", got, want)
	}
}

// TestErrorsQuoteNothing breaks a file in every place and looks for its secret
// in what is said.
func TestErrorsQuoteNothing(t *testing.T) {
	const content = "apiVersion: v1\nkind: Secret\nstringData:\n  a: " + secret + "\n  b: &" + secret + " x\n  c: \"" + secret + "\"\n"
	messages := map[string]bool{}
	for i := range content {
		for _, s := range append(splinters, "*"+secret+"x", "!"+secret+"!x ", "\n%"+secret+"\n", "\n---"+secret+"\n", "\"\\"+secret) {
			for _, damaged := range []string{content[:i] + s + content[i:], content[:i] + s} {
				_, f := readOne(t, "f.yaml", damaged, Limits{})
				if f.Err == nil {
					continue
				}
				messages[f.Err.Message] = true
				if strings.Contains(f.Err.Error(), "hunter") {
					t.Fatalf("%q: %s", damaged, f.Err)
				}
			}
		}
	}
	if len(messages) < 10 {
		t.Errorf("only %d messages were seen", len(messages))
	}
}

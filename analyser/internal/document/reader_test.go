package document

import (
	"testing"

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
	if read("a.yaml") != read("a.yaml") {
		t.Error("one file was parsed twice")
	}
	if read("a.yaml") == read("b.yaml") {
		t.Error("two files share positions")
	}
}

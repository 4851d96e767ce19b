package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestRetain reads files of which one at a time has room to stay as it is: what was
// forgotten gives back its room, and what stays keeps it.
func TestRetain(t *testing.T) {
	large := func(name string) string {
		return "kind: " + name + "\nitems:\n" + strings.Repeat("- x\n", liveNodes*3/5)
	}
	r := NewReader(&position.Set{}, Limits{})
	read := func(s *snapshot.Snapshot, path string) bool {
		e, ok := s.Lookup(path)
		if !ok {
			t.Fatal("no ", path)
		}
		f, err := r.Read(s, e)
		if err != nil || f.Err != nil || len(f.Documents) != 1 {
			t.Fatalf("%s: %v, %v", path, err, f.Err)
		}
		// Only what is packed already stays so where there is room for all.
		return packed.NewRoom(10 * liveNodes).Keep(f.Documents[0].Tree)
	}
	first := snapshot.FromMap(map[string]string{"a.yaml": large("A"), "b.yaml": large("B")})
	got := fmt.Sprint(read(first, "a.yaml"), read(first, "b.yaml"))
	second := snapshot.FromMap(map[string]string{"b.yaml": large("B"), "c.yaml": large("C"), "d.yaml": large("D")})
	none := func(func(*packed.Tree) bool) {}
	r.Retain(second, none)
	got += fmt.Sprint(" ", read(second, "b.yaml"), read(second, "c.yaml"), read(second, "d.yaml"))
	// c stays, and takes the room.
	third := snapshot.FromMap(map[string]string{"c.yaml": large("C"), "e.yaml": large("E")})
	r.Retain(third, none)
	got += fmt.Sprint(" ", read(third, "c.yaml"), read(third, "e.yaml"))
	// So does what was built.
	r.Retain(snapshot.FromMap(nil), func(yield func(*packed.Tree) bool) {
		s := snapshot.FromMap(map[string]string{"f.yaml": large("F")})
		f, err := NewReader(&position.Set{}, Limits{}).Read(s, s.Entries()[0])
		if err != nil {
			t.Fatal(err)
		}
		yield(f.Documents[0].Tree)
	})
	fourth := snapshot.FromMap(map[string]string{"g.yaml": large("G")})
	got += fmt.Sprint(" ", read(fourth, "g.yaml"))
	if want := "false true true false true false true true"; strings.ReplaceAll(got, "  ", " ") != want {
		t.Errorf("packed: %s, not %s", got, want)
	}
}

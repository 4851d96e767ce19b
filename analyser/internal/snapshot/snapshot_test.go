package snapshot

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func paths(es []Entry) string {
	var out []string
	for _, e := range es {
		out = append(out, e.Path)
	}
	return strings.Join(out, " ")
}

// tree has names that sort between a directory's name and its content.
func tree() *Snapshot {
	return FromMap(map[string]string{
		"a/b/c.yaml": "c", "a/b.yaml": "b", "a-b/d.yaml": "d", "a.yaml": "a", "a/b0": "0", "a/b/\xff": "x",
	})
}

func TestLookupAndRead(t *testing.T) {
	s := tree()
	if got, want := paths(s.Entries()), "a-b/d.yaml a.yaml a/b.yaml a/b/c.yaml a/b/\xff a/b0"; got != want {
		t.Errorf("entries %q, want %q", got, want)
	}
	if b, err := s.Read("a/b/\xff"); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	for _, p := range []string{"", "a", "a/b", "a/b/", "z", "/a.yaml"} {
		if _, err := s.Read(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading %q: %v", p, err)
		}
	}
}

func TestDirectories(t *testing.T) {
	s := tree()
	for dir, want := range map[string]string{
		"": "a/ a-b/ a.yaml", "a": "b/ b.yaml b0", "a/b": "c.yaml \xff", "a-b": "d.yaml", "a.yaml": "", "z": "", "a/": "",
	} {
		var got []string
		for _, e := range s.ReadDir(dir) {
			name := e.Name
			if e.Dir {
				name += "/"
			}
			got = append(got, name)
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q (-want +got):\n%s", dir, d)
		}
		if is := s.IsDir(dir); is != (want != "") {
			t.Errorf("IsDir(%q) is %v", dir, is)
		}
	}
	for dir, want := range map[string]string{
		"a": "a/b.yaml a/b/c.yaml a/b/\xff a/b0", "a/b": "a/b/c.yaml a/b/\xff", "a.yaml": "", "z": "",
	} {
		if got := paths(s.Below(dir)); got != want {
			t.Errorf("below %q: %q, want %q", dir, got, want)
		}
	}
}

func TestNewRefusesTwoEntriesOfOnePath(t *testing.T) {
	if _, err := New([]Entry{{Path: "a"}, {Path: "b"}, {Path: "a"}}, nil); !errors.Is(err, ErrDuplicate) {
		t.Errorf("error %v", err)
	}
}

func TestNewRefusesAFileThatIsADirectory(t *testing.T) {
	for _, es := range [][]Entry{
		{{Path: "a"}, {Path: "a/b"}},
		{{Path: "a"}, {Path: "a-c"}, {Path: "a.yaml"}, {Path: "a/b/c"}},
	} {
		if _, err := New(es, nil); !errors.Is(err, ErrDuplicate) {
			t.Errorf("%s: error %v", paths(es), err)
		}
	}
}

func TestNewKeepsItsArgument(t *testing.T) {
	es := []Entry{{Path: "b"}, {Path: "a", Origin: "x/a"}}
	s, err := New(es, nil)
	if err != nil {
		t.Fatal(err)
	}
	if es[0].Path != "b" || es[0].Origin != "" {
		t.Errorf("the argument changed: %v", es)
	}
	if d := cmp.Diff([]Entry{{Path: "a", Origin: "x/a"}, {Path: "b", Origin: "b"}}, s.Entries()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOnlyFilesAreRead(t *testing.T) {
	s, err := New([]Entry{{Path: "f", Mode: Executable}, {Path: "l", Mode: Symlink}, {Path: "m", Mode: Submodule}},
		func(e Entry) ([]byte, error) { return []byte(e.Path), nil })
	if err != nil {
		t.Fatal(err)
	}
	for p, ok := range map[string]bool{"f": true, "l": false, "m": false} {
		if _, err := s.Read(p); (err == nil) != ok {
			t.Errorf("reading %s: %v", p, err)
		}
	}
}

func TestFromTxtar(t *testing.T) {
	a := txtar.Parse([]byte("-- repo/a.yaml --\nx\n-- want/b.yaml --\ny\n"))
	if got := paths(FromTxtar(a, "repo/").Entries()); got != "a.yaml" {
		t.Errorf("entries %q", got)
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		dir, rel, want string
		ok             bool
	}{
		{"a/b", "../c.yaml", "a/c.yaml", true},
		{"a", "..", "", true},
		{"a", "../..", "", false},
		{"", "..", "", false},
		{"", "..a", "..a", true},
		{"a", "./b//c/", "a/b/c", true},
		{"a", "/b", "", false},
		{"a", "../../b", "", false},
		{"", ".", "", true},
	} {
		if got, ok := Join(c.dir, c.rel); got != c.want || ok != c.ok {
			t.Errorf("Join(%q, %q) is %q, %v, want %q, %v", c.dir, c.rel, got, ok, c.want, c.ok)
		}
	}
}

func TestLines(t *testing.T) {
	for s, want := range map[string]int{"": 1, "a": 1, "a\n": 2, "a\r\nb": 2} {
		if got := Lines([]byte(s)); got != want {
			t.Errorf("%q has %d lines, want %d", s, got, want)
		}
	}
}

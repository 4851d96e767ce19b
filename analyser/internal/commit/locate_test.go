package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Alternates are followed as deep as git follows them, each once, and not
// without end.
func TestAlternates(t *testing.T) {
	var repos []*repoBuilder
	for i := range 9 {
		b := newRepo(t)
		b.loose("blob", fmt.Sprint("in ", i))
		repos = append(repos, b)
	}
	for i, b := range repos[:8] {
		b.write("objects/info/alternates", []byte(repos[i+1].path("objects")+"\n"+b.path("objects")+"\n"+repos[0].path("objects")+"\n/nowhere\n"))
	}
	r := repos[0].open(Limits{})
	for i := range repos {
		_, err := r.object(blobID(fmt.Sprint("in ", i)))
		// The first list is of depth 0: git-clone(1) and link_alt_odb_entries.
		if want := i <= altDepth+1; want != (err == nil) {
			t.Errorf("object of alternate %d: %v, want it: %t", i, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "borrows from does not exist") {
			t.Errorf("%v: does not say why", err)
		}
	}
	if dirs, err := Directories(repos[0].dir); err != nil || len(dirs) != altDepth+2 {
		t.Errorf("%d directories, %v", len(dirs), err)
	}

	many := newRepo(t)
	var list strings.Builder
	for i := range maxAlternates + 1 {
		many.write(fmt.Sprintf("alt%d/pack/.keep", i), nil)
		fmt.Fprintln(&list, many.path(fmt.Sprintf("alt%d", i)))
	}
	many.write("objects/info/alternates", []byte(list.String()))
	if _, err := Directories(many.dir); !errors.Is(err, ErrLimit) {
		t.Errorf("%d alternates: %v, want %v", maxAlternates+1, err, ErrLimit)
	}

	// What does not look like an object directory is not opened up.
	wide := newRepo(t)
	secret := t.TempDir()
	wide.write("objects/info/alternates", []byte(secret+"\n/\n"))
	dirs, err := Directories(wide.dir)
	real, linkErr := filepath.EvalSymlinks(wide.dir)
	if err != nil || linkErr != nil || !slices.Equal(dirs, []string{real}) {
		t.Errorf("directories %q, %v; want only %q", dirs, err, real)
	}
}

// Links to what is read are followed, others are not, and none opens up what is
// above the repository.
func TestLinks(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := func(b *repoBuilder, target, name string) {
		if err := os.RemoveAll(b.path(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, b.path(name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	b := newRepo(t)
	link(b, real, "hooks")
	link(b, real, "refs/tags")
	dirs, err := Directories(b.dir)
	if err != nil || len(dirs) != 2 || dirs[1] != real {
		t.Errorf("directories %q, %v; want the second to be %q", dirs, err, real)
	}
	link(b, "/", "refs/tags")
	if _, err := Directories(b.dir); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "above the repository") {
		t.Errorf("a link to the root: %v", err)
	}
	c := newRepo(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(c.dir), "refs-file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link(c, "../refs-file", "packed-refs")
	if _, err := Directories(c.dir); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a link to a file above: %v", err)
	}
	d := newRepo(t)
	link(d, "real-refs", "packed-refs")
	d.write("real-refs", nil)
	if dirs, err := Directories(d.dir); err != nil || len(dirs) != 1 {
		t.Errorf("a link inside: %q, %v", dirs, err)
	}
}

func TestUnquoteC(t *testing.T) {
	tests := map[string]string{
		`"plain"`: "plain", `"a\tb\\c\"d"rest`: "a\tb\\c\"d", `"caf\303\251"`: "café", `"open`: "", `"bad \q"`: "", `"\400"`: "", `"\`: "",
	}
	for quoted, want := range tests {
		if got, ok := unquoteC(quoted); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t; want %q", quoted, got, ok, want)
		}
	}
}

func TestBelow(t *testing.T) {
	tests := []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/a/..b", "/a", true}, {"/a", "/", true},
	}
	for _, tt := range tests {
		if got := below(filepath.FromSlash(tt.path), filepath.FromSlash(tt.dir)); got != tt.want {
			t.Errorf("%s below %s: %t", tt.path, tt.dir, got)
		}
	}
}

// Files that are too large to be what they should be are not read.
func TestLargeFiles(t *testing.T) {
	for _, name := range []string{"HEAD", "config", "commondir", "objects/info/alternates"} {
		b := newRepo(t)
		b.write(name, nil)
		if err := os.Truncate(b.path(name), 1<<40); err != nil {
			t.Skipf("no sparse files here: %v", err)
		}
		if _, err := Open(b.dir, Limits{}); err == nil {
			t.Errorf("a terabyte of %s: no error", name)
		}
	}
}

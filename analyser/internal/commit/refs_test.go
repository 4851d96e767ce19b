package commit

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// A packed ref is a whole line; what only looks like one is none.
func TestPackedRefs(t *testing.T) {
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	b := newRepo(t)
	b.write("packed-refs", []byte("# pack-refs with: peeled fully-peeled sorted refs/heads/comment\n"+
		id("1")+" refs/heads/abc\n"+
		id("2")+" refs/heads/ab\n"+
		"^"+id("3")+"\n"+
		id("4")+" refs/tags/x refs/heads/spaced\n"+
		"tooshort refs/heads/short\n"+
		id("5")+" refs/heads/last"))
	b.write("refs/heads/abc/d", []byte(id("6")+"\n")) // a directory where a ref is packed
	b.write("refs/heads/over", []byte(id("7")+"\n"))
	r := b.open(Limits{}).refs
	tests := map[string]string{
		"refs/heads/abc": "1", "refs/heads/ab": "2", "refs/heads/last": "5", "refs/heads/abc/d": "6", "refs/heads/over": "7",
		"refs/heads/a": "", "refs/heads/comment": "", "refs/heads/spaced": "", "refs/heads/short": "", "heads/ab": "", "refs/tags/x": "", "refs/heads": "",
	}
	for name, digit := range tests {
		got, err := r.resolve(name)
		if digit == "" {
			if !errors.Is(err, errNoRef) {
				t.Errorf("%s: %s, %v; want none", name, got.id, err)
			}
			continue
		}
		if err != nil || got.id != plumbing.NewHash(id(digit)) || got.name != name {
			t.Errorf("%s: %s %s, %v; want %s", name, got.name, got.id, err, digit)
		}
	}
}

// Each worktree has a HEAD and a few refs of its own and shares the others.
func TestWorktreeRefs(t *testing.T) {
	id := func(digit string) string { return strings.Repeat(digit, 40) + "\n" }
	b := newRepo(t)
	b.write("worktrees/w/commondir", []byte("../..\n"))
	for i, name := range []string{"HEAD", "refs/heads/x", "refs/bisect/x", "refs/worktree/x", "refs/rewritten/x", "ORIG_HEAD"} {
		b.write(name, []byte(id(string(rune('1'+i)))))
		b.write("worktrees/w/"+name, []byte(id(string(rune('a'+i)))))
	}
	r, err := Open(b.path("worktrees/w"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"HEAD": "a", "refs/heads/x": "2", "refs/bisect/x": "c", "refs/worktree/x": "d", "refs/rewritten/x": "e", "ORIG_HEAD": "f",
		"main-worktree/HEAD": "1", "main-worktree/refs/bisect/x": "3", "worktrees/w/HEAD": "a", "worktrees/w/refs/bisect/x": "c",
	}
	for name, digit := range tests {
		got, err := r.refs.resolve(name)
		if err != nil || got.id.String() != strings.TrimSpace(id(digit)) {
			t.Errorf("%s: %s, %v; want %s", name, got.id, err, digit)
		}
	}
}

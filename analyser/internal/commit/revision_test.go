package commit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// FuzzRevision resolves any text in a small repository: it ends, in a commit or
// in one of the errors that Resolve names.
func FuzzRevision(f *testing.F) {
	for _, rev := range []string{
		"HEAD", "@", "main~1", "main^2^{commit}~0", "main@{u}", "@{-1}", "v1^{}", "..", "a..b", ":/x", "HEAD^{/x}", "1234", "x-g1234567",
		"refs/heads/main", "main-worktree/HEAD", "worktrees/../HEAD", strings.Repeat("^", 4000) + "x", "HEAD" + strings.Repeat("^0", 2000), "main@{0}@{0}",
	} {
		f.Add(rev)
	}
	b := newRepo(f)
	first := b.commit(b.loose("tree", ""))
	second := b.loose("commit", "tree "+emptyTree.String()+"\nparent "+first.String()+"\ncommitter c <c> 1 +0000\n\n")
	tag := b.loose("tag", "object "+second.String()+"\ntype commit\ntag v1\n\n")
	b.write("refs/heads/main", []byte(second.String()))
	b.write("refs/tags/v1", []byte(tag.String()))
	b.write("packed-refs", []byte("# pack-refs with: peeled\n"+tag.String()+" refs/tags/v2\n^"+second.String()+"\n"))
	r := b.open(Limits{})
	f.Fuzz(func(t *testing.T, rev string) {
		start := time.Now()
		c, err := r.Resolve(rev)
		if err == nil && c.ID != first.String() && c.ID != second.String() {
			t.Errorf("%q is %s", rev, c.ID)
		}
		if err != nil && !errors.Is(err, ErrUnknownRevision) && !errors.Is(err, ErrAmbiguous) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrAbsent) {
			t.Errorf("%q: %v", rev, err)
		}
		if spent := time.Since(start); spent > 2*time.Second {
			t.Errorf("%q took %v", rev, spent)
		}
	})
}

// A short id counts as the only commit among several objects, and as nothing
// among several commits.
func TestShortIDs(t *testing.T) {
	b := newRepo(t)
	tree := b.loose("tree", "")
	byPrefix := map[string][]plumbing.Hash{}
	var twoCommits, withBlob string
	for i := 0; twoCommits == "" || withBlob == ""; i++ {
		id := b.loose("commit", "tree "+tree.String()+"\ncommitter c <c> "+strings.Repeat("1", i%9+1)+" +0000\n\n"+strings.Repeat("x", i))
		p := id.String()[:4]
		if byPrefix[p] = append(byPrefix[p], id); len(byPrefix[p]) > 1 {
			twoCommits = p
			continue
		}
		if withBlob == "" && i == 3 {
			withBlob = p
			// A blob whose id begins in the same way.
			for j := 0; ; j++ {
				content := fmt.Sprint("y", j)
				if blobID(content).String()[:4] == p {
					b.loose("blob", content)
					break
				}
			}
		}
	}
	r := b.open(Limits{})
	_, err := r.Resolve(twoCommits)
	if !errors.Is(err, ErrAmbiguous) {
		t.Fatalf("%s: %v, want %v", twoCommits, err, ErrAmbiguous)
	}
	for _, id := range byPrefix[twoCommits] {
		if !strings.Contains(err.Error(), id.String()) {
			t.Errorf("%v: does not name %s", err, id)
		}
		if c, err := r.Resolve(id.String()[:12]); err != nil || c.ID != id.String() {
			t.Errorf("twelve digits of %s: %s, %v", id, c.ID, err)
		}
	}
	if c, err := r.Resolve(withBlob); err != nil || c.ID[:4] != withBlob {
		t.Errorf("%s: %s, %v; want the commit, not the blob", withBlob, c.ID, err)
	}
}

func TestCommitTime(t *testing.T) {
	tests := map[string]time.Time{
		"c <c@x> 1700000000 +0100":         time.Unix(1700000000, 0).UTC(),
		"c > d <c@x> 0 -0000":              time.Unix(0, 0).UTC(),
		"c <c@x>":                          {},
		"c <c@x> -5 +0000":                 {},
		"c <c@x> 99999999999999999 +0000":  {},
		"c <c@x> 123456789012345678901234": {},
		"":                                 {},
	}
	for sig, want := range tests {
		if got := signatureTime([]byte(sig)); !got.Equal(want) {
			t.Errorf("%q is %v, want %v", sig, got, want)
		}
	}
}

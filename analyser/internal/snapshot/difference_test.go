package snapshot

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestCompare asks both snapshots everything, for random small trees.
func TestCompare(t *testing.T) {
	names := []string{"a", "b", "a-b", "c"}
	random := rand.New(rand.NewPCG(1, 2))
	tree := func() *Snapshot {
		var es []Entry
		taken := map[string]bool{}
		for range random.IntN(8) {
			p := names[random.IntN(len(names))]
			for random.IntN(3) > 0 {
				p += "/" + names[random.IntN(len(names))]
			}
			free := !taken[p]
			for d, _ := split(p); d != ""; d, _ = split(d) {
				for _, e := range es {
					free = free && e.Path != d
				}
			}
			for q := range taken {
				free = free && (len(q) <= len(p) || q[:len(p)+1] != p+"/")
			}
			if free {
				taken[p] = true
				es = append(es, Entry{Path: p, Blob: fmt.Sprint(random.IntN(2)), Mode: Mode(random.IntN(2))})
			}
		}
		s, err := New(es, func(Entry) ([]byte, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			d := names[random.IntN(len(names))] + "/" + names[random.IntN(len(names))]
			if _, isFile := s.Lookup(d); !isFile {
				if up, _ := split(d); !taken[up] {
					s = s.WithDirs([]string{d})
				}
			}
		}
		return s
	}
	var paths []string
	for _, x := range names {
		paths = append(paths, x)
		for _, y := range names {
			paths = append(paths, x+"/"+y)
			for _, z := range names {
				paths = append(paths, x+"/"+y+"/"+z)
			}
		}
	}
	paths = append(paths, "", "no", "a/no")
	differ := 0
	for range 3000 {
		a, b := tree(), tree()
		d := Compare(a, b)
		for _, p := range paths {
			x, xOK := a.Lookup(p)
			y, yOK := b.Lookup(p)
			if got, want := d.Lookup(p), xOK != yOK || x != y; got != want {
				t.Fatalf("Lookup(%q) differs: %t, not %t\n%v\n%v", p, got, want, a.entries, b.entries)
			}
			if got, want := d.IsDir(p), a.IsDir(p) != b.IsDir(p); got != want {
				t.Fatalf("IsDir(%q) differs: %t, not %t\n%v %v\n%v %v", p, got, want, a.entries, a.empty, b.entries, b.empty)
			}
			// Never a difference that is missed; one too many costs a build.
			if want := !reflect.DeepEqual(a.ReadDir(p), b.ReadDir(p)); want && !d.ReadDir(p) {
				t.Fatalf("ReadDir(%q) differs, which is not told\n%v %v\n%v %v", p, a.entries, a.empty, b.entries, b.empty)
			}
			if d.ReadDir(p) {
				differ++
			}
		}
		if same := Compare(a, a); len(same.files)+len(same.dirs)+len(same.lists) > 0 {
			t.Fatalf("a snapshot differs from itself: %v", same)
		}
	}
	if differ == 0 {
		t.Error("no directory differed")
	}
}

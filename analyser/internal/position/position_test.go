package position

import (
	"fmt"
	"sync"
	"testing"
)

func TestPosition(t *testing.T) {
	var s Set
	a := s.Add("a.yaml", 3)
	empty := s.Add("empty.yaml", 0)
	negative := s.Add("negative.yaml", -5)
	b := s.Add("b.yaml", 2)
	for _, c := range []struct {
		pos  Pos
		want string
		last Pos
	}{
		{0, "-", 0},
		{-1, "-", 0},
		{a, "a.yaml", a + 3},
		{a + 1, "a.yaml:1", a + 3},
		{a + 3, "a.yaml:3", a + 3},
		{empty, "empty.yaml", empty},
		{negative, "negative.yaml", negative},
		{b, "b.yaml", b + 2},
		{b + 2, "b.yaml:2", b + 2},
		{b + 100, "-", 0},
	} {
		if got := s.Position(c.pos).String(); got != c.want {
			t.Errorf("position %d is %s, want %s", c.pos, got, c.want)
		}
		if got := s.Last(c.pos); got != c.last {
			t.Errorf("the last line of %d is %d, want %d", c.pos, got, c.last)
		}
	}
}

func TestZeroSetKnowsNothing(t *testing.T) {
	var s Set
	if got := s.Position(1); !got.IsZero() {
		t.Errorf("an empty set knows %v", got)
	}
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	var s Set
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				path := fmt.Sprintf("%d/%d", i, j)
				base := s.Add(path, j)
				if got, want := s.Position(base+Pos(j)), (Position{path, j}); got != want {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	wg.Wait()
}

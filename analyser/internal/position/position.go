// Package position names places in files with one integer.
//
// It is the idea of go/token for manifests: a Set hands every file a range of
// positions, one per line, so that a position fits in the Line field of a
// yaml.Node and survives every copy and merge that kustomize's filters make. A
// field that a patch set therefore still says which line of which file it came
// from.
package position

import (
	"fmt"
	"sort"
	"sync"
)

// Pos is a line of a file of a Set. The zero value is no position.
type Pos int

// Position is a Pos for people: a slash-separated path and a line that counts
// from 1. Line 0 means the file as a whole.
type Position struct {
	Path string
	Line int
}

func (p Position) String() string {
	switch {
	case p.Path == "":
		return "-"
	case p.Line == 0:
		return p.Path
	}
	return fmt.Sprintf("%s:%d", p.Path, p.Line)
}

// IsZero reports whether p names nothing.
func (p Position) IsZero() bool { return p.Path == "" }

// Set is a set of files. The zero value is ready to use. It is safe for use by
// several goroutines; the numbers that it hands out depend on the order of the
// calls and must never be shown or sorted by.
type Set struct {
	mu    sync.RWMutex
	next  int
	bases []int
	paths []string
}

// Add reserves positions for a file of the given number of lines and returns
// its base. Line n of the file, counted from 1, is base+n; the base itself is
// the file as a whole. A negative number of lines counts as 0.
func (s *Set) Add(path string, lines int) Pos {
	if lines < 0 {
		lines = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == 0 {
		s.next = 1
	}
	base := s.next
	s.next += lines + 2
	s.bases = append(s.bases, base)
	s.paths = append(s.paths, path)
	return Pos(base)
}

// Position returns the place that p names, or the zero Position when p is not
// of this set.
func (s *Set) Position(p Pos) Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p <= 0 || int(p) >= s.next {
		return Position{}
	}
	i := sort.SearchInts(s.bases, int(p)+1) - 1
	if i < 0 {
		return Position{}
	}
	return Position{Path: s.paths[i], Line: int(p) - s.bases[i]}
}

// Last returns the last line of the file that p is in, or 0 when p is not of
// this set.
func (s *Set) Last(p Pos) Pos {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p <= 0 || int(p) >= s.next {
		return 0
	}
	i := sort.SearchInts(s.bases, int(p)+1)
	next := s.next
	if i < len(s.bases) {
		next = s.bases[i]
	}
	return Pos(next - 2)
}

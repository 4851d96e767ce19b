package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// tree is an artifact in the making.
type tree struct {
	files    map[string]snapshot.Entry
	dirs     map[string]bool // every directory that exists, except the root
	read     snapshot.Reader
	excluded map[string]controller.Exclusion
	unknown  []controller.UnknownPart
}

func newTree(read snapshot.Reader) *tree {
	return &tree{
		files: map[string]snapshot.Entry{}, dirs: map[string]bool{}, read: read,
		excluded: map[string]controller.Exclusion{},
	}
}

// checkout is the tree of a repository below a directory.
func checkout(repo *snapshot.Snapshot, sub string) *tree {
	t := newTree(repo.ReadEntry)
	for _, e := range repo.Below(sub) {
		e.Path = strings.TrimPrefix(strings.TrimPrefix(e.Path, sub), "/")
		if e.Path == "" {
			continue
		}
		t.put(e)
		if e.Mode == snapshot.Submodule {
			t.mkdir(e.Path) // a checkout has the directory, and nothing in it
		}
	}
	return t
}

// put adds an entry and the directories above it.
func (t *tree) put(e snapshot.Entry) {
	t.files[e.Path] = e
	t.mkdir(path.Dir(e.Path))
}

func (t *tree) mkdir(dir string) {
	for ; dir != "." && dir != "" && dir != "/" && !t.dirs[dir]; dir = path.Dir(dir) {
		t.dirs[dir] = true
	}
}

// exclude takes a file out and says why.
func (t *tree) exclude(p string, why controller.Exclusion) {
	t.excluded[t.files[p].Origin] = why
	delete(t.files, p)
}

func (t *tree) addUnknown(p string, problem *controller.Problem) {
	t.unknown = append(t.unknown, controller.UnknownPart{Path: p, Problem: problem})
}

// Unknown is why the content of a path of a view cannot be told; nil when it
// can.
func Unknown(v *controller.View, p string) *controller.Problem { return isUnknown(v.Unknown, p) }

// UnknownBelow is why something below a directory of a view cannot be told.
func UnknownBelow(v *controller.View, dir string) *controller.Problem {
	for _, u := range v.Unknown {
		if dir == "" || strings.HasPrefix(u.Path, dir+"/") {
			return u.Problem
		}
	}
	return nil
}

// isUnknown is the problem of the unknown part in which a path lies.
func isUnknown(parts []controller.UnknownPart, p string) *controller.Problem {
	for _, u := range parts {
		if u.Path == "" || p == u.Path || strings.HasPrefix(p, u.Path+"/") {
			return u.Problem
		}
	}
	return nil
}

// follow resolves symbolic links from a path of the tree. inside is false when
// they lead out of it or in circles.
func (t *tree) follow(p string) (e snapshot.Entry, ok, inside bool) {
	for range 40 {
		e, ok = t.files[p]
		if !ok || e.Mode != snapshot.Symlink {
			return e, ok, true
		}
		target, err := t.read(e)
		if err != nil {
			return e, false, false
		}
		next, in := snapshot.Join(strings.TrimSuffix(path.Dir(p), "."), string(target))
		if !in {
			return e, false, false
		}
		p = t.throughLinks(next)
	}
	return e, false, false
}

// throughLinks rewrites the first directory of p that is itself a link.
func (t *tree) throughLinks(p string) string {
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		if e, ok := t.files[p[:i]]; ok && e.Mode == snapshot.Symlink {
			if target, err := t.read(e); err == nil {
				if next, in := snapshot.Join(strings.TrimSuffix(path.Dir(p[:i]), "."), string(target)); in {
					return path.Join(next, p[i+1:])
				}
			}
		}
	}
	return p
}

// maxMatches bounds how often a pattern is compared with a path.
const maxMatches = 200_000_000

// archive takes out what an archive does not hold: everything but regular
// files, and what the rules exclude. Directories that are not excluded
// themselves stay, also when nothing is left in them.
func (t *tree) archive(m *matcher) *controller.Problem {
	if len(m.rules)*(len(t.files)+len(t.dirs)) > maxMatches {
		return &controller.Problem{Code: "limit", Message: "too many ignore patterns for too many files"}
	}
	for p, e := range t.files {
		switch e.Mode {
		case snapshot.Symlink:
			t.exclude(p, controller.Exclusion{Reason: "symlink"})
		case snapshot.Submodule:
			t.exclude(p, controller.Exclusion{Reason: "submodule"})
		default:
			if r := m.excludes(p, false); r != nil {
				t.exclude(p, r.from)
			}
		}
	}
	kept := map[string]bool{}
	for d := range t.dirs {
		if m.excludes(d, true) == nil {
			kept[d] = true
		}
	}
	t.dirs = map[string]bool{}
	for d := range kept {
		t.mkdir(d)
	}
	for p := range t.files {
		t.mkdir(path.Dir(p))
	}
	return nil
}

// view finishes a tree.
func (t *tree) view() (*controller.View, *controller.Problem) {
	entries := make([]snapshot.Entry, 0, len(t.files))
	for p, e := range t.files {
		e.Path = p
		entries = append(entries, e)
		delete(t.excluded, e.Origin) // it is there, if under another path
	}
	s, err := snapshot.New(entries, t.read)
	if err != nil {
		return nil, &controller.Problem{Code: "bad_tree", Message: err.Error()}
	}
	var empty []string
	for d := range t.dirs {
		if !s.IsDir(d) {
			empty = append(empty, d)
		}
	}
	if len(empty) > 0 {
		slices.Sort(empty)
		s = s.WithDirs(empty)
	}
	slices.SortFunc(t.unknown, func(a, b controller.UnknownPart) int { return strings.Compare(a.Path, b.Path) })
	return &controller.View{
		Snapshot: s, Key: key(s.Entries(), empty, t.unknown),
		Excluded: t.excluded, Unknown: t.unknown,
	}, nil
}

// key digests what a build can tell two views apart by.
func key(entries []snapshot.Entry, empty []string, unknown []controller.UnknownPart) string {
	h := sha256.New()
	var size [8]byte
	field := func(s string) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write([]byte(s))
	}
	for _, e := range entries {
		field(e.Path)
		field(e.Origin)
		field(e.Blob)
	}
	field("dirs")
	for _, d := range empty {
		field(d)
	}
	field("unknown")
	for _, u := range unknown {
		field(u.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// clean is a path inside an artifact, with leading ".." clamped.
func clean(p string) string { return path.Clean("/" + p)[1:] }

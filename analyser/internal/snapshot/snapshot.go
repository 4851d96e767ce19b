// Package snapshot is a read-only tree of files as a commit holds it.
//
// After the commit is opened git is gone: every later stage sees a Snapshot.
// Tests make one from a map or a txtar archive and need neither git nor disk.
//
// A Snapshot may also be a view: a source's artifact has another root than the
// repository, leaves files out, or grafts directories. Entry.Path is then the
// path inside the artifact and Entry.Origin the path in the repository.
//
// Paths are slash separated, relative, without "." and ".." elements; the root
// directory is "". They are bytes, not necessarily UTF-8, which is why this is
// not an fs.FS.
package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/tools/txtar"
)

// Mode is what kind of entry a tree holds, after git's file modes.
type Mode uint8

// The modes of git's tree entries that are not directories.
const (
	Regular    Mode = iota // 100644 and the historic 100664
	Executable             // 100755
	Symlink                // 120000; the content is the target
	Submodule              // 160000; there is no content
)

// Entry is one file of a snapshot.
type Entry struct {
	// Path inside this snapshot.
	Path string
	// Origin is the path in the repository; equal to Path unless the
	// snapshot is a view.
	Origin string
	Mode   Mode
	// Blob identifies the content: equal Blobs are equal bytes.
	Blob string
}

// IsFile reports whether the entry is a regular file, executable or not: the
// only kind that a Flux artifact holds.
func (e Entry) IsFile() bool { return e.Mode == Regular || e.Mode == Executable }

// Reader returns the content of an entry's blob. It may be called by several
// goroutines. The bytes must not be changed by the caller.
type Reader func(Entry) ([]byte, error)

// Snapshot is a set of entries with a directory index. It is immutable and
// safe for concurrent use.
type Snapshot struct {
	entries []Entry // sorted by Path
	read    Reader
	empty   map[string]bool // directories that hold no entry, and those above them
	once    sync.Once
	dirs    map[string][]DirEntry
	sizes   sync.Map // of what was read, by blob
	failed  atomic.Bool
}

// DirEntry is a name in a directory.
type DirEntry struct {
	Name string
	// Dir reports a directory; Entry is then the zero value.
	Dir   bool
	Entry Entry
}

// ErrDuplicate is returned by New for two entries with one path, or a path
// that is both a file and a directory.
var ErrDuplicate = errors.New("two entries have the same path")

// New makes a snapshot. It sorts a copy of entries by path and sets an empty
// Origin to Path.
func New(entries []Entry, read Reader) (*Snapshot, error) {
	es := slices.Clone(entries)
	for i := range es {
		if es[i].Origin == "" {
			es[i].Origin = es[i].Path
		}
	}
	slices.SortFunc(es, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(es); i++ {
		if es[i].Path == es[i-1].Path {
			return nil, fmt.Errorf("%w: %q", ErrDuplicate, es[i].Path)
		}
	}
	s := &Snapshot{entries: es, read: read}
	for _, e := range es {
		if s.IsDir(e.Path) {
			return nil, fmt.Errorf("%w: %q", ErrDuplicate, e.Path)
		}
	}
	return s, nil
}

// WithDirs returns a snapshot of the same entries in which the given
// directories exist although they may hold no entry. Git knows no empty
// directory, but an artifact does: one whose files are all left out of it.
func (s *Snapshot) WithDirs(dirs []string) *Snapshot {
	out := &Snapshot{entries: s.entries, read: s.read, empty: map[string]bool{}}
	for _, d := range dirs {
		for ; d != "" && !out.empty[d]; d, _ = split(d) {
			out.empty[d] = true
		}
	}
	return out
}

// FromMap makes a snapshot of regular files.
func FromMap(files map[string]string) *Snapshot {
	es := make([]Entry, 0, len(files))
	for p, c := range files {
		es = append(es, Entry{Path: p, Blob: c})
	}
	s, err := New(es, func(e Entry) ([]byte, error) { return []byte(e.Blob), nil })
	if err != nil {
		panic(err) // a map has no duplicates
	}
	return s
}

// FromTxtar makes a snapshot of the files of an archive below prefix, which is
// removed; prefix is empty or ends in a slash.
func FromTxtar(a *txtar.Archive, prefix string) *Snapshot {
	files := map[string]string{}
	for _, f := range a.Files {
		if p, ok := strings.CutPrefix(f.Name, prefix); ok {
			files[p] = string(f.Data)
		}
	}
	return FromMap(files)
}

// Entries returns all entries sorted by path. The slice must not be changed.
func (s *Snapshot) Entries() []Entry { return s.entries }

// Lookup returns the entry at a path.
func (s *Snapshot) Lookup(p string) (Entry, bool) {
	i := sort.Search(len(s.entries), func(i int) bool { return s.entries[i].Path >= p })
	if i < len(s.entries) && s.entries[i].Path == p {
		return s.entries[i], true
	}
	return Entry{}, false
}

// Read returns the content of the regular file at a path. The error is
// fs.ErrNotExist when there is none.
func (s *Snapshot) Read(p string) ([]byte, error) {
	e, ok := s.Lookup(p)
	if !ok || !e.IsFile() {
		return nil, fmt.Errorf("%s: %w", p, fs.ErrNotExist)
	}
	return s.ReadEntry(e)
}

// ReadEntry returns the content of an entry of this snapshot.
func (s *Snapshot) ReadEntry(e Entry) ([]byte, error) {
	b, err := s.read(e)
	if err != nil {
		s.failed.Store(true)
		return nil, err
	}
	s.sizes.Store(e.Blob, int64(len(b)))
	return b, nil
}

// Size is the size of an entry's content. It reads what was not read before, unless
// known, a snapshot of the same repository or nil, has read it.
func (s *Snapshot) Size(e Entry, known *Snapshot) (int64, error) {
	if n, ok := s.sizes.Load(e.Blob); ok {
		return n.(int64), nil
	}
	if known != nil {
		if n, ok := known.sizes.Load(e.Blob); ok {
			s.sizes.Store(e.Blob, n)
			return n.(int64), nil
		}
	}
	b, err := s.ReadEntry(e)
	return int64(len(b)), err
}

// Failed reports that some content could not be read.
func (s *Snapshot) Failed() bool { return s.failed.Load() }

// IsDir reports whether a path is a directory: a proper prefix of an entry's
// path, one that WithDirs added, or the root.
func (s *Snapshot) IsDir(p string) bool {
	if p == "" || s.empty[p] {
		return true
	}
	p += "/"
	i := sort.Search(len(s.entries), func(i int) bool { return s.entries[i].Path >= p })
	return i < len(s.entries) && strings.HasPrefix(s.entries[i].Path, p)
}

// ReadDir returns what a directory holds, sorted by name; nil when there is no
// such directory.
func (s *Snapshot) ReadDir(dir string) []DirEntry {
	s.once.Do(s.index)
	return s.dirs[dir]
}

// Below returns the entries at or below a directory, sorted by path.
func (s *Snapshot) Below(dir string) []Entry {
	if dir == "" {
		return s.entries
	}
	lo := sort.Search(len(s.entries), func(i int) bool { return s.entries[i].Path >= dir+"/" })
	hi := sort.Search(len(s.entries), func(i int) bool { return s.entries[i].Path >= dir+"0" })
	return s.entries[lo:hi]
}

func (s *Snapshot) index() {
	s.dirs = map[string][]DirEntry{}
	seen := map[string]bool{}
	for _, e := range s.entries {
		dir, name := split(e.Path)
		s.dirs[dir] = append(s.dirs[dir], DirEntry{Name: name, Entry: e})
		for dir != "" && !seen[dir] {
			seen[dir] = true
			parent, base := split(dir)
			s.dirs[parent] = append(s.dirs[parent], DirEntry{Name: base, Dir: true})
			dir = parent
		}
	}
	for dir := range s.empty {
		if parent, base := split(dir); !seen[dir] {
			s.dirs[parent] = append(s.dirs[parent], DirEntry{Name: base, Dir: true})
		}
	}
	for _, es := range s.dirs {
		slices.SortFunc(es, func(a, b DirEntry) int { return strings.Compare(a.Name, b.Name) })
	}
}

func split(p string) (dir, name string) {
	dir, name = path.Split(p)
	return strings.TrimSuffix(dir, "/"), name
}

// Join resolves a slash-separated path relative to dir, lexically. The result
// is clean; ok is false when it leads out of the root.
func Join(dir, rel string) (p string, ok bool) {
	if strings.HasPrefix(rel, "/") {
		return "", false
	}
	p = path.Join(dir, rel)
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", false
	}
	if p == "." {
		p = ""
	}
	return p, true
}

// Lines counts the lines of content as a position.Set wants them.
func Lines(content []byte) int { return bytes.Count(content, []byte{'\n'}) + 1 }

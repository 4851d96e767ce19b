package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/go-git/go-git/v5/plumbing"
)

// Types of a tree entry's mode, as in git's canon_mode.
const (
	modeType    = 0o170000
	modeTree    = 0o040000
	modeRegular = 0o100000
	modeSymlink = 0o120000
)

// treeEntry is a name in a tree.
type treeEntry struct {
	mode uint32
	name string
	id   plumbing.Hash
}

// parseTree reads a tree object. It refuses what git refuses to check out,
// because no path of a snapshot could mean it: names that are empty, ".",
// "..", ".git" in any case or hold a slash, and two entries of one name, be
// they a file and a directory. Those are errors in git fsck as well. What
// git fsck reports and git reads nevertheless is read: entries out of order,
// modes with leading zeros or unusual permissions. More than most entries are
// ErrLimit.
func parseTree(data []byte, most int) ([]treeEntry, error) {
	var entries []treeEntry
	seen := make(map[string]bool, min(len(data)/40, most))
	for len(data) > 0 {
		if len(entries) == most {
			return nil, ErrLimit
		}
		space := bytes.IndexByte(data, ' ')
		nul := bytes.IndexByte(data, 0)
		if space <= 0 || nul < space || len(data) < nul+1+idSize {
			return nil, errors.New("truncated entry")
		}
		mode, ok := parseMode(data[:space])
		if !ok {
			return nil, errors.New("malformed mode")
		}
		e := treeEntry{mode: mode, name: string(data[space+1 : nul])}
		copy(e.id[:], data[nul+1:])
		data = data[nul+1+idSize:]
		if e.name == "" || e.name == "." || e.name == ".." || strings.EqualFold(e.name, ".git") || strings.Contains(e.name, "/") {
			return nil, fmt.Errorf("entry %q: git does not check out such a name", e.name)
		}
		if seen[e.name] {
			return nil, fmt.Errorf("entry %q is there twice", e.name)
		}
		seen[e.name] = true
		entries = append(entries, e)
	}
	return entries, nil
}

func parseMode(digits []byte) (mode uint32, ok bool) {
	for _, d := range digits {
		if d < '0' || d > '7' || mode > 0o7777777 {
			return 0, false
		}
		mode = mode<<3 | uint32(d-'0')
	}
	return mode, true
}

// kind is the mode of a snapshot that git's canon_mode makes of one in a tree.
// What is none of the known types is a submodule, as there.
func (e treeEntry) kind() snapshot.Mode {
	switch e.mode & modeType {
	case modeRegular:
		if e.mode&0o100 != 0 {
			return snapshot.Executable
		}
		return snapshot.Regular
	case modeSymlink:
		return snapshot.Symlink
	}
	return snapshot.Submodule
}

// progressStep is how many entries pass between two reports of progress.
const progressStep = 1000

// Snapshot lists all files of a commit. Blobs are read when they are asked for:
// by several goroutines, each verified against its id, and forgotten after. An
// entry's Blob is the blob's id in hexadecimal; a submodule's is that of its
// commit, and reading it is an error.
//
// A tree that is absent, malformed or beyond a limit is an error that names it:
// what it holds is not known, and a shorter listing would say that it is not
// there. Progress, if not nil, is called with the number of entries so far.
func (r *Repository) Snapshot(ctx context.Context, c Commit, progress func(done int)) (*snapshot.Snapshot, error) {
	if !isID(c.Tree) {
		return nil, fmt.Errorf("commit %s: %w: no tree", c.ID, ErrCorrupt)
	}
	l := &lister{repository: r, ctx: ctx, progress: progress}
	if err := l.list(plumbing.NewHash(c.Tree)); err != nil {
		return nil, fmt.Errorf("commit %s: %w", c.ID, err)
	}
	if progress != nil {
		progress(len(l.entries))
	}
	return snapshot.New(l.entries, r.blob)
}

// lister walks the trees of a commit in the order of their paths.
type lister struct {
	repository *Repository
	ctx        context.Context
	progress   func(int)
	entries    []snapshot.Entry
	visited    int // entries of all trees that were opened
	pathBytes  int
}

// level is a directory on the way down, with what is left of it.
type level struct {
	path string // ends in a slash, but for the root
	rest []treeEntry
}

func (l *lister) list(root plumbing.Hash) error {
	top, err := l.open("", root)
	if err != nil {
		return err
	}
	stack := []level{{"", top}}
	for len(stack) > 0 {
		here := &stack[len(stack)-1]
		if len(here.rest) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		e := here.rest[0]
		here.rest = here.rest[1:]
		path := here.path + e.name
		if err := l.checkPath(path); err != nil {
			return err
		}
		if e.mode&modeType != modeTree {
			l.entries = append(l.entries, snapshot.Entry{Path: path, Origin: path, Mode: e.kind(), Blob: e.id.String()})
			continue
		}
		if len(stack) == l.repository.limits.MaxTreeDepth {
			return fmt.Errorf("directory %q: %w: nested deeper than %d", path, ErrLimit, len(stack))
		}
		rest, err := l.open(path, e.id)
		if err != nil {
			return err
		}
		stack = append(stack, level{path + "/", rest})
	}
	return nil
}

// open reads a tree.
func (l *lister) open(path string, id plumbing.Hash) ([]treeEntry, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	limits := l.repository.limits
	o, err := l.repository.object(id)
	if err == nil && o.kind != plumbing.TreeObject {
		err = fmt.Errorf("%w: %s is a %s, not a tree", ErrCorrupt, id, o.kind)
	}
	var entries []treeEntry
	if err == nil {
		entries, err = parseTree(o.data, limits.MaxFiles-l.visited)
		switch {
		case errors.Is(err, ErrLimit):
			// Where the listing stands then says nothing.
			return nil, fmt.Errorf("%w: more than %d files and directories (--max-files)", ErrLimit, limits.MaxFiles)
		case err != nil:
			err = fmt.Errorf("tree %s: %w: %w", id, ErrCorrupt, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("directory %q: %w", path, err)
	}
	before := l.visited
	l.visited += len(entries)
	if l.progress != nil && before/progressStep != l.visited/progressStep {
		l.progress(len(l.entries))
	}
	return entries, nil
}

// meanPath times the number of files is the memory that paths may take.
const meanPath = 256

func (l *lister) checkPath(path string) error {
	limits := l.repository.limits
	if len(path) > limits.MaxPath {
		return fmt.Errorf("%w: a path longer than %d bytes, which starts with %.200q", ErrLimit, limits.MaxPath, path)
	}
	if l.pathBytes += len(path); l.pathBytes > limits.MaxFiles*meanPath+limits.MaxPath {
		return fmt.Errorf("%w: the paths of all files are longer than %d bytes each in the mean of --max-files", ErrLimit, meanPath)
	}
	return nil
}

// blob is the snapshot.Reader of a repository.
func (r *Repository) blob(e snapshot.Entry) ([]byte, error) {
	if e.Mode == snapshot.Submodule {
		return nil, fmt.Errorf("%q: %w: a submodule has no content here", e.Origin, ErrUnsupported)
	}
	if !isID(e.Blob) {
		return nil, fmt.Errorf("%q: %w: no blob %q", e.Origin, ErrCorrupt, e.Blob)
	}
	o, err := r.object(plumbing.NewHash(e.Blob))
	if err == nil && o.kind != plumbing.BlobObject {
		err = fmt.Errorf("%w: %s is a %s, not a blob", ErrCorrupt, e.Blob, o.kind)
	}
	if size := int64(len(o.data)); err == nil && size > r.limits.MaxBlob {
		err = fmt.Errorf("%w: %d bytes, more than %d (--max-blob-bytes)", ErrLimit, size, r.limits.MaxBlob)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", e.Origin, err)
	}
	return o.data, nil
}

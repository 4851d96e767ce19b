package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// refs reads refs as files and packed refs.
type refs struct {
	at *Location

	once      sync.Once
	packed    []byte
	packedErr error
}

const (
	maxPackedRefs = 512 << 20
	maxSymbolic   = 5 // as in git's SYMREF_MAXDEPTH
)

// ref is what a name means.
type ref struct {
	name string // full name, symbolic refs followed
	id   plumbing.Hash
}

// errNoRef: there is no ref of that name, or a symbolic one leads to none.
var errNoRef = errors.New("no such ref")

// resolve follows a full name. The error is errNoRef, or ErrCorrupt for a file
// that is no ref; ref.name is then where it ended.
func (r *refs) resolve(name string) (ref, error) {
	for range maxSymbolic + 1 {
		if !validRefName(name) {
			return ref{name: name}, fmt.Errorf("%q: %w: not the name of a ref", name, errNoRef)
		}
		target, id, err := r.read(name)
		if err != nil || target == "" {
			return ref{name, id}, err
		}
		name = target
	}
	return ref{name: name}, fmt.Errorf("%q: %w: symbolic refs in a circle, or too many", name, ErrCorrupt)
}

// symbolic returns what a symbolic ref names, without following further.
func (r *refs) symbolic(name string) (string, error) {
	target, _, err := r.read(name)
	return target, err
}

// read returns the target of a symbolic ref or the id of another one.
func (r *refs) read(name string) (target string, id plumbing.Hash, err error) {
	dir, rel := r.at.CommonDir, name
	switch {
	case strings.HasPrefix(name, "main-worktree/"):
		rel = name[len("main-worktree/"):]
	case perWorktree(name):
		dir = r.at.GitDir
	}
	if name == "HEAD" && r.at.headLink != "" {
		return r.at.headLink, id, nil
	}
	data, err := readRefFile(filepath.Join(dir, filepath.FromSlash(rel)))
	if errors.Is(err, fs.ErrNotExist) {
		return r.readPacked(name)
	}
	if err != nil {
		return "", id, err
	}
	if rest, ok := bytes.CutPrefix(data, []byte("ref:")); ok {
		return string(bytes.TrimSpace(rest)), id, nil
	}
	if len(data) < 2*idSize || !isID(string(data[:2*idSize])) || len(data) > 2*idSize && !isConfigSpace(data[2*idSize]) {
		return "", id, fmt.Errorf("ref %q: %w: neither an id nor a symbolic ref", name, ErrCorrupt)
	}
	return "", plumbing.NewHash(string(data[:2*idSize])), nil
}

// readRefFile reads the beginning of a ref's file: FETCH_HEAD goes on after its
// first id. A directory is no ref.
func readRefFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if notThere(err) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return nil, fs.ErrNotExist
	}
	var buf [4096]byte
	n, err := readUpTo(f, buf[:])
	return buf[:n], err
}

// perWorktree reports refs that each worktree has of its own: those outside
// refs/ and three folders, see gitglossary(7).
func perWorktree(name string) bool {
	return !strings.HasPrefix(name, "refs/") && !strings.HasPrefix(name, "worktrees/") ||
		strings.HasPrefix(name, "refs/bisect/") ||
		strings.HasPrefix(name, "refs/worktree/") ||
		strings.HasPrefix(name, "refs/rewritten/")
}

// readPacked looks a name up in packed-refs: lines "<hex> <name>", comments,
// and "^<hex>" for what the tag above names.
func (r *refs) readPacked(name string) (string, plumbing.Hash, error) {
	r.once.Do(func() {
		r.packed, r.packedErr = readFile(filepath.Join(r.at.CommonDir, "packed-refs"), maxPackedRefs)
		if notThere(r.packedErr) {
			r.packedErr = nil
		}
	})
	if r.packedErr != nil {
		return "", plumbing.ZeroHash, r.packedErr
	}
	want := []byte(" " + name)
	for data := r.packed; ; {
		i := bytes.Index(data, want)
		if i < 0 {
			return "", plumbing.ZeroHash, fmt.Errorf("%q: %w", name, errNoRef)
		}
		end := i + len(want)
		if wholeLine := i >= 2*idSize && (i == 2*idSize || data[i-2*idSize-1] == '\n') &&
			(end == len(data) || data[end] == '\n'); wholeLine {
			if hex := string(data[i-2*idSize : i]); isID(hex) {
				return "", plumbing.NewHash(hex), nil
			}
		}
		// A line that begins with the rest is not cut off: it begins with
		// an id, which want does not hold.
		data = data[i+1:]
	}
}

// rules are how git completes a short name, in order (ref_rev_parse_rules).
var rules = [...][2]string{
	{"", ""},
	{"refs/", ""},
	{"refs/tags/", ""},
	{"refs/heads/", ""},
	{"refs/remotes/", ""},
	{"refs/remotes/", "/HEAD"},
}

// find completes a name as git does. The first match counts; shadowed are the
// full names of the others. The error is errNoRef when there is none. A ref
// whose file is damaged matches, so that no other one stands in for it.
func (r *refs) find(name string) (found ref, shadowed []string, err error) {
	matched := false
	for i, rule := range rules {
		full := rule[0] + name + rule[1]
		if i == 0 && !rootRef(name) || !validRefName(full) {
			continue
		}
		got, e := r.resolve(full)
		switch {
		case errors.Is(e, errNoRef):
			if i == 0 && name == "HEAD" && got.name != "HEAD" {
				err = fmt.Errorf("%w: it means %q, which has no commit yet", ErrUnknownRevision, got.name)
			}
		case matched:
			shadowed = append(shadowed, full)
		default:
			found, matched, err = got, true, e
		}
	}
	if !matched && err == nil {
		err = errNoRef
	}
	return found, shadowed, err
}

// rootRef reports names that stand alone: refs/..., HEAD, FETCH_HEAD and their
// like, and those of other worktrees. Other files in the git directory are no
// refs.
func rootRef(name string) bool {
	for _, p := range []string{"refs/", "main-worktree/", "worktrees/"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}

// validRefName is git-check-ref-format(1), one level allowed.
func validRefName(name string) bool {
	if name == "" || name == "@" || len(name) > 4096 ||
		strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.ContainsAny(name, " ~^:?*[\\\x7f") {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

package commit

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Location is where a repository's files are. It is found before the process
// gives up the right to look around.
type Location struct {
	// GitDir holds HEAD. For a linked worktree it is below the common
	// directory of the repository.
	GitDir string
	// CommonDir holds refs, configuration and objects.
	CommonDir string

	headLink   string   // target when HEAD is a symbolic link, as old git made it
	objectDirs []string // own first, then alternates in the order of the files
	lost       []string // alternates that do not exist
	linked     []string // directories that symbolic links lead to
}

// Bounds on what is followed before anything is verified.
const (
	maxGitFile    = 1 << 20 // as in git's read_gitfile
	maxAlternates = 64
	altDepth      = 5 // as in git's link_alt_odb_entries
	maxSmallFile  = 16 << 20
)

// Directories returns the directories, absolute and without symbolic links,
// that reading the repository at path needs: the git directory first, the
// common directory of a linked worktree, alternates, and whatever else a
// symbolic link in them leads to. None lies below an earlier one. No object is
// read.
//
// A process that confines itself to these directories afterwards must open the
// repository by the first of them or by the Location: the .git file of a
// linked worktree is not below any of them.
func Directories(path string) ([]string, error) {
	l, err := Locate(path)
	if err != nil {
		return nil, err
	}
	return l.Directories(), nil
}

// Directories of a location, see the function of that name.
func (l *Location) Directories() []string {
	all := append([]string{l.GitDir, l.CommonDir}, l.objectDirs...)
	all = append(all, l.linked...)
	var dirs []string
	for _, d := range all {
		if !slices.ContainsFunc(dirs, func(have string) bool { return below(d, have) }) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Locate finds the repository that path means: a work tree or a directory in
// one, a linked worktree, a bare repository, a .git directory or file.
func Locate(path string) (*Location, error) {
	start, err := filepath.Abs(path)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if notThere(err) {
		return nil, fmt.Errorf("%s: no such path: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(start); err != nil {
		return nil, err
	} else if !st.IsDir() {
		if filepath.Base(start) != ".git" {
			return nil, fmt.Errorf("%s is a file: %w", path, ErrNotRepository)
		}
		return followGitFile(start)
	}
	var reason error // why the nearest .git directory is none
	for dir := start; ; dir = filepath.Dir(dir) {
		dotGit := filepath.Join(dir, ".git")
		if st, err := os.Stat(dotGit); err == nil && !st.IsDir() {
			return followGitFile(dotGit)
		} else if err == nil {
			l, err := newLocation(dotGit)
			if !errors.Is(err, ErrNotRepository) {
				return l, err
			}
			if reason == nil {
				reason = err
			}
		}
		l, err := newLocation(dir)
		if !errors.Is(err, ErrNotRepository) {
			return l, err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if reason != nil {
		return nil, fmt.Errorf("%s: %w", path, reason)
	}
	return nil, fmt.Errorf("%s: neither it nor a directory above it is a git repository: %w", path, ErrNotRepository)
}

// followGitFile reads the ".git" file of a linked worktree or submodule.
func followGitFile(file string) (*Location, error) {
	data, err := readFile(file, maxGitFile)
	if err != nil {
		return nil, err
	}
	target, ok := bytes.CutPrefix(bytes.TrimRight(data, "\r\n"), []byte("gitdir: "))
	if !ok || len(target) == 0 {
		return nil, fmt.Errorf("%s does not say where the git directory is: %w", file, ErrNotRepository)
	}
	l, err := newLocation(absolute(string(target), filepath.Dir(file)))
	if err != nil {
		return nil, fmt.Errorf("%s leads to %s (was the repository moved or removed?): %w", file, target, err)
	}
	return l, nil
}

func absolute(path, base string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// newLocation checks what git's is_git_directory checks and follows commondir
// and alternates.
func newLocation(gitDir string) (*Location, error) {
	real, err := filepath.EvalSymlinks(gitDir)
	if err != nil {
		return nil, notARepository(gitDir, "it does not exist")
	}
	l := &Location{GitDir: real, CommonDir: real}
	head := filepath.Join(real, "HEAD")
	if target, err := os.Readlink(head); err == nil && strings.HasPrefix(target, "refs/") {
		l.headLink = target
	} else if data, err := readFile(head, maxSmallFile); err != nil {
		return nil, notARepository(gitDir, "it has no HEAD")
	} else if !validHead(data) {
		return nil, notARepository(gitDir, "its HEAD is neither a ref nor an id")
	}
	common, err := readFile(filepath.Join(real, "commondir"), maxGitFile)
	switch {
	case err == nil:
		dir := absolute(strings.TrimRight(string(common), "\r\n"), real)
		if l.CommonDir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, notARepository(gitDir, "its common directory "+dir+" does not exist")
		}
	case !notThere(err):
		return nil, err
	}
	for _, name := range []string{"objects", "refs"} {
		if !isDirectory(filepath.Join(l.CommonDir, name)) {
			return nil, notARepository(gitDir, "it has no directory "+name)
		}
	}
	if err := checkFormat(l); err != nil {
		return nil, err
	}
	objects, err := filepath.EvalSymlinks(filepath.Join(l.CommonDir, "objects"))
	if err != nil {
		return nil, err
	}
	l.objectDirs = []string{objects}
	if err := l.followAlternates(objects, 0); err != nil {
		return nil, err
	}
	return l, l.followLinks()
}

func notARepository(dir, why string) error {
	return fmt.Errorf("%s: %s: %w", dir, why, ErrNotRepository)
}

func validHead(data []byte) bool {
	if rest, ok := bytes.CutPrefix(data, []byte("ref:")); ok {
		return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\n\r"), []byte("refs/"))
	}
	if len(data) < 40 {
		return false
	}
	_, err := hex.DecodeString(string(data[:40]))
	return err == nil
}

// followAlternates adds the object directories that dir borrows from, each
// once, at most altDepth deep: more is ignored, as by git.
func (l *Location) followAlternates(dir string, depth int) error {
	if depth > altDepth {
		return nil
	}
	data, err := readFile(filepath.Join(dir, "info", "alternates"), maxGitFile)
	if notThere(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			if s, ok := unquoteC(line); ok {
				line = s
			}
		}
		named := absolute(line, dir)
		alt, err := filepath.EvalSymlinks(named)
		// Only a directory that looks like an object store is opened up.
		if err != nil || !isDirectory(filepath.Join(alt, "pack")) && !isDirectory(filepath.Join(alt, "info")) {
			l.lost = append(l.lost, named)
			continue
		}
		if slices.Contains(l.objectDirs, alt) {
			continue
		}
		if len(l.objectDirs) == maxAlternates {
			return fmt.Errorf("%s: more than %d alternate object directories: %w", l.GitDir, maxAlternates, ErrLimit)
		}
		l.objectDirs = append(l.objectDirs, alt)
		if err := l.followAlternates(alt, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// topLevel are the names in a git directory that are read.
var topLevel = []string{"HEAD", "config", "config.worktree", "commondir", "packed-refs", "shallow", "refs", "objects"}

// followLinks finds the directories that symbolic links inside the repository
// lead to, one level of links deep: `repo` and git-new-workdir make such. A
// link to a directory above the repository, or to a file in one, is refused: it
// would open up everything there.
func (l *Location) followLinks() error {
	dirs := []string{l.GitDir, l.CommonDir}
	for _, name := range []string{"refs", "refs/heads", "refs/tags", "refs/remotes"} {
		dirs = append(dirs, filepath.Join(l.CommonDir, filepath.FromSlash(name)))
	}
	for _, objects := range l.objectDirs {
		dirs = append(dirs, objects, filepath.Join(objects, "pack"), filepath.Join(objects, "info"))
	}
	for i, dir := range dirs {
		entries, err := readDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink == 0 || i < 2 && !slices.Contains(topLevel, e.Name()) {
				continue
			}
			link := filepath.Join(dir, e.Name())
			target, err := filepath.EvalSymlinks(link)
			if err != nil {
				continue // dangling
			}
			if !isDirectory(target) {
				target = filepath.Dir(target)
			}
			above := func(dir string) bool { return target != dir && below(dir, target) }
			if above(l.CommonDir) || above(l.GitDir) && !below(target, l.CommonDir) {
				return fmt.Errorf("%s is a symbolic link to %s, above the repository: %w", link, target, ErrUnsupported)
			}
			l.linked = append(l.linked, target)
		}
	}
	slices.Sort(l.linked)
	l.linked = slices.Compact(l.linked)
	return nil
}

// unquoteC undoes git's quote_c_style; whatever follows the closing quote is
// ignored.
func unquoteC(s string) (string, bool) {
	const plain, meant = `abfnrtv\"`, "\a\b\f\n\r\t\v\\\""
	var out []byte
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return string(out), true
		case c != '\\':
			out = append(out, c)
		case i+1 < len(s) && strings.IndexByte(plain, s[i+1]) >= 0:
			out = append(out, meant[strings.IndexByte(plain, s[i+1])])
			i++
		case i+3 < len(s) && '0' <= s[i+1] && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return "", false
		}
	}
	return "", false
}

func isOctal(b byte) bool { return '0' <= b && b <= '7' }

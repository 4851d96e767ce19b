// Package clone finds the directories that belong to a clone of a git
// repository, without reading anything but the few files that name them.
//
// It knows work trees, linked work trees, bare repositories, .git directories
// and .git files. It does not read history or objects: whether the repository is
// sound is for the analyser to say.
package clone

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Clone is a clone of a repository.
type Clone struct {
	// Path is what the user named, absolute.
	Path string
	// GitDir holds HEAD; for a linked work tree it lies inside CommonDir, which
	// holds refs and objects.
	GitDir, CommonDir string
	// Dirs are all directories that belong to the clone, symbolic links
	// resolved: work trees, git directories and the object stores of
	// alternates.
	Dirs []string
}

// Name is the last element of the directory of the main work tree, or of the
// bare repository.
func (c Clone) Name() string {
	dir := c.CommonDir
	if filepath.Base(dir) == ".git" {
		dir = filepath.Dir(dir)
	}
	return strings.TrimSuffix(filepath.Base(dir), ".git")
}

// Locate finds the clone at path: a work tree or a git directory. The error
// says in one sentence what is wrong.
func Locate(path string) (Clone, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Clone{}, fmt.Errorf("finding %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Clone{}, fmt.Errorf("%s does not exist: name the folder of a local clone", path)
	case err != nil:
		return Clone{}, fmt.Errorf("finding the clone: %w", err)
	case !info.IsDir():
		return Clone{}, fmt.Errorf("%s is a file: name the folder of a local clone", path)
	}
	gitDir, workTree, err := gitDirectory(abs)
	if err != nil {
		return Clone{}, err
	}
	if gitDir == "" {
		if around := enclosing(abs); around != "" {
			return Clone{}, fmt.Errorf("%s is not a git repository, it lies inside the clone %s: name that instead", path, around)
		}
		return Clone{}, fmt.Errorf("%s is not a git repository: name the folder of a local clone, or make one with git clone", path)
	}
	c := Clone{Path: abs, GitDir: gitDir, CommonDir: gitDir}
	if common, ok := readLine(filepath.Join(gitDir, "commondir")); ok {
		c.CommonDir = resolve(gitDir, common)
	}
	if !isDir(filepath.Join(c.CommonDir, "objects")) {
		return Clone{}, fmt.Errorf("%s belongs to the git repository %s, which is not there: run git worktree repair, or name the repository itself", path, c.CommonDir)
	}
	c.Dirs = directories(c, workTree)
	return c, nil
}

// gitDirectory returns the git directory of path and, when it is not path
// itself, the work tree; "" when path is neither.
func gitDirectory(path string) (gitDir, workTree string, err error) {
	dotGit := filepath.Join(path, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.IsDir() && isGitDir(dotGit):
		return dotGit, path, nil
	case err == nil && info.Mode().IsRegular():
		line, _ := readLine(dotGit)
		target, ok := strings.CutPrefix(line, "gitdir:")
		if !ok {
			return "", "", fmt.Errorf("%s does not say where the git directory is: name the repository itself", dotGit)
		}
		dir := resolve(path, strings.TrimSpace(target))
		if !isGitDir(dir) {
			return "", "", fmt.Errorf("%s says that the git directory is %s, which is none: run git worktree repair, or name the repository itself", dotGit, dir)
		}
		return dir, path, nil
	}
	if isGitDir(path) {
		return path, "", nil
	}
	return "", "", nil
}

// isGitDir tells a git directory as git does: HEAD, and refs and objects or the
// name of the directory that has them.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, ok := readLine(filepath.Join(dir, "commondir")); ok {
		return true
	}
	return isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

// directories lists what belongs to the clone.
func directories(c Clone, workTree string) []string {
	dirs := []string{c.GitDir, c.CommonDir}
	if workTree != "" {
		dirs = append(dirs, workTree)
	}
	if filepath.Base(c.CommonDir) == ".git" {
		dirs = append(dirs, filepath.Dir(c.CommonDir))
	}
	linked, _ := filepath.Glob(filepath.Join(globEscape(c.CommonDir), "worktrees", "*", "gitdir"))
	for _, file := range linked {
		if line, ok := readLine(file); ok {
			dirs = append(dirs, filepath.Dir(resolve(filepath.Dir(file), line)))
		}
	}
	objects := filepath.Join(c.CommonDir, "objects")
	for _, alternate := range readLines(filepath.Join(objects, "info", "alternates")) {
		if !strings.HasPrefix(alternate, "#") {
			dirs = append(dirs, resolve(objects, alternate))
		}
	}
	var out []string
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			out = append(out, real)
		}
	}
	return out
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// enclosing returns the nearest folder above path that is a work tree.
func enclosing(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if gitDir, _, err := gitDirectory(dir); err == nil && gitDir != "" {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Contains returns the directory of the clone that path lies in, or is; "" when
// it lies in none. path need not exist; symbolic links are resolved as far as it
// does.
func (c Clone) Contains(path string) (string, error) {
	real, err := Resolve(path)
	if err != nil {
		return "", err
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil {
			for _, own := range c.Dirs {
				// Not by name: letter case and mounts give a folder several.
				if ownInfo, err := os.Stat(own); err == nil && os.SameFile(info, ownInfo) {
					return own, nil
				}
			}
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

// Resolve returns path, absolute and with the symbolic links of its existing
// part resolved.
func Resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", path, err)
	}
	rest := ""
	for dir := abs; ; {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if target, linkErr := os.Readlink(dir); linkErr == nil {
			return "", fmt.Errorf("%s is a symbolic link to %s, which does not exist", dir, target)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding %s: %w", path, err)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
}

func resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func readLine(name string) (string, bool) {
	lines := readLines(name)
	if len(lines) == 0 {
		return "", false
	}
	return lines[0], true
}

// readLines reads a file of paths; at most 64 KiB, which is what git writes at
// the very most.
func readLines(name string) []string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			out = append(out, line)
		}
	}
	return out
}

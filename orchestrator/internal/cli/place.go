package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gitops-reach/reach/orchestrator/internal/clone"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// defaultFolder holds reports when nothing else is said.
const defaultFolder = "reach-report"

// place is where a report and its alias file go.
type place struct {
	// folder is --out; empty with base set: a folder below base that is named
	// after the repository and the commit.
	folder, base string
	aliasFile    string
}

// findPlace decides where to write before any work is done, and refuses what
// cannot be: a place inside the clone, a folder that is no report, a folder that
// cannot be written.
func findPlace(c clone.Clone, out, aliasFile string) (place, error) {
	var p place
	if out != "" {
		folder, err := clone.Resolve(out)
		if err != nil {
			return place{}, err
		}
		p.folder, p.aliasFile = folder, folder+".aliases.json"
		if err := outside(c, folder, "the output folder", "--out"); err != nil {
			return place{}, err
		}
		if err := report.CheckTarget(folder); err != nil {
			return place{}, err
		}
	} else {
		base, err := defaultBase(c)
		if err != nil {
			return place{}, err
		}
		// One for each clone, so that aliases stay what they are from commit to
		// commit; its name, which is printed, says nothing.
		id := sha256.Sum256([]byte(c.CommonDir))
		p.base, p.aliasFile = base, filepath.Join(base, fmt.Sprintf("aliases-%x.json", id[:4]))
	}
	if err := writable(p.folder + p.base); err != nil {
		return place{}, err
	}
	if aliasFile != "" {
		file, err := clone.Resolve(aliasFile)
		if err != nil {
			return place{}, err
		}
		p.aliasFile = file
		if err := outside(c, file, "the alias file", "--alias-file"); err != nil {
			return place{}, err
		}
		if p.folder != "" && within(file, p.folder) {
			return place{}, fmt.Errorf("the alias file %s would be part of the report %s: it holds real names, so name a place outside with --alias-file", file, p.folder)
		}
	}
	return p, nil
}

// defaultBase is reach-report in the current folder, or beside the clone when
// the current folder is part of it.
func defaultBase(c clone.Clone) (string, error) {
	dir, err := clone.Resolve(".")
	if err != nil {
		return "", err
	}
	for {
		own, err := c.Contains(dir)
		if err != nil {
			return "", err
		}
		if own == "" {
			break
		}
		if own == filepath.Dir(own) {
			return "", errors.New("the clone is the top of the file system, so nothing lies outside it")
		}
		dir = filepath.Dir(own)
	}
	base, err := clone.Resolve(filepath.Join(dir, defaultFolder))
	if err != nil {
		return "", err
	}
	return base, outside(c, base, "the output folder", "--out")
}

// outside refuses a path inside the clone.
func outside(c clone.Clone, path, what, flag string) error {
	own, err := c.Contains(path)
	if err != nil {
		return err
	}
	if own != "" {
		return fmt.Errorf("%s %s lies inside the clone %s, which is never written to: name a place outside with %s", what, path, own, flag)
	}
	return nil
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// target is the report folder, given the repository's name in the output and the
// commit.
func (p place) target(repository, commit string) string {
	if p.folder != "" {
		return p.folder
	}
	return filepath.Join(p.base, fileName(repository)+"-"+commit[:min(12, len(commit))])
}

// fileName makes one path element of a name.
func fileName(name string) string {
	out := []rune(name)
	for i, r := range out {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && (r != '-' && r != '_' && r != '.' || i == 0) {
			out[i] = '-'
		}
	}
	return string(out)
}

// writable tries whether something can be made at path, in the nearest folder
// above it that exists, and leaves nothing there.
func writable(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			continue
		}
		var probe string
		if err == nil {
			probe, err = os.MkdirTemp(dir, ".reach-*")
		}
		if err == nil {
			err = os.Remove(probe)
		}
		if err != nil {
			var pathErr *fs.PathError
			if errors.As(err, &pathErr) {
				err = pathErr.Err
			}
			return fmt.Errorf("cannot write the output folder %s: %w: name another one with --out", path, err)
		}
		return nil
	}
}

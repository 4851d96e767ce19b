package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gitops-reach/reach/hack/dump"
	"github.com/gitops-reach/reach/hack/oracle/render"
)

// checkout is what a source's artifact holds, on disk.
type checkout struct {
	dir string
	// have says what stands at each path: its place in the repository, and
	// which change of it.
	have map[string]string
}

// lay makes the checkout equal to a view. read is the content of a file of the
// repository; version tells its contents apart.
func (c *checkout) lay(v dump.View, read func(origin string) ([]byte, error), version func(origin string) string) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	dirs := map[string]bool{"": true, ".": true}
	for _, d := range v.Dirs {
		dirs[d] = true
	}
	for p := range c.have {
		if _, ok := v.Files[p]; ok {
			continue
		}
		if err := os.Remove(filepath.Join(c.dir, p)); err != nil {
			return err
		}
		delete(c.have, p)
		for d := path.Dir(p); !dirs[d]; d = path.Dir(d) {
			if os.Remove(filepath.Join(c.dir, d)) != nil {
				break
			}
		}
	}
	for _, d := range v.Dirs {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o755); err != nil {
			return err
		}
	}
	for p, origin := range v.Files {
		id := origin + "\x00" + version(origin)
		if c.have[p] == id {
			continue
		}
		content, err := read(origin)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(c.dir, p), content); err != nil {
			return err
		}
		c.have[p] = id
	}
	return nil
}

func isKustomizationFile(p string) bool {
	for _, n := range render.KustomizationFiles {
		if path.Base(p) == n {
			return true
		}
	}
	return false
}

func under(dir, p string) bool { return dir == "" || strings.HasPrefix(p, dir+"/") }

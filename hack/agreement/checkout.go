package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gitops-reach/reach/hack/dump"
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

// keep returns a function that puts the kustomization files of a directory
// back as they are now: Flux's generator rewrites them in place.
func keep(dir string) func() error {
	before := map[string][]byte{}
	for _, name := range kustomizationFiles {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			before[name] = content
		}
	}
	return func() error {
		for _, name := range kustomizationFiles {
			p := filepath.Join(dir, name)
			i, err := os.Lstat(p)
			content, had := before[name]
			switch {
			case had:
				if err := os.WriteFile(p, content, 0o644); err != nil {
					return err
				}
			case err == nil && i.Mode().IsRegular():
				if err := os.Remove(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomizationFile(p string) bool {
	for _, n := range kustomizationFiles {
		if path.Base(p) == n {
			return true
		}
	}
	return false
}

func under(dir, p string) bool { return dir == "" || strings.HasPrefix(p, dir+"/") }

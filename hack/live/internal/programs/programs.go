// Package programs builds what the live clusters are made of, once: the API
// server with its etcd, Flux's controllers and kubectl from the nested module
// hack/live/servers, and the definitions of their kinds from the modules that
// hold or generate them (hack/live/crds). The result is kept in the user's
// cache folder under a key of both modules' files, the build flags and the
// version of Go; a cold build takes about fifteen minutes of processor time.
package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Dir holds what Clusters or Controllers built.
type Dir string

// Program is the path of a program.
func (d Dir) Program(name string) string { return filepath.Join(string(d), name) }

// CRDs is the path of a folder of definitions: flux, openshift or olm.
func (d Dir) CRDs(name string) string { return filepath.Join(string(d), "crds", name) }

// Kubernetes is the version that the API server says it is; without the flag
// it says v0.0.0, which kubectl cannot read.
const Kubernetes = "v1.36.3"

// A set is built and kept as a whole.
type set struct {
	name        string
	packages    []string
	definitions []source
}

var (
	clusters    = set{"clusters", []string{"./testcluster", "k8s.io/kubernetes/cmd/kubectl"}, definitionsFrom}
	controllers = set{"controllers", []string{"github.com/fluxcd/kustomize-controller", "github.com/fluxcd/source-controller"}, nil}
)

// Clusters returns the folder of the programs testcluster and kubectl, with the
// folder crds, in which are the folders flux, openshift and olm; built before
// or now. live is the folder hack/live; what the build prints goes to log. Of
// several that build at the same time one does, and the others wait.
func Clusters(live string, log io.Writer) (Dir, error) { return clusters.build(live, log) }

// Controllers returns the folder of source-controller and kustomize-controller,
// as Clusters does. Built after it they take half the time, since they share
// most of their packages.
func Controllers(live string, log io.Writer) (Dir, error) { return controllers.build(live, log) }

func (s set) build(live string, log io.Writer) (Dir, error) {
	key, err := s.key(live)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder to keep the live clusters' programs in: %w", err)
	}
	root := filepath.Join(cache, "reach", "live")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(root, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()

	dir := filepath.Join(root, key)
	if _, err := os.Stat(dir); err == nil {
		return Dir(dir), nil
	}
	fmt.Fprintf(log, "live: building %s into %s; the first time takes ten minutes and more\n", strings.Join(s.packages, " and "), dir)
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	for _, step := range []func(live, dir string, log io.Writer) error{s.programs, s.define} {
		if err := step(live, partial, log); err != nil {
			return "", err
		}
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	return Dir(dir), s.removeOthers(root, key)
}

// programs builds all packages in one go.
func (s set) programs(live, dir string, log io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := append([]string{
		"build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=" + Kubernetes, "-o", dir + string(filepath.Separator),
	}, s.packages...)
	if _, err := run(filepath.Join(live, "servers"), log, args...); err != nil {
		return fmt.Errorf("building the live clusters' programs: %w", err)
	}
	return nil
}

// run runs go in a module below hack/live and returns what it wrote to its
// standard output.
func run(dir string, log io.Writer, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	// GOWORK and GOFLAGS of the caller mean the product's module.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "PWD="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return out.String(), nil
}

// key is the name of the set and a digest of everything that it depends on.
func (s set) key(live string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s/%s %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, Kubernetes)
	fmt.Fprintln(h, s)
	for _, module := range []string{"servers", "crds"} {
		root := filepath.Join(live, module)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if ext := filepath.Ext(path); !slices.Contains([]string{".go", ".mod", ".sum"}, ext) || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(live, path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %x\n", filepath.ToSlash(rel), sha256.Sum256(content))
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return s.name + "-" + hex.EncodeToString(h.Sum(nil))[:16], nil
}

// removeOthers keeps the cache to what was built last of the set and the one
// before.
func (s set) removeOthers(root, key string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	type old struct {
		name string
		info fs.FileInfo
	}
	var others []old
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && e.Name() != key && strings.HasPrefix(e.Name(), s.name+"-") {
			others = append(others, old{e.Name(), info})
		}
	}
	slices.SortFunc(others, func(a, b old) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	for i, o := range others {
		if i > 0 {
			if err := os.RemoveAll(filepath.Join(root, o.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lock waits until no other process builds.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

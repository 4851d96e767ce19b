package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
)

// tree is the commit on disk.
type tree struct {
	// dir holds the artifacts below it, and the commit in the folder "commit".
	dir, commit, origin string
	artifacts           map[string]string
}

func (t *tree) root() string { return filepath.Join(t.dir, "commit") }

// maxCommit bounds what a commit may lay on the disk: 4 GiB.
const maxCommit = 4 << 30

// checkout writes the regular files of a commit, and no others: an artifact of
// source-controller holds neither symbolic links nor submodules. Bytes are those
// that git stores; no filter and no hook runs, and nothing is fetched.
func checkout(git, repository, revision, dir string) (*tree, error) {
	t := &tree{dir: dir, artifacts: map[string]string{}}
	if revision == "" {
		revision = "HEAD"
	}
	ask := func(args ...string) *exec.Cmd {
		cmd := exec.Command(git, append([]string{"-C", repository, "-c", "core.fsmonitor=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
		return cmd
	}
	id, err := ask("rev-parse", "--verify", "--end-of-options", revision+"^{commit}").Output()
	if err != nil {
		return nil, fmt.Errorf("%s is no commit of the repository: %w", strconv.Quote(revision), gitError(err))
	}
	t.commit = strings.TrimSpace(string(id))
	if url, err := ask("config", "--get", "remote.origin.url").Output(); err == nil {
		t.origin = strings.TrimSpace(string(url))
	}
	listing, err := ask("ls-tree", "-r", "-z", "--full-tree", t.commit).Output()
	if err != nil {
		return nil, fmt.Errorf("listing the commit: %w", gitError(err))
	}
	var names, ids []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(listing), "\x00"), "\x00") {
		meta, name, ok := strings.Cut(entry, "\t")
		f := strings.Fields(meta)
		if ok && len(f) == 3 && (f[0] == "100644" || f[0] == "100755") && filepath.IsLocal(filepath.FromSlash(name)) {
			names, ids = append(names, name), append(ids, f[2])
		}
	}
	if err := os.MkdirAll(t.root(), 0o700); err != nil {
		return nil, err
	}
	cat := ask("cat-file", "--batch")
	cat.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	blobs, err := cat.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cat.Start(); err != nil {
		return nil, err
	}
	err = t.lay(bufio.NewReaderSize(blobs, 1<<20), names)
	if err != nil {
		_ = cat.Process.Kill()
		_ = cat.Wait()
		return nil, err
	}
	if err := cat.Wait(); err != nil {
		return nil, fmt.Errorf("reading the commit: %w", gitError(err))
	}
	return t, nil
}

// lay writes what git cat-file says about the files.
func (t *tree) lay(in *bufio.Reader, names []string) error {
	left := int64(maxCommit)
	for _, name := range names {
		header, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading the commit: %w", err)
		}
		f := strings.Fields(header)
		if len(f) != 3 || f[1] != "blob" {
			return errors.New("reading the commit: an object is missing from the clone")
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		if left -= size; left < 0 {
			return fmt.Errorf("the commit is larger than %d bytes", int64(maxCommit))
		}
		file := filepath.Join(t.root(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, size); err != nil {
			return errors.Join(err, out.Close())
		}
		if err := out.Close(); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

// gitError is what git says, in one line.
func gitError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if text := bytes.TrimSpace(exit.Stderr); len(text) > 0 {
			line, _, _ := bytes.Cut(text, []byte("\n"))
			return errors.New(string(line))
		}
	}
	return err
}

// artifact is the directory that holds what source-controller would deliver of a
// directory of the commit: without what .sourceignore files, spec.ignore, or
// without either Flux's defaults, leave out (upstream: source-controller,
// internal/controller/gitrepository_controller.go and storage.go, Archive).
func (t *tree) artifact(subdirectory, ignore string, ignores bool) (string, error) {
	key := fmt.Sprintf("%q %q %v", subdirectory, ignore, ignores)
	if dir, ok := t.artifacts[key]; ok {
		return dir, nil
	}
	from := filepath.Join(t.root(), filepath.FromSlash(subdirectory))
	to := filepath.Join(t.dir, fmt.Sprintf("artifact%d", len(t.artifacts)))
	domain := strings.Split(from, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(from, domain)
	if err != nil {
		return "", err
	}
	if ignores {
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(ignore), domain)...)
	}
	matcher := sourceignore.NewDefaultMatcher(patterns, domain)
	if len(patterns) > 0 {
		matcher = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(domain), patterns...))
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	err = filepath.WalkDir(from, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == from {
			return nil
		}
		if matcher.Match(strings.Split(p, string(filepath.Separator)), d.IsDir()) {
			return nil // a pattern may take a file below back in
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		file := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o600)
	})
	t.artifacts[key] = to
	return to, err
}

// inside cleans a path as Flux joins it to the artifact's root: it cannot lead
// out of it.
func inside(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

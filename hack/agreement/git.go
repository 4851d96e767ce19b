package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/gitops-reach/reach/hack/dump"
)

// compareGit compares the files of the commit with `git ls-tree` and their
// contents with `git cat-file`. A file is one object of the tally, and the
// directories are another each.
func (b *bench) compareGit(s *subject, reply *dump.Reply, sum *tally) error {
	sum.targets = 1
	listing, err := b.runGit(s.repository, "ls-tree", "-r", "-t", "-z", "--full-tree", "HEAD")
	if err != nil {
		return err
	}
	have := map[string]dump.File{}
	dirs := map[string]bool{}
	for _, f := range reply.Files {
		p := string(f.Path)
		have[p] = f
		for i := range p {
			if p[i] == '/' {
				dirs[p[:i]] = true
			}
		}
	}
	if len(have) != len(reply.Files) {
		sum.add += len(reply.Files) - len(have)
		sum.differ("a file is listed twice")
	}
	var blobs []string
	digests := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(listing), "\x00"), "\x00") {
		meta, p, ok := strings.Cut(entry, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 {
			continue
		}
		if f[1] == "tree" {
			sum.one(dirs[p], "directory %s", p)
			delete(dirs, p)
			continue
		}
		h, ok := have[p]
		delete(have, p)
		switch {
		case !ok:
			sum.miss++
			sum.differ("we miss %q", p)
		case h.Mode != f[0] || h.Blob != f[2]:
			sum.identity++
			sum.differ("%q is %s %s, want %s %s", p, h.Mode, h.Blob, f[0], f[2])
		case f[1] == "commit":
			sum.agree++
		default:
			blobs = append(blobs, f[2])
			digests[p+"\x00"+f[2]] = h.Digest
		}
	}
	for p := range have {
		sum.add++
		sum.differ("we add %q", p)
	}
	for p := range dirs {
		sum.add++
		sum.differ("we add the directory %q", p)
	}
	contents, err := b.catFile(s.repository, blobs)
	if err != nil {
		return err
	}
	for k, digest := range digests {
		p, id, _ := strings.Cut(k, "\x00")
		if contents[id] == digest {
			sum.agree++
		} else {
			sum.spec++
			sum.differ("%q has another content", p)
		}
	}
	return nil
}

func (t *tally) one(ok bool, format string, args ...any) {
	if ok {
		t.agree++
		return
	}
	t.miss++
	t.differ("we miss "+format, args...)
}

// catFile gives the SHA-256 of each blob.
func (b *bench) catFile(repository string, ids []string) (map[string]string, error) {
	cmd := exec.Command(b.git, "-C", repository, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	r, sums := bufio.NewReader(bytes.NewReader(out)), map[string]string{}
	for range ids {
		header, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		var id, kind string
		var size int64
		if _, err := fmt.Sscan(header, &id, &kind, &size); err != nil || kind != "blob" {
			return nil, fmt.Errorf("git cat-file says %q", header)
		}
		h := sha256.New()
		if _, err := io.CopyN(h, r, size); err != nil {
			return nil, err
		}
		if _, err := r.Discard(1); err != nil {
			return nil, err
		}
		sums[id] = hex.EncodeToString(h.Sum(nil))
	}
	return sums, nil
}

package commit_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// BenchmarkReadAll opens a repository, lists a commit and reads every blob, and
// has git do the same. The repositories are those of the directory that
// REACH_BENCH_REPOS names, or the corpus.
func BenchmarkReadAll(b *testing.B) {
	for _, dir := range benchRepos(b) {
		name := filepath.Base(dir)
		b.Run(name+"/git", func(b *testing.B) {
			for b.Loop() {
				var ids bytes.Buffer
				out, err := git(dir, nil, "ls-tree", "-r", "-z", "HEAD")
				if err != nil {
					b.Fatal(err)
				}
				for line := range bytes.SplitSeq(out, []byte{0}) {
					if bytes.HasPrefix(line, []byte("100")) {
						ids.Write(line[12:52])
						ids.WriteByte('\n')
					}
				}
				out, err = git(dir, ids.Bytes(), "cat-file", "--batch", "--buffer")
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(out)))
			}
		})
		for _, workers := range []int{1, 2} {
			b.Run(name+"/reach-"+string(rune('0'+workers)), func(b *testing.B) {
				for b.Loop() {
					b.SetBytes(readAll(b, dir, workers))
				}
			})
		}
		b.Run(name+"/list", func(b *testing.B) {
			for b.Loop() {
				if _, err := snapshotOf(dir, "HEAD"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func readAll(tb testing.TB, dir string, workers int) (total int64) {
	r, err := commit.Open(dir, commit.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := r.Resolve("HEAD")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := r.Snapshot(context.Background(), c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	work := make(chan []snapshot.Entry)
	sizes := make(chan int64)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			var n int64
			for es := range work {
				for _, e := range es {
					if !e.IsFile() {
						continue
					}
					data, err := s.ReadEntry(e)
					if err != nil {
						tb.Error(err)
					}
					n += int64(len(data))
				}
			}
			sizes <- n
		})
	}
	go func() {
		es := s.Entries()
		for len(es) > 0 {
			n := min(64, len(es))
			work <- es[:n]
			es = es[n:]
		}
		close(work)
		group.Wait()
		close(sizes)
	}()
	for n := range sizes {
		total += n
	}
	return total
}

// corpusDir is where the corpus of real repositories is, if it is there.
var corpusDir = filepath.Join("..", "..", "..", "..", "shared", "corpus")

func benchRepos(b *testing.B) []string {
	if dir := os.Getenv("REACH_BENCH_REPOS"); dir != "" {
		dirs, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			b.Fatal(err)
		}
		return dirs
	}
	return corpusRepos(b)
}

// corpusRepos makes git repositories of the corpus.
func corpusRepos(tb testing.TB) []string {
	script := filepath.Join(corpusDir, "make-repos")
	if _, err := os.Stat(script); err != nil {
		tb.Skip("the corpus is not here")
	}
	dir := tb.TempDir()
	if out, err := exec.Command(script, dir).CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		tb.Fatal(err)
	}
	return dirs
}

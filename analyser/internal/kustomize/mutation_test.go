package kustomize

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

var (
	mutations    = flag.Int("mutations", 6, "random damages for each repository of the corpus")
	mutationSeed = flag.Uint64("mutation-seed", 1, "seed of the damages")
)

// TestMutations damages one file of a repository at a time and compares the
// builds that read it with krusty's.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	var all tally
	for _, dir := range corpus(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			view := load(t, dir)
			readers := readersOf(view)
			var files []string
			for _, e := range view.Entries() {
				if len(readers[e.Path]) > 0 {
					files = append(files, e.Path)
				}
			}
			rng := rand.New(rand.NewPCG(*mutationSeed, uint64(len(files))))
			var sum tally
			for range *mutations {
				file := files[rng.IntN(len(files))]
				content, err := view.Read(file)
				if err != nil {
					t.Fatal(err)
				}
				what, damaged := damage(rng, string(content), files)
				broken := replaced(t, view, file, damaged)
				b := newBuilder(broken)
				roots := readers[file]
				for range min(2, len(roots)) {
					root := roots[rng.IntN(len(roots))]
					name := fmt.Sprintf("%s (%s in %s)", shown(root), what, file)
					sum.compare(b, &snapshotFS{view: broken}, name, Target{Dir: root}, usesSchema(broken))
				}
			}
			t.Log(&sum)
			for _, d := range sum.differences {
				t.Log(d)
			}
			if sum.bad() {
				t.Errorf("differs from krusty")
			}
			all.plus(&sum)
		})
	}
	t.Logf("all: %v", &all)
	if all.bothFail == 0 || all.agree == 0 {
		t.Errorf("the damages test nothing: %v", &all)
	}
}

// readersOf says which roots read a file.
func readersOf(view *snapshot.Snapshot) map[string][]string {
	b := newBuilder(view)
	readers := map[string][]string{}
	for _, root := range roots(view) {
		for _, u := range b.Build(Target{Dir: root}).Uses {
			readers[u.Path] = append(readers[u.Path], root)
		}
	}
	return readers
}

// replaced is a view in which one file has another content.
func replaced(t *testing.T, view *snapshot.Snapshot, file, content string) *snapshot.Snapshot {
	t.Helper()
	entries := make([]snapshot.Entry, 0, len(view.Entries()))
	for _, e := range view.Entries() {
		if e.Path == file {
			e.Blob = "damaged"
		}
		entries = append(entries, e)
	}
	s, err := snapshot.New(entries, func(e snapshot.Entry) ([]byte, error) {
		if e.Blob == "damaged" {
			return []byte(content), nil
		}
		return view.ReadEntry(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// damage changes a text in one small way.
func damage(rng *rand.Rand, text string, files []string) (what, damaged string) {
	lines := strings.SplitAfter(text, "\n")
	i := rng.IntN(len(lines))
	line := lines[i]
	indent := line[:len(line)-len(strings.TrimLeft(line, " -"))]
	with := func(what, line string) (string, string) {
		out := append(append(lines[:i:i], line), lines[i+1:]...)
		return fmt.Sprintf("line %d: %s", i+1, what), strings.Join(out, "")
	}
	switch rng.IntN(12) {
	case 0:
		return with("dropped", "")
	case 1:
		return with("doubled", line+line)
	case 2:
		j := rng.IntN(len(lines))
		other := lines[j]
		lines[j] = line
		return with(fmt.Sprintf("swapped with %d", j+1), other)
	case 3:
		return with("another indent", " "+line)
	case 4:
		return with("value dropped", cutAfter(line, ":")+"\n")
	case 5:
		return with("value replaced", cutAfter(line, ":")+" changed\n")
	case 6:
		return with("number", cutAfter(line, ":")+" 12\n")
	case 7:
		return with("key replaced", indent+"other"+strings.TrimLeft(line, " -"))
	case 8:
		return with("path changed", indent+"../"+strings.TrimLeft(line, " -"))
	case 9:
		return with("another file", indent+filepath.Base(files[rng.IntN(len(files))])+"\n")
	case 10:
		return with("a document", "---\n"+line)
	default:
		return with("cut", line[:rng.IntN(len(line)+1)])
	}
}

func cutAfter(s, sep string) string {
	before, _, ok := strings.Cut(s, sep)
	if !ok {
		return strings.TrimRight(s, "\n")
	}
	return before + sep
}

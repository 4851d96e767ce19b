package census_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestMemory changes every golden census and every repository of the corpus again and
// again, and takes censuses of what comes of it: one after the other with one Memory,
// and each for itself. They are the same.
func TestMemory(t *testing.T) {
	census.EachGolden(t, func(t *testing.T, i int, files map[string]string, roots []placement.Root) {
		remembers(t, files, roots, uint64(i), 8)
	})
	if testing.Short() {
		return
	}
	for i, name := range corpusNames(t) {
		t.Run(name, func(t *testing.T) {
			s := corpus(t, name)
			files := map[string]string{}
			for _, e := range s.Entries() {
				if !e.IsFile() {
					continue
				}
				content, err := s.ReadEntry(e)
				if err != nil {
					t.Fatal(err)
				}
				files[e.Path] = string(content)
			}
			remembers(t, files, declaredRoots[name], uint64(i), 4)
		})
	}
}

// remembers takes a census after each of n changes.
func remembers(t *testing.T, files map[string]string, roots []placement.Root, seed uint64, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 3))
	original := files
	memory := &census.Memory{}
	take := func(files map[string]string, memory *census.Memory) string {
		req := census.Request{Roots: roots, Engines: []controller.Engine{flux.Engine()}, Memory: memory, Limits: census.Limits{Depth: 6, Syncs: 500}}
		c, err := census.Take(t.Context(), snapshot.FromMap(files), req)
		if err != nil {
			return err.Error() // a root that is no directory any more
		}
		return census.Write(c)
	}
	what := "nothing"
	for range n {
		if alone, with := take(files, nil), take(files, memory); alone != with {
			t.Fatalf("after %s: %s", what, firstDifference(alone, with))
		}
		if random.IntN(4) == 0 {
			files, what = original, "going back"
			continue
		}
		files, what = changed(files, random)
	}
}

// firstDifference shows the first line that differs; the texts are too long for a
// whole comparison.
func firstDifference(alone, with string) string {
	x, y := strings.Split(alone, "\n"), strings.Split(with, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return fmt.Sprintf("line %d:\n-alone       %s\n+remembering %s", i, x[i], append(y, "")[min(i, len(y))])
		}
	}
	return fmt.Sprintf("%d lines more", len(y)-len(x))
}

// changed is a copy of files with a few changes, and what they are.
func changed(files map[string]string, random *rand.Rand) (map[string]string, string) {
	out := map[string]string{}
	var paths []string
	for p, c := range files {
		out[p] = c
		paths = append(paths, p)
	}
	slices.Sort(paths)
	if len(paths) == 0 {
		return out, "nothing"
	}
	var what []string
	for range 1 + random.IntN(4) {
		p := paths[random.IntN(len(paths))]
		content := out[p]
		lines := strings.SplitAfter(content, "\n")
		at := random.IntN(len(lines))
		kind := random.IntN(8)
		switch kind {
		case 0:
			delete(out, p)
		case 1: // another name beside it
			other := path.Join(path.Dir(p), fmt.Sprintf("copy-%d.yaml", random.IntN(100)))
			if _, there := out[other]; !there {
				out[other] = content
			}
		case 2: // the content of another file
			out[p] = out[paths[random.IntN(len(paths))]]
		case 3: // no YAML any more
			out[p] = content + "\n\t}\n"
		case 4: // a line less
			out[p] = strings.Join(slices.Delete(slices.Clone(lines), at, at+1), "")
		case 5: // a line more
			out[p] = strings.Join(slices.Insert(slices.Clone(lines), at, "# a comment\n"), "")
		case 6: // another value
			lines = slices.Clone(lines)
			lines[at] = strings.Replace(lines[at], ": ", ": x", 1)
			out[p] = strings.Join(lines, "")
		default: // a kustomization file where there may be none
			out[path.Join(path.Dir(p), "kustomization.yaml")] = "resources: [" + path.Base(p) + "]\n"
		}
		what = append(what, fmt.Sprint(kind, " of ", p, " line ", at))
	}
	return out, strings.Join(what, ", ")
}

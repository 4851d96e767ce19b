// Command agreement runs the real tools beside the analyser and counts, object
// by object, where they agree: krusty on every kustomization file, Flux's own
// generator, build and substitution on every Flux Kustomization and on every
// directory for which Flux would generate a kustomization file, git on every
// blob.
//
//	go run . [-corpus DIR] [-only NAME] [-v]
//	go run . -mutate [-n 100] [-seed 1]
//	go run . -overlay [-n 100] [-seed 1]
//	go run . -time REPOSITORY [-n 3] [-- --root CLUSTER=PATH...]
//
// It ends with 1 when anything differs. An oracle that fails is never
// agreement, and what the analyser calls unresolved is listed with its reason.
// With -time it compares nothing: it measures Flux's builds of one repository for
// hack/bench.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gitops-reach/reach/hack/dump"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, log io.Writer) int {
	f := flag.NewFlagSet("agreement", flag.ContinueOnError)
	f.SetOutput(log)
	root := f.String("root", "../..", "the root of the project")
	corpus := f.String("corpus", "", "the corpus; ../shared/corpus beside the project unless said otherwise")
	only := f.String("only", ".", "repositories whose name matches")
	mutations := f.Bool("mutate", false, "break every repository in small random ways")
	overlays := f.Bool("overlay", false, "build random directories by Kustomizations with random fields")
	n := f.Int("n", 100, "how many ways for each repository")
	seed := f.Uint64("seed", 1, "of the random ways")
	timed := f.String("time", "", "measure Flux's own builds of a `repository` instead; roots follow behind --, as for reach census")
	details := f.Int("v", 20, "at most so many differences are shown for each repository")
	if err := f.Parse(args); err != nil {
		return 2
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(log, "agreement:", err)
		return 2
	}
	if *corpus == "" {
		*corpus = filepath.Join(*root, "../shared/corpus")
	}
	bench, err := newBench(*root, log)
	if err != nil {
		fmt.Fprintln(log, "agreement:", err)
		return 1
	}
	defer bench.close()
	if *timed != "" {
		s := &subject{name: "timed", repository: *timed, request: dump.Request{Repository: *timed}}
		err := s.flags(f.Args())
		if err == nil {
			err = bench.time(s, *n, out)
		}
		if err != nil {
			fmt.Fprintln(log, "agreement:", err)
			return 1
		}
		return 0
	}
	subjects, err := bench.subjects(*corpus, pattern)
	if err != nil {
		fmt.Fprintln(log, "agreement:", err)
		return 1
	}
	start, sums := time.Now(), newTable(*details)
	for _, s := range subjects {
		fmt.Fprintln(log, s.name)
		check := bench.agreement
		if *overlays {
			check = func(s *subject, t *table) error { return bench.overlay(s, t, *n, *seed) }
		}
		if *mutations {
			check = func(s *subject, t *table) error { return bench.mutate(s, t, *n, *seed) }
		}
		if err := check(s, sums); err != nil {
			fmt.Fprintf(log, "agreement: %s: %v\n", s.name, err)
			return 1
		}
	}
	sums.print(out)
	fmt.Fprintf(out, "\n%d repositories in %v\n", len(subjects), time.Since(start).Round(time.Second))
	if sums.bad() || len(subjects) == 0 {
		return 1
	}
	return 0
}

// Command bench measures a census against what it should be compared with, in
// one run, interleaved, so that other load on the machine hits all alike:
//
//	census   `reach census` as a user runs it, process start to report on disk
//	git      `git ls-tree` and `git cat-file --batch` over the same blobs
//	parse    the naive program: the same blobs, every document parsed with
//	         go.yaml.in/yaml/v3 on all cores
//	krusty   kustomize in process over every kustomization root of the same tree,
//	         written out as YAML
//	kustomize, kubectl
//	         the same as people start it, one process for each root: this program
//	         with nothing but krusty in it, and `kubectl kustomize` where a kubectl
//	         is found. At most -sample roots are built, spread evenly; the time
//	         stands for all of them.
//	flux     Flux's own generator, build and substitution of every Kustomization,
//	         recursively, in one process (hack/agreement -time)
//
// Repositories of the corpus that declare no root themselves get the one that
// the corpus's own table names. It prints medians, ratios to the census, the peak
// memory of both processes and what went over the pipe. Two tables come out: of
// time as a person waits, and of CPU time of all processes, which other load on
// the machine hardly touches.
//
// -fleets also measures generated fleets (hack/fleet), a list such as
// 1000x10,10000x100 of files and clusters, each with options behind colons, as in
// 1000x10:history=10000 or 1000x10:crds=50; run it from the top of the project. How
// time and memory grow from one to the next that has more of one thing and as much
// of the others is printed below, as the factor for each doubling. Building tools
// take long on large fleets: -tools names those that are measured.
//
// -next also measures the second census that one analyser takes, of a commit that
// changes ten files (remember in the protocol).
//
// Usage:
//
//	go run ./hack/bench [-n RUNS] [-reach bin/reach] [-tools krusty,kustomize,kubectl,flux]
//	    [-kubectl PATH] [-sample ROOTS] [-fleets LIST] [-next] [-markdown] [REPOSITORY...]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == oneRoot {
		if build(os.Args[2:]) > 0 {
			os.Exit(1)
		}
		return
	}
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	n, sample      int
	reach, kubectl string
	tools          []string
	next           bool
}

// builders are what -tools may name.
var builders = []string{"krusty", "kustomize", "kubectl", "flux"}

func run(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.n, "n", 5, "runs of each, interleaved")
	flags.IntVar(&o.sample, "sample", 20, "roots that kustomize and kubectl build")
	reach := flags.String("reach", "bin/reach", "the reach binary")
	flags.StringVar(&o.kubectl, "kubectl", "", "the kubectl binary (default that of PATH, if any)")
	tools := flags.String("tools", "krusty", "what to measure beside the census, git and parse: a list of "+strings.Join(builders, ", "))
	fleets := flags.String("fleets", "", "generated fleets to measure as well, `FILESxCLUSTERS[:OPTION=N]...,...`")
	markdown := flags.Bool("markdown", false, "print the table of the README")
	flags.BoolVar(&o.next, "next", false, "measure censuses of neighbouring commits by one analyser as well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for tool := range strings.SplitSeq(*tools, ",") {
		if tool != "" && !slices.Contains(builders, tool) {
			return fmt.Errorf("-tools: %q is none of %s", tool, strings.Join(builders, ", "))
		}
		o.tools = append(o.tools, tool)
	}
	var err error
	if o.reach, err = filepath.Abs(*reach); err != nil {
		return err
	}
	if err := o.findKubectl(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "reach-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var results []result
	measured := func(repo string) error {
		r, err := o.measure(repo)
		if err != nil {
			return fmt.Errorf("%s: %w", repo, err)
		}
		results = append(results, r)
		fmt.Fprintf(os.Stderr, "bench: %s: census %v, %v of CPU\n", r.name, r.census.wall.Round(time.Millisecond), r.census.cpu.Round(time.Millisecond))
		return nil
	}
	for _, repo := range flags.Args() {
		if err := measured(repo); err != nil {
			return err
		}
	}
	list, err := parseFleets(*fleets)
	if err != nil {
		return err
	}
	for _, f := range list {
		// One at a time: large ones fill a disk.
		repo := filepath.Join(work, f.name)
		if err := f.generate(repo); err != nil {
			return err
		}
		if err := measured(repo); err != nil {
			return err
		}
		results[len(results)-1].fleet = f
		if err := os.RemoveAll(repo); err != nil {
			return err
		}
	}
	if len(results) == 0 {
		return fmt.Errorf("name at least one repository, or -fleets")
	}
	if *markdown {
		printMarkdown(out, results, o, time.Now())
	} else {
		printTables(out, results, o)
	}
	if o.next {
		printNeighbours(out, results)
	}
	printGrowth(out, results)
	return nil
}

// findKubectl leaves kubectl out where there is none, unless it was named.
func (o *options) findKubectl() error {
	if !o.has("kubectl") {
		return nil
	}
	name := o.kubectl
	if name == "" {
		name = "kubectl"
	}
	found, err := exec.LookPath(name)
	if err == nil {
		o.kubectl, err = filepath.Abs(found)
		return err
	}
	if o.kubectl != "" {
		return err
	}
	fmt.Fprintln(os.Stderr, "bench: no kubectl is installed: it is not measured")
	o.tools = slices.DeleteFunc(o.tools, func(t string) bool { return t == "kubectl" })
	return nil
}

func (o *options) has(tool string) bool { return slices.Contains(o.tools, tool) }

// cores that every program here may use.
func cores() int { return runtime.NumCPU() }

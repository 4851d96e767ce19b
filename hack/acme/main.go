// Command acme writes the repository of the golden census acme-platform, and
// turns it into a git repository.
//
//	go run ./hack/acme                          rewrite repo/ in the archive
//	go run ./hack/acme -git DIR [-config FILE]  make a git repository of repo/,
//	                                            and copy reach.yaml to FILE
//
// -archive names another golden census than acme-platform.
//
// The files below repo/ come from the archives in source/; everything else in
// the archive (its prose, reach.yaml, the expectation below want/) is written
// by hand and kept as it is.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run does what the flags ask for and returns an exit code: 0 done, 1 could
// not do it, 2 usage.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("acme", flag.ContinueOnError)
	flags.SetOutput(stderr)
	archive := flags.String("archive", "testdata/census/acme-platform.txtar", "the golden census to write or to read")
	dir := flags.String("git", "", "make a git repository of the archive's repo/ in this new or empty `directory`")
	config := flags.String("config", "", "with -git: copy the archive's reach.yaml to this `file`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "acme: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	if *config != "" && *dir == "" {
		fmt.Fprintln(stderr, "acme: -config needs -git")
		return 2
	}
	if *dir != "" {
		commit, err := gitRepository(*archive, *dir, *config)
		if err != nil {
			fmt.Fprintf(stderr, "acme: %v\n", err)
			return 1
		}
		fmt.Fprintln(stdout, commit)
		return 0
	}
	if err := rewrite(*archive); err != nil {
		fmt.Fprintf(stderr, "acme: %v\n", err)
		return 1
	}
	return 0
}

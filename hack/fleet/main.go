// Command fleet makes a git repository of a generated fleet: hubs that reconcile
// themselves, spokes that hubs reach through kubeConfig, bases, overlays,
// components, patches, substitution, generators and HelmReleases. The same flags
// make the same repository, down to the hash of its commit. Usage:
//
//	go run ./hack/fleet [-files N] [-clusters N] [-seed N] [-history N] [-crds MB] DIRECTORY
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var f fleet
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.IntVar(&f.files, "files", 1000, "`number` of files; no less than the clusters need are made")
	flags.IntVar(&f.clusters, "clusters", 10, "`number` of clusters, hubs and spokes together")
	flags.Uint64Var(&f.seed, "seed", 1, "`number` that decides whatever is random")
	flags.IntVar(&f.history, "history", 1, "`number` of commits; each but the first changes ten files")
	flags.IntVar(&f.crds, "crds", 0, "`megabytes` of CustomResourceDefinitions on top")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || f.files < 1 || f.clusters < 1 || f.history < 1 || f.crds < 0 {
		return fmt.Errorf("name one new or empty directory; files, clusters and history are at least 1")
	}
	made, err := f.write(flags.Arg(0))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d files, %d clusters, %d commits\n", made, f.clusters, f.history)
	return err
}

// write makes the repository, without a work tree, and returns how many files
// its last commit holds.
func (f *fleet) write(dir string) (files int, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return 0, fmt.Errorf("%s is not empty", dir)
	}
	if b, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("git init: %w: %s", err, b)
	}
	cmd := exec.Command("git", "-C", dir, "fast-import", "--quiet", "--depth=10")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	w := &writer{out: bufio.NewWriterSize(pipe, 1<<20)}
	f.commits(w)
	err = w.out.Flush()
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	if waitErr := cmd.Wait(); waitErr != nil {
		err = fmt.Errorf("git fast-import: %w", waitErr)
	}
	return w.files, err
}

// writer writes the format of git fast-import. Its errors are those of the
// buffered writer, which keeps the first.
type writer struct {
	out   *bufio.Writer
	files int
	// paths can be changed by later commits.
	paths []string
}

// commit begins a commit, one minute after the one before.
func (w *writer) commit(n int, subject string) {
	const who = "Fleet <fleet@fleet.example>"
	when := 1767225600 + 60*n
	fmt.Fprintf(w.out, "commit refs/heads/main\nauthor %s %d +0000\ncommitter %s %d +0000\ndata %d\n%s\n", who, when, who, when, len(subject), subject)
}

// file puts a file into the commit.
func (w *writer) file(path string, content []byte) {
	fmt.Fprintf(w.out, "M 100644 inline %s\ndata %d\n", path, len(content))
	w.out.Write(content)
	w.out.WriteByte('\n')
}

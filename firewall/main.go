// Command firewall says whether the analyser can be more than read-only. Run
// it in the root of the repository:
//
//	go run ./firewall            judge the import closure of the analyser's source
//	go run ./firewall -update    rewrite the committed list of what it holds
//	go run ./firewall -binary B  judge the symbols of a linked analyser as well
//
// Exit codes: 0 clean, 1 violation, 2 could not tell.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/gitops-reach/reach/firewall/imports"
)

// Exit codes. Not being able to tell is never success.
const (
	exitClean       = 0
	exitViolation   = 1
	exitCannotTell  = 2
	exitCannotUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("firewall", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("C", ".", "`folder` that holds go.mod")
	update := flags.Bool("update", false, "rewrite "+imports.DepsFile+", keeping its reasons")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitClean
		}
		return exitCannotUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "firewall: unexpected argument %q\n", flags.Arg(0))
		return exitCannotUsage
	}
	return wall1(ctx, *root, *update, stdout, stderr)
}

func wall1(ctx context.Context, root string, update bool, stdout, stderr io.Writer) int {
	result, err := imports.Wall(ctx, root)
	if err != nil {
		fmt.Fprintf(stderr, "imports: could not tell: %v\n", err)
		return exitCannotTell
	}
	if update {
		if err := rewrite(filepath.Join(root, imports.DepsFile), result); err != nil {
			fmt.Fprintf(stderr, "imports: could not update: %v\n", err)
			return exitCannotTell
		}
	}
	for _, v := range result.Violations {
		fmt.Fprintln(stdout, v)
	}
	if n := len(result.Violations); n > 0 {
		fmt.Fprintf(stdout, "imports: %d violations\n", n)
		return exitViolation
	}
	fmt.Fprintf(stdout, "imports: clean: %d packages, %d groups, each with a reason\n", result.Packages, len(result.Real.Groups))
	return exitClean
}

// rewrite writes the list anew and leaves in the result what that does not
// put right.
func rewrite(file string, result *imports.Result) error {
	updated := result.Committed.Update(result.Real)
	var b bytes.Buffer
	if err := updated.Write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return err
	}
	result.Replace(updated)
	return nil
}

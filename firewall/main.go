// Command firewall says whether the analyser can be more than read-only. Run
// it in the root of the repository:
//
//	go run ./firewall            judge the import closure of the analyser's source
//	go run ./firewall -update    rewrite the committed list of what it holds
//	go run ./firewall -binary B  judge the symbols of a linked analyser as well
//
// Exit codes: 0 clean, 1 violation, 2 could not tell. (`go run` itself makes 1
// of every code but 0; `go build -o bin/firewall ./firewall` keeps them apart.)
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
	"github.com/gitops-reach/reach/firewall/symbols"
)

// Exit codes. Not being able to tell is never success.
const (
	exitClean      = 0
	exitViolation  = 1
	exitCannotTell = 2
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
	binary := flags.String("binary", "", "linked analyser to judge as well, a `file`")
	update := flags.Bool("update", false, "rewrite "+imports.DepsFile+", keeping its reasons")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitClean
		}
		return exitCannotTell
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "firewall: unexpected argument %q\n", flags.Arg(0))
		return exitCannotTell
	}
	code := wall1(ctx, *root, *update, stdout, stderr)
	if *binary != "" {
		code = max(code, wall2(*root, *binary, stdout, stderr))
	}
	return code
}

func wall2(root, binary string, stdout, stderr io.Writer) int {
	verdict, read, err := audit(filepath.Join(root, symbols.PolicyFile), binary)
	if err != nil {
		fmt.Fprintf(stderr, "symbols: could not tell: %v\n", err)
		return exitCannotTell
	}
	for _, v := range verdict.Violations {
		fmt.Fprintln(stdout, v)
	}
	for _, r := range verdict.Left {
		fmt.Fprintf(stdout, "symbols: left: %s (%s): %s\n", r.Function, r.Category, r.Why)
	}
	for _, o := range verdict.Opens {
		fmt.Fprintf(stdout, "symbols: opens: %s calls %s with %s\n", o.Caller, o.Function, o.Describe())
	}
	if n := len(verdict.Violations); n > 0 {
		fmt.Fprintf(stdout, "symbols: %d violations\n", n)
		return exitViolation
	}
	fmt.Fprintf(stdout, "symbols: clean: %d functions, %d left with a reason, %d calls that open files, none to write\n",
		len(read.Functions), len(verdict.Left), len(verdict.Opens))
	return exitClean
}

func audit(policy, binary string) (*symbols.Verdict, *symbols.Binary, error) {
	f, err := os.Open(policy)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	rules, err := symbols.ParseRules(symbols.PolicyFile, f)
	if err != nil {
		return nil, nil, err
	}
	read, err := symbols.Read(binary)
	if err != nil {
		return nil, nil, err
	}
	verdict, err := rules.Audit(read)
	return verdict, read, err
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

// Package cli is the command line of reach: it reads flags and configuration,
// has a census taken, and writes what came of it. Exit codes stand in exit.go.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// version of the program; the build may set another one.
var version = "0.1.0"

// streams are what a command reads from and writes to.
type streams struct {
	out, err io.Writer
	env      map[string]string
}

const (
	gcPercent = 400
	softLimit = 256 << 20
)

// Main runs reach with the arguments after the program's name and returns its
// exit code. env holds NAME=value as in os.Environ. It ends early, and cleans
// up, on SIGINT and SIGTERM; a second signal ends the process at once.
func Main(args []string, _ io.Reader, stdout, stderr io.Writer, env []string) int {
	// A census is over before collecting often would pay; a large one is
	// collected as soon as memory grows.
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(softLimit)
	return run(args, stdout, stderr, env, launchAnalyser)
}

// run is Main with the way to start an analyser as a parameter.
func run(args []string, stdout, stderr io.Writer, env []string, launch launcher) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	s := streams{out: stdout, err: stderr, env: map[string]string{}}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		s.env[name] = value
	}
	root := rootCommand(s, launch)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	if ctx.Err() != nil && code == exitFailed {
		fmt.Fprintln(stderr, "reach: interrupted: no report was written")
		return exitFailed
	}
	var several candidatesError
	if errors.As(err, &several) {
		for line := range strings.SplitSeq(several.Error(), "\n") {
			fmt.Fprintln(stderr, strings.Replace("reach: "+report.Printable(line), "reach:   ", "  ", 1))
		}
		return code
	}
	fmt.Fprintf(stderr, "reach: %s\n", oneLine(err))
	if code == exitUsage {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// oneLine is an error as one line without anything that steers a terminal.
func oneLine(err error) string {
	return report.Printable(strings.Join(strings.Fields(err.Error()), " "))
}

func rootCommand(s streams, launch launcher) *cobra.Command {
	root := &cobra.Command{
		Use:   "reach",
		Short: "Tell which file of a GitOps repository lands on which cluster",
		Long: `reach reads a local clone of a GitOps platform repository at one commit and
tells which file lands on which cluster through which controller, what nothing
reaches, which mistakes only the topology shows, and how much of the repository
could be analysed at all.

The program that reads the repository is a separate, sealed one that cannot
write, start a process or open a connection.`,
		Example: `  reach census .                       take a census of the clone in this folder
  reach census ~/platform --rev v1.4   of a tag
  reach report reach-report/...        show a report again`,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(s.err)
			if err := cmd.Help(); err != nil {
				return err
			}
			return usageError{errors.New("name a command, for example reach census REPO")}
		},
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(censusCommand(s, launch), explainCommand(s, launch), oracleCommand(s), reportCommand(s), aliasCommand(s), versionCommand(s), auditCommand(s), rulesCommand(s), schemaCommand(s), rbacCommand(s), manCommand(s))
	completions(root)
	wrapHelp(root, s)
	return root
}

func versionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			line := "reach " + version
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						line += " (" + setting.Value + ")"
					}
				}
				line += " " + info.GoVersion
			}
			_, err := fmt.Fprintln(s.out, line)
			return err
		},
	}
}

// arguments checks the number of arguments; what names them for the message.
func arguments(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			given := "no argument is"
			switch len(args) {
			case 0:
			case 1:
				given = "1 argument is"
			default:
				given = fmt.Sprintf("%d arguments are", len(args))
			}
			return usagef("%s given, wanted %s", given, what)
		}
		return nil
	}
}

// terminal is the file behind a stream when it is a terminal, or nil.
func terminal(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// width of the standard output in columns, 0 when nothing says.
func (s streams) width() int {
	if f := terminal(s.out); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	width, _ := strconv.Atoi(s.env["COLUMNS"])
	return max(width, 0)
}

// color reports whether colours are wanted: on a terminal that can show them,
// and NO_COLOR (no-color.org) is not set.
func (s streams) color() bool {
	return terminal(s.out) != nil && s.env["NO_COLOR"] == "" && s.env["TERM"] != "dumb"
}

// now is the time of the run, or SOURCE_DATE_EPOCH when output is to be the same
// each time.
func (s streams) now() time.Time {
	if seconds, err := strconv.ParseInt(s.env["SOURCE_DATE_EPOCH"], 10, 64); err == nil {
		return time.Unix(seconds, 0)
	}
	return time.Now()
}

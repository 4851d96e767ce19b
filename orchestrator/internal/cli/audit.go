package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/audit"
	"github.com/gitops-reach/reach/orchestrator/internal/launch"
)

func auditCommand(s streams) *cobra.Command {
	var o audit.Options
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show that the analyser cannot write, connect or start anything",
		Long: `Judge the binary of the analyser: what it was built of, which walls stand
around it, what is left in it and why that is harmless, and what differs from
what was committed with the source of this program.

The binary is read, not started. When reach-analyser-canary lies beside it, a
build of the analyser that tries to break out, that one is started, once for
each attempt in the seal and once without. ` + "`make canary`" + ` builds it.

SECURITY-REVIEW.md walks through the answer, and through checking the same
without this program.`,
		Example: `  reach audit            the analyser that reach census starts
  reach audit -v         with every module and every line of evidence
  reach audit --json --binary ./reach-analyser

Exit codes: 0 clean, 1 could not tell, 2 usage, 3 a violation.`,
		Args: arguments(0, "no argument; name the binary with --binary"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Binary == "" {
				var err error
				if o.Binary, err = launch.Beside(); err != nil {
					return err
				}
			}
			o.Expected = launch.Linked()
			if beside := filepath.Join(filepath.Dir(o.Binary), "reach-analyser-canary"); o.Canary == "" && exists(beside) {
				o.Canary = beside
			}
			r, err := audit.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = r.JSON(s.out)
			} else {
				var text bytes.Buffer
				if err = r.Text(&text, verbose); err == nil {
					_, err = io.WriteString(s.out, wrapped(text.String(), s.width()))
				}
			}
			switch {
			case err != nil:
				return err
			case r.Verdict == audit.Violation:
				return violationError{}
			case r.Verdict != audit.Clean:
				return errors.New("the audit could not tell")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Binary, "binary", "", "`PATH` of the analyser (default reach-analyser beside this program)")
	flags.StringVar(&o.Canary, "canary", "", "`PATH` of the canary (default reach-analyser-canary beside the analyser)")
	flags.StringVar(&o.Source, "source", "", "`DIR` of the source, whose rules are compared with those of this program")
	flags.BoolVar(&asJSON, "json", false, "print everything as one JSON document")
	flags.BoolVarP(&verbose, "verbose", "v", false, "print every module, line of evidence and attempt")
	flags.SortFlags = false
	return cmd
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

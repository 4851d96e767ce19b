package cli

import (
	"bufio"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/markdown"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/summary"
)

func reportCommand(s streams) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Show a report folder again, without the repository",
		Example: `  reach report reach-report/repository-1a2b3c4d5e6f
  reach report out --format markdown > comment.md`,
		Args: arguments(1, "one report folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "markdown"}, format) {
				return usagef("--format %q is none of text, json, markdown", format)
			}
			return showReport(s, args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "`text|json|markdown`: what to print")
	return cmd
}

func showReport(s streams, dir, format string) error {
	digest := &report.Digest{}
	switch format {
	case "markdown":
		out := bufio.NewWriter(s.out)
		if err := report.Replay(dir, markdown.New(out)); err != nil {
			return err
		}
		return out.Flush()
	case "json":
		// The whole folder is read all the same: a torn report is no report.
		if err := report.Replay(dir, digest); err != nil {
			return err
		}
		return printCensus(s, dir)
	}
	if err := report.Replay(dir, digest); err != nil {
		return err
	}
	o := s.summaryOptions()
	o.Folder = dir
	return summary.Text(s.out, digest, o)
}

package cli

import (
	"bufio"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/summary"
)

func reportCommand(s streams) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Show a report folder again, without the repository",
		Long: `Show a report folder again, from its data alone: neither the repository nor
the analyser is needed. Every format but text is byte for byte the file that the
census wrote, so a report can be brought up to date with a newer reach, or one
page of it handed on.

  text      a summary for a terminal
  html      the report for a browser, one file that loads nothing
  md        a page in the size of a comment on a pull request
  json      census.json
  sarif     findings for code scanning, SARIF 2.1.0
  junit     findings for CI, JUnit XML
  dot       the topology for Graphviz
  mermaid   the topology for Mermaid
  schema    the JSON Schema of the data files`,
		Example: `  reach report reach-report/repository-1a2b3c4d5e6f
  reach report out --format md > comment.md
  reach report out --format dot | dot -Tsvg > topology.svg`,
		Args: arguments(1, "one report folder, for example reach report reach-report/platform-1a2b3c4d5e6f"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(reportFormats, format) && renderers[format] == nil {
				return usagef("--format %q is none of %s", format, strings.Join(reportFormats, ", "))
			}
			return showReport(s, args[0], format)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "what to print, a `FORMAT` of: "+strings.Join(reportFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func showReport(s streams, dir, format string) error {
	if render := renderers[format]; render != nil {
		out := bufio.NewWriter(s.out)
		if err := report.Replay(dir, render(out)); err != nil {
			return err
		}
		return out.Flush()
	}
	// The whole folder is read all the same: a torn report is no report.
	digest := &report.Digest{}
	if err := report.Replay(dir, digest); err != nil {
		return err
	}
	if format == "json" {
		return printCensus(s, dir)
	}
	o := s.summaryOptions()
	o.Folder = dir
	return summary.Text(s.out, digest, o)
}

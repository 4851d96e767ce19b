package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// manCommand writes the manual pages, for packagers: it is not listed in the
// help.
func manCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write a manual page for reach and for each of its commands into the folder DIR,
which is made when it does not exist. The pages bear the date of
SOURCE_DATE_EPOCH when that is set.`,
		Example: `  reach man ~/.local/share/man/man1`,
		Hidden:  true,
		Args:    arguments(1, "one folder, for example reach man ~/.local/share/man/man1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("making the folder of the manual pages: %w", err)
			}
			now := s.now().UTC()
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "REACH", Section: "1", Source: "reach " + version, Manual: "reach", Date: &now}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("writing the manual pages: %w", err)
			}
			return nil
		},
	}
}

// choices are the values of flags that have few.
var choices = map[string][]string{
	"names":   {"alias\treplace the names of clusters", "real\tfor your own eyes"},
	"fail-on": report.Severities(),
}

// completions tells shells what flags take: the values of those that have few,
// folders and files for the others.
func completions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		for flag, values := range choices {
			if cmd.Flags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		for _, flag := range []string{"out", "git-dir"} {
			if cmd.Flags().Lookup(flag) != nil {
				_ = cmd.MarkFlagDirname(flag)
			}
		}
		for _, flag := range []string{"config", "facts"} {
			if cmd.Flags().Lookup(flag) != nil {
				_ = cmd.MarkFlagFilename(flag, "yaml", "yml", "json")
			}
		}
		if f := cmd.Flags().Lookup("format"); f != nil && cmd.Name() != "report" {
			_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

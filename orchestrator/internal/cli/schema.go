package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/schema"
)

func schemaCommand(s streams) *cobra.Command {
	var kinds strings.Builder
	var names []string
	for _, k := range schema.Kinds {
		fmt.Fprintf(&kinds, "\n  %-8s  %s", k.Name, k.Title)
		names = append(names, k.Name+"\t"+k.Title)
	}
	return &cobra.Command{
		Use:   "schema KIND",
		Short: "Print the JSON Schema of a data file",
		Long: `Print the JSON Schema of a kind of data file that reach reads or writes:
` + kinds.String() + `

Files name their schema under "$schema": those of a report by its file, others by
its $id.`,
		Example: `  # An editor that completes and checks reach.yaml, by a first line of
  # "# yaml-language-server: $schema=reach.schema.json"
  reach schema config > reach.schema.json`,
		Args: arguments(1, "a kind of file, for example reach schema config"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			document, ok := schema.Of(args[0])
			if !ok {
				var known []string
				for _, k := range schema.Kinds {
					known = append(known, k.Name)
				}
				return usagef("%q is none of %s", args[0], strings.Join(known, ", "))
			}
			_, err := io.WriteString(s.out, document)
			return err
		},
	}
}

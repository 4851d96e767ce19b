package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/rules"
)

func rulesCommand(s streams) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "rules [RULE]",
		Short: "Explain what the rules look for, why it matters and what to do",
		Long: `List the rules that a census runs, or explain one: what it looks for, why that
matters, what follows from it (by version of Flux where that differs), what to
do, and an example that it would convict. A rule may be named by its last word.

Rules marked with ? ask something that only the team can decide.`,
		Example: `  reach rules
  reach rules reach.flux.double_owner
  reach rules path_missing
  reach rules --format json | jq -r '.[].rule'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%d arguments given, wanted one rule at most", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return ruleNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			chosen := rules.All()
			if len(args) == 1 {
				rule, err := findRule(args[0])
				if err != nil {
					return err
				}
				chosen = []rules.Rule{rule}
			}
			switch {
			case format == "json":
				encoder := json.NewEncoder(s.out)
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				return encoder.Encode(chosen)
			case format != "text":
				return usagef("--format %q is none of text, json", format)
			case len(args) == 1:
				return explainRule(s, chosen[0])
			}
			return listRules(s.out, chosen, s.width())
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "`text|json`: what to print")
	return cmd
}

func ruleNames() []string {
	var out []string
	for _, r := range rules.All() {
		out = append(out, r.Rule+"\t"+r.Title)
	}
	return out
}

// findRule finds a rule by its name, or by the end of it when only one has it.
func findRule(name string) (rules.Rule, error) {
	var found []rules.Rule
	for _, r := range rules.All() {
		if r.Rule == name {
			return r, nil
		}
		if strings.HasSuffix(r.Rule, "."+name) {
			found = append(found, r)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return rules.Rule{}, usagef("no rule is called %q: reach rules lists them", name)
}

// listRules prints a line a rule, or two where a line does not fit into the
// columns of a terminal; columns is 0 when it goes to a program.
func listRules(w io.Writer, all []rules.Rule, columns int) error {
	width, line := 0, 0
	for _, r := range all {
		width = max(width, len(r.Rule))
	}
	for _, r := range all {
		line = max(line, 12+width+len(r.Title))
	}
	between := "  "
	if columns > 0 && line > columns {
		between, width = "\n          ", 0
	}
	for _, r := range all {
		mark := " "
		if r.Question {
			mark = "?"
		}
		if _, err := fmt.Fprintf(w, "%-7s %s %-*s%s%s\n", r.Severity, mark, width, r.Rule, between, r.Title); err != nil {
			return err
		}
	}
	if columns == 0 {
		return nil
	}
	_, err := fmt.Fprintln(w, "\n? asks what only the team can decide. reach rules RULE explains one.")
	return err
}

func explainRule(s streams, r rules.Rule) error {
	width := s.width()
	if width == 0 || width > 100 {
		width = 100
	}
	kind := r.Severity
	if r.Question {
		kind += ", for you to decide"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s (%s)\n", r.Rule, r.Title, kind)
	for _, part := range []struct{ title, text string }{
		{"What", r.What}, {"Why", r.Why}, {"Consequence", r.Consequence}, {"Remedy", r.Remedy},
	} {
		if part.text != "" {
			fmt.Fprintf(&out, "\n%s\n%s", part.title, indented(part.text, width))
		}
	}
	if r.Example != "" {
		fmt.Fprintf(&out, "\nExample\n")
		for line := range strings.Lines(r.Example) {
			fmt.Fprintf(&out, "  %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	_, err := io.WriteString(s.out, out.String())
	return err
}

// indented breaks words into lines that start with two spaces.
func indented(text string, width int) string {
	var out strings.Builder
	line := " "
	for _, word := range strings.Fields(text) {
		if len(line) > 1 && len(line)+1+len(word) > width {
			out.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	out.WriteString(line + "\n")
	return out.String()
}

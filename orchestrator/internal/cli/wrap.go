package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// wrapHelp makes help fit the terminal, and the command for completions say what
// is wrong with a shell that it does not know.
func wrapHelp(root *cobra.Command, s streams) {
	columns := s.width()
	if columns == 0 {
		columns = 80
	}
	width := fmt.Sprint(min(max(columns, 40), 100))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+width))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = func(_ *cobra.Command, args []string) error {
				if len(args) > 0 {
					return usagef("completion for %q is not known: name bash, zsh, fish or powershell", args[0])
				}
				return nil
			}
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// wrapped breaks lines that are longer than columns at blanks and indents what
// follows as the line itself; columns is 0 when nothing is to be broken.
func wrapped(text string, columns int) string {
	if columns < 40 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for len(line) > columns {
			end := strings.LastIndexByte(line[:columns+1], ' ')
			if end <= len(indent) {
				break
			}
			out.WriteString(strings.TrimRight(line[:end], " ") + "\n")
			line = indent + "  " + strings.TrimLeft(line[end:], " ")
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

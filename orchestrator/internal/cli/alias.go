package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/leak"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func aliasCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alias",
		Short: "List and rename aliases, and look for real names in files",
		Long: `Work with the alias file, which a census writes beside its report: what each
alias stands for. It is named itself, or by the report folder that it belongs to.`,
		Example: `  reach alias list reach-report/repository-1a2b3c4d5e6f
  reach alias rename out.aliases.json hub-1 blue
  reach alias check out.aliases.json out mail.txt slides.md`,
		Args: func(_ *cobra.Command, args []string) error {
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
			return usageError{errors.New("name a command, for example reach alias list DIR")}
		},
	}
	cmd.AddCommand(aliasListCommand(s), aliasRenameCommand(s), aliasCheckCommand(s))
	return cmd
}

func aliasListCommand(s streams) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "list FILE|DIR",
		Short: "Show what aliases stand for",
		Long: `Show what each alias stands for: real names, for your own eyes. With --format
json the alias file as it is.`,
		Example: `  reach alias list out
  reach alias list out.aliases.json --format json | jq -r '.clusters | keys[]'`,
		Args: arguments(1, "an alias file or a report folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usagef("--format %q is none of text, json", format)
			}
			file, mapping, err := openAliases(args[0])
			if err != nil {
				return err
			}
			if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
				fmt.Fprintf(s.err, "reach: others can read %s: chmod 600 it\n", nearby(file))
			}
			if format == "json" {
				return mapping.JSON(s.out)
			}
			return listAliases(s.out, mapping)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "`text|json`: what to print")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func listAliases(w io.Writer, mapping alias.Mapping) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "alias\tkind\treal name")
	for _, n := range mapping.Names() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", report.Printable(n.Alias), n.Kind, report.Printable(n.Real))
	}
	return table.Flush()
}

func aliasRenameCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "rename FILE|DIR OLD NEW",
		Short: "Give a name another alias from the next census on",
		Long: `Replace the alias OLD by NEW in the alias file. The next census that uses the
file writes NEW, unless its configuration sets another alias for that name or the
repository uses the word NEW itself. Reports that are written already keep OLD.

NEW must be no alias of another name and hold no real name.`,
		Example: `  reach alias rename out.aliases.json hub-1 blue`,
		Args:    arguments(3, "the alias file, the alias and its new spelling"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			var out []string
			if _, mapping, err := openAliases(args[0]); err == nil && len(args) == 1 {
				for _, n := range mapping.Names() {
					out = append(out, n.Alias)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			file, mapping, err := openAliases(args[0])
			if err != nil {
				return err
			}
			if args[1] == args[2] {
				return usagef("OLD and NEW are the same")
			}
			if mapping, err = mapping.Rename(args[1], args[2]); err != nil {
				return usageError{err}
			}
			// The file may be a link, which stays one.
			if file, err = filepath.EvalSymlinks(file); err != nil {
				return err
			}
			pending, err := mapping.Write(file)
			if err != nil {
				return err
			}
			defer pending.Discard()
			if err := pending.Commit(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s is %s from the next census on, unless the repository has that word itself.\nReports that are written already say %s.\n", args[1], args[2], args[1])
			return err
		},
	}
}

func aliasCheckCommand(s streams) *cobra.Command {
	names := "alias"
	cmd := &cobra.Command{
		Use:   "check FILE|DIR PATH...",
		Short: "Look for real names in what you hand on",
		Long: `Look for the real names of an alias file in files and folders, as a census looks
before it publishes a report: in a report folder, an excerpt, a mail, the text of
slides. Each place is named by file and line, and by the alias of the name found
there; --names real shows the names and the paths as they are.

Names are found in any case, with any of - _ . and space as separators, and behind
the escapes of HTML, JSON and URIs and the encodings of mails. Names that are
ordinary words, such as hub, or very short, are looked for in the data of report
folders only, since any text holds them; which these are is said. What is not
text (pictures, archives, documents of office programs) cannot be looked at.`,
		Example: `  reach alias check out.aliases.json out
  reach alias check out.aliases.json mail.txt slides.md notes/
  pbpaste | reach alias check out.aliases.json /dev/stdin

Exit codes: 0 clean, 1 could not tell, 2 usage, 3 a real name was found.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("name an alias file and what to look at, for example reach alias check out.aliases.json out")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if names != "alias" && names != "real" {
				return usagef("--names %q is none of alias, real", names)
			}
			file, mapping, err := openAliases(args[0])
			if err != nil {
				return err
			}
			check := mapping.Check()
			search := leak.Search{Check: check, Pages: pageChecks(check), Mapping: file}
			return showLeaks(s, search.In(args[1:]...), mapping, names == "real")
		},
	}
	cmd.Flags().StringVar(&names, "names", names, "write `alias|real` names; real ones are for your own eyes")
	_ = cmd.RegisterFlagCompletionFunc("names", cobra.FixedCompletions(choices["names"], cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// shownLeaks is how many places of one file are named.
const shownLeaks = 20

// showLeaks prints what was found, without real names unless these are asked for.
func showLeaks(s streams, r leak.Result, mapping alias.Mapping, real bool) error {
	replacer, rewritten := mapping.Replacer(), false
	path := func(p string) string {
		out := report.Printable(p)
		if !real {
			out = replacer.Replace(out)
			rewritten = rewritten || out != report.Printable(p)
		}
		return out
	}
	name := func(of string) string {
		if real {
			return report.Printable(of)
		}
		return "the real name of " + report.Printable(mapping.Alias(of))
	}
	var out strings.Builder
	files, shown := 0, 0
	for i, l := range r.Leaks {
		if i == 0 || l.File != r.Leaks[i-1].File {
			files, shown = files+1, 0
		}
		shown++
		switch {
		case shown == shownLeaks+1:
			fmt.Fprintf(&out, "%s: and more\n", path(l.File))
		case shown > shownLeaks:
		case l.Name == "":
			fmt.Fprintf(&out, "%s: this is the alias file\n", path(l.File))
		case l.Line == 0 && filepath.Base(l.File) != report.CensusFile:
			fmt.Fprintf(&out, "%s: the name of the file holds %s\n", path(l.File), name(l.Name))
		case l.Line == 0:
			fmt.Fprintf(&out, "%s: %s\n", path(l.File), name(l.Name))
		default:
			fmt.Fprintf(&out, "%s:%d: %s\n", path(l.File), l.Line, name(l.Name))
		}
	}
	for _, u := range r.Unclear {
		reason := report.Printable(u.Err.Error())
		if !real {
			reason = replacer.Replace(reason)
		}
		fmt.Fprintf(&out, "%s: not looked at: %s\n", path(u.File), reason)
	}
	passed := mapping.Check().Passed()
	if len(passed) > 0 {
		for i, n := range passed {
			passed[i] = report.Printable(mapping.Alias(n))
			if real {
				passed[i] = report.Printable(n)
			}
		}
		fmt.Fprintf(&out, "Looked for only in the data of reports, as any text may hold such words: %s\n", strings.Join(passed, ", "))
	}
	if rewritten {
		fmt.Fprintln(&out, "Paths are written with aliases, too; --names real shows them as they are.")
	}
	verdict := fmt.Sprintf("%s: no real name (%s)", report.Plural(r.Files, "file"), report.Plural(len(mapping.Names()), "name"))
	switch {
	case len(r.Leaks) > 0:
		verdict = fmt.Sprintf("%s looked at: %s with real names", report.Plural(r.Files, "file"), report.Plural(files, "file"))
	case len(r.Unclear) > 0:
		verdict = fmt.Sprintf("%s looked at: no real name, but %s not looked at", report.Plural(r.Files, "file"), report.Plural(len(r.Unclear), "path"))
	}
	fmt.Fprintln(&out, verdict)
	if _, err := io.WriteString(s.out, wrapped(out.String(), s.width())); err != nil {
		return err
	}
	switch {
	case len(r.Leaks) > 0:
		return leakError{}
	case len(r.Unclear) > 0:
		return errors.New("the check could not tell")
	}
	return nil
}

// openAliases opens the alias file that a path means.
func openAliases(path string) (file string, mapping alias.Mapping, err error) {
	if file, err = aliasFile(path); err != nil {
		return "", alias.Mapping{}, err
	}
	mapping, err = alias.Open(file)
	return file, mapping, err
}

// aliasFile is the alias file that a path means: itself, or that of a report
// folder.
func aliasFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, nil
	}
	dir := filepath.Clean(path)
	if beside := dir + ".aliases.json"; exists(beside) {
		return beside, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if beside := abs + ".aliases.json"; exists(beside) {
		return beside, nil
	}
	// The names that a census chooses when --out is not given.
	places := []string{abs}
	if exists(filepath.Join(abs, report.CensusFile)) {
		places = []string{filepath.Dir(abs)}
	}
	var found []string
	for _, place := range places {
		entries, err := os.ReadDir(place)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "aliases-") && strings.HasSuffix(e.Name(), ".json") && e.Type().IsRegular() {
				found = append(found, filepath.Join(place, e.Name()))
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no alias file beside %s: name it; a census with --names real writes none", path)
	case 1:
		return found[0], nil
	}
	for i := range found {
		found[i] = nearby(found[i])
	}
	return "", fmt.Errorf("several alias files may belong to %s: name one of %s", path, strings.Join(found, ", "))
}

// flagName lets --aliases be another word for --alias-file.
func flagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "aliases" {
		name = "alias-file"
	}
	return pflag.NormalizedName(name)
}

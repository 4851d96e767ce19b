package cli

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gitops-reach/reach/orchestrator/internal/clone"
	"github.com/gitops-reach/reach/orchestrator/internal/config"
	"github.com/gitops-reach/reach/orchestrator/internal/launch"
	"github.com/gitops-reach/reach/orchestrator/internal/oracle"
)

// oracleFlags are the flags of reach oracle.
type oracleFlags struct {
	rev, config, out, renderer string
	roots                      []string
}

func oracleCommand(s streams) *cobra.Command {
	var f oracleFlags
	cmd := &cobra.Command{
		Use:   "oracle REPO",
		Short: "Render a commit with kustomize and Flux, to compare a census with",
		Long: `Render a commit with the real kustomize and the real code of Flux, and write
where each Kustomization lands and how many objects it builds: a second opinion
for those who have no check of their own. Hand the file over with
reach census --oracle.

It is independent of the census. Roots are what you declare, gotk-sync.yaml files
and FluxInstances; which source is this repository, and what spokes are called,
comes from the configuration; everything else is what the tools build. It does
not follow what ResourceSets make, and puts the text of a variable in the place
of a value that is not in the repository.

A program of its own, reach-oracle, does it, since the tools are not made for
hostile repositories: it lays the commit into a temporary folder, finds no program
to start, and has no network where Linux can take it away. git has to be on the
PATH. Nothing is fetched, and nothing is written into the clone.

The file holds real names, as the census compares before it writes aliases, and
is for your own eyes. It holds no content of any object.`,
		Example: `  reach oracle ~/platform --config reach.yaml --out oracle.json
  reach census ~/platform --config reach.yaml --oracle oracle.json`,
		Args: arguments(1, "one repository, for example reach oracle ."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return takeOracle(cmd.Context(), s, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rev, "rev", "", "commit to render, a `REVISION` as git knows them (default HEAD)")
	flags.StringArrayVar(&f.roots, "root", nil, "`CLUSTER=PATH[@NAMESPACE/NAME]`, what the cluster reconciles itself from; repeatable")
	flags.StringVar(&f.config, "config", "", "`FILE` with what only you know, see reach.example.yaml")
	flags.StringVar(&f.out, "out", "", "`FILE` to write, mode 0600 (default standard output)")
	flags.StringVar(&f.renderer, "renderer", "", "`PATH` of the program that renders (default reach-oracle beside this program)")
	flags.SortFlags = false
	return cmd
}

func takeOracle(ctx context.Context, s streams, f oracleFlags, repository string) error {
	var roots []config.Root
	for _, value := range f.roots {
		root, err := config.ParseRoot(value)
		if err != nil {
			return usageError{err}
		}
		roots = append(roots, root)
	}
	settings := &config.Config{}
	var err error
	if f.config != "" {
		if settings, err = config.Load(f.config); err != nil {
			return usageError{err}
		}
	}
	c, err := clone.Locate(repository)
	if err != nil {
		return err
	}
	if f.out != "" {
		if f.out, err = clone.Resolve(f.out); err != nil {
			return err
		}
		if err := outside(c, f.out, "the file", "--out"); err != nil {
			return err
		}
	}
	request := settings.Request(roots...)
	request.Revision = f.rev
	question, err := protojson.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := launch.Oracle(ctx, f.renderer, c.Path, question, s.env)
	if err != nil {
		return err
	}
	file, line, message := oracle.Parse(answer)
	if message != "" {
		return fmt.Errorf("what the oracle says cannot be read: line %d: %s", line, message)
	}
	var text bytes.Buffer
	if err := oracle.Write(&text, file); err != nil {
		return err
	}
	if f.out == "" {
		_, err := s.out.Write(text.Bytes())
		return err
	}
	if err := renameio.WriteFile(f.out, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the oracle: %w", err)
	}
	states := map[string]int{}
	for _, r := range file.Rows {
		states[r.State]++
	}
	_, err = fmt.Fprintf(s.out, "%d Kustomizations: %d rendered, %d not rendered, %d failed\n%s holds real names: it is for your own eyes\n",
		len(file.Rows), states[oracle.Rendered], states[oracle.NotRendered], states[oracle.Failed], nearby(f.out))
	return err
}

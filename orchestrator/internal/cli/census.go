package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/clone"
	"github.com/gitops-reach/reach/orchestrator/internal/config"
	"github.com/gitops-reach/reach/orchestrator/internal/facts"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/stream"
	"github.com/gitops-reach/reach/orchestrator/internal/summary"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// censusFlags are the flags of reach census.
type censusFlags struct {
	gitDir, rev, config, names, out, format, failOn, analyser, aliasFile, stats, trace string
	oracle, baseline, asOf                                                             string
	roots                                                                              []string
	facts                                                                              []string
	access                                                                             accessFlags
	verbose                                                                            bool

	requireSeal string
	limits      *reachv1.Limits
	noShortcuts bool
}

func censusCommand(s streams, launch launcher) *cobra.Command {
	var f censusFlags
	cmd := &cobra.Command{
		Use:   "census REPO",
		Short: "Take a census of a clone at one commit",
		Long: `Take a census of a local clone at one commit and write a report folder.

REPO is a work tree, a linked work tree, a bare repository or a .git directory.
Nothing is fetched or checked out, and nothing is ever written into the clone.

Where clusters start is found from gotk-sync.yaml files and FluxInstances; what
the repository does not say itself is declared with --root or in a configuration
file (see reach.example.yaml).

No cluster is asked unless --context grants it for this run. Then nothing but
reads leave this program, Secrets are never read, and nothing is kept.

Names of clusters and of the repository are replaced by aliases in everything
that is written. What they stand for is kept in a file of mode 0600 beside the
report, never in it; the same file keeps aliases stable from census to census.`,
		Example: `  # The commit that is checked out; the report goes to ./reach-report/...
  reach census ~/platform

  # A branch, a tag or a commit, and a root that no file declares
  reach census ~/platform --rev origin/main --root hub=clusters/hub

  # A root whose Kustomization is not flux-system/flux-system
  reach census ~/platform --root edge=edge/prod@gitops/edge

  # For your own eyes
  reach census ~/platform --names real

  # In a pipeline: fail on errors, one JSON document on standard output
  reach census . --fail-on error --format json --out /tmp/report | jq .counts

  # Only what is new since the last census, and what a check of your own says
  reach census . --baseline reach-report/last --fail-on warning
  reach census . --oracle rendered.csv

  # With access to a hub, for this run only; "reach rbac" prints the role
  reach census ~/platform --kubeconfig ~/.kube/config --context hub-east=reader@hub-east

  # The same again, without access
  reach census ~/platform --kubeconfig ~/.kube/config --context hub-east=reader@hub-east --save-facts east.facts
  reach census ~/platform --facts east.facts

  # A bare mirror
  reach census --git-dir /srv/git/platform.git

Exit codes: 0 done, 1 could not do it, 2 usage, 3 findings at or above
--fail-on.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.gitDir == "" && len(args) != 1:
				return usagef("name one repository, for example reach census .")
			case f.gitDir != "" && len(args) != 0:
				return usagef("name the repository either as REPO or with --git-dir")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			repository := f.gitDir
			if repository == "" {
				repository = args[0]
			}
			start := launch(cmd.Context(), f.analyser, prepare)
			c, err := newCensus(s, f, repository)
			if err != nil {
				return err
			}
			return c.take(cmd.Context(), start)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rev, "rev", "", "commit to read, a `REVISION` as git knows them (default HEAD)")
	flags.StringArrayVar(&f.roots, "root", nil, "what a cluster reconciles itself from, `CLUSTER=PATH`; repeatable")
	flags.StringVar(&f.config, "config", "", "`FILE` with what only you know, see reach.example.yaml")
	f.access.add(flags)
	flags.StringArrayVar(&f.facts, "facts", nil, "`FILE` with what was seen on clusters earlier; repeatable")
	flags.StringVar(&f.names, "names", "alias", "write `alias|real` names; real ones are for your own eyes")
	flags.StringVar(&f.out, "out", "", "report folder `DIR`, replaced when it is a report (default ./reach-report/NAME-COMMIT)")
	flags.StringVar(&f.format, "format", "text", "print a summary or census.json: `text|json`")
	flags.StringVar(&f.failOn, "fail-on", "", "exit with 3 when an open finding is at least: `info|warning|error|fatal`")
	flags.StringVar(&f.baseline, "baseline", "", "show only what is new since `DIR|FILE`, an earlier report, its findings.jsonl or report.sarif")
	flags.StringVar(&f.asOf, "as-of", "", "`DAY` on which suppressions are judged, YYYY-MM-DD (default: that of the commit, in UTC)")
	flags.StringVar(&f.oracle, "oracle", "", "compare with `FILE|DIR`, where your own check says that each Kustomization lands (see reach oracle)")
	flags.StringVar(&f.analyser, "analyser", "", "`PATH` of the analyser (default reach-analyser beside this program)")
	flags.StringVar(&f.aliasFile, "alias-file", "", "`FILE` that keeps what aliases stand for (default DIR.aliases.json)")
	flags.StringVar(&f.gitDir, "git-dir", "", "git directory `DIR`, in place of REPO")
	flags.StringVar(&f.stats, "stats", "", "write time and peak memory of both processes to `FILE`, as JSON")
	flags.StringVar(&f.trace, "trace", "", "write when both processes did what to `FILE`, in the Chrome trace event format")
	flags.BoolVar(&f.noShortcuts, "no-shortcuts", false, "parse and substitute everything the long way; the report is the same, only slower")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show what the analyser logs")
	sealFlag(flags, &f.requireSeal)
	f.limits = &reachv1.Limits{}
	addLimitFlags(flags, f.limits)
	flags.SetNormalizeFunc(flagName)
	flags.SortFlags = false
	return cmd
}

// census is one run of reach census.
type census struct {
	streams
	flags   censusFlags
	clone   clone.Clone
	place   place
	config  *config.Config
	request *reachv1.CensusRequest
	// access is what may be read of clusters.
	access *access
	// stored are the aliases of the alias file, words what aliases must not be.
	stored alias.Mapping
	words  *alias.Words
	// adoption is what the census is held against.
	adoption adoption
	// measured is what --stats writes, trace what --trace writes.
	measured stats
	trace    *trace
}

// newCensus checks all that can be checked before the analyser starts.
func newCensus(s streams, f censusFlags, repository string) (*census, error) {
	c := &census{streams: s, flags: f, config: &config.Config{}, measured: stats{start: time.Now()}}
	if f.trace != "" {
		c.trace = newTrace(c.measured.start)
	}
	defer c.trace.span("checking what was asked")()
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{
		{"names", f.names, []string{"alias", "real"}},
		{"format", f.format, []string{"text", "json"}},
		{"require-seal", f.requireSeal, sealModes},
		{"read", f.access.read, readModes},
		{"fail-on", f.failOn, append([]string{""}, report.Severities()...)},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return nil, usagef("--%s %q is none of %s", choice.flag, choice.value, strings.TrimPrefix(strings.Join(choice.of, ", "), ", "))
		}
	}
	var roots []config.Root
	for _, value := range f.roots {
		root, err := config.ParseRoot(value)
		if err != nil {
			return nil, usageError{err}
		}
		roots = append(roots, root)
	}
	if f.config != "" {
		var err error
		if c.config, err = config.Load(f.config); err != nil {
			return nil, usageError{err}
		}
	}
	var err error
	if c.clone, err = clone.Locate(repository); err != nil {
		return nil, err
	}
	for flag, file := range map[string]string{"--stats": f.stats, "--trace": f.trace, "--save-facts": f.access.saveFacts} {
		if file == "" {
			continue
		}
		if err := outside(c.clone, file, "the file", flag); err != nil {
			return nil, err
		}
	}
	if c.place, err = findPlace(c.clone, f.out, f.aliasFile); err != nil {
		return nil, err
	}
	if f.names == "alias" {
		if c.stored, err = alias.Load(c.place.aliasFile); err != nil {
			return nil, err
		}
		c.words = alias.NewWords(alias.Mapping(c.config.Aliases), c.stored)
	}
	if c.adoption, err = newAdoption(f, c.config); err != nil {
		return nil, err
	}
	c.request = c.config.Request(roots...)
	c.request.Revision = f.rev
	c.request.NoShortcuts = f.noShortcuts
	applyLimits(f.limits, c.request.Limits)
	c.access, err = newAccess(f.access, s.env)
	return c, err
}

// take has the census taken and writes the report.
func (c *census) take(ctx context.Context, start starter) error {
	defer c.access.close()
	if err := c.look(ctx); err != nil {
		return err
	}
	ended := func() {}
	defer func() { ended() }()
	recording, err := c.record(ctx, start, &ended)
	if err != nil {
		return err
	}
	defer recording.Close()
	digest, folder, err := c.publish(ctx, recording)
	if err != nil {
		return err
	}
	shown := c.trace.span("showing a summary")
	if err := c.show(digest, folder); err != nil {
		return err
	}
	shown()
	if c.flags.stats != "" {
		if err := c.measured.write(c.flags.stats); err != nil {
			return err
		}
	}
	if err := c.trace.write(c.flags.trace); err != nil {
		return err
	}
	return failing(c.flags.failOn, digest.Census)
}

// record runs the analyser and keeps its answer. ended waits until the analyser is
// gone, which nothing needs to wait for that only uses the answer.
func (c *census) record(ctx context.Context, start starter, ended *func()) (*stream.Recording, error) {
	bar := newProgress(c.err, c.env["TERM"])
	defer bar.clear()
	// Progress is asked for even when nobody looks: it tells a census that
	// takes long from an analyser that hangs.
	var log io.Writer
	if c.flags.verbose {
		log = c.err
	}
	started := c.trace.span("starting the analyser")
	a, err := start(ctx, c.clone.Path, log)
	if err != nil {
		return nil, err
	}
	*ended = a.Close
	started()
	if err := sealMode(c.flags.requireSeal).sealed(a.Hello()); err != nil {
		return nil, err
	}
	if err := c.tell(ctx, a); err != nil {
		return nil, err
	}
	recorder := stream.NewRecorder()
	received := c.trace.span("receiving the census")
	c.trace.asked()
	err = a.Census(ctx, c.request, func(m *reachv1.CensusResponse) error {
		bar.update(m.GetProgress())
		c.trace.message(m)
		if c.words != nil {
			stream.Words(m, c.words.Note)
		}
		return recorder.Add(m)
	})
	c.trace.answered()
	received()
	c.measured.analysed(a)
	var recording *stream.Recording
	if err == nil {
		recording, err = recorder.Finish(a.Hello().GetAnalyserVersion())
	}
	if err != nil {
		return nil, errors.Join(err, recorder.Close())
	}
	return recording, nil
}

// look reads the clusters that were granted. It comes before the analyser starts:
// that one never runs beside a connection.
func (c *census) look(ctx context.Context) error {
	if len(c.access.grants) == 0 {
		return nil
	}
	defer c.trace.span("reading clusters")()
	if err := c.access.read(ctx, c.now(), c.err); err != nil {
		return err
	}
	c.measured.read(c.access)
	return c.access.save()
}

// tell hands over what was read, and the facts of the files that were named.
func (c *census) tell(ctx context.Context, a analyser) error {
	if len(c.flags.facts) == 0 && len(c.access.grants) == 0 {
		return nil
	}
	defer c.trace.span("telling facts")()
	taker, ok := a.(factsTaker)
	if !ok {
		return errors.New("this analyser takes no facts about clusters")
	}
	readings := map[string]int{}
	told, err := taker.Facts(ctx, func(to func(*reachv1.Fact) error) error {
		yield := func(f *reachv1.Fact) error {
			if f.GetAccess() != nil {
				readings[f.GetCluster()]++
			}
			return to(withoutContext(f))
		}
		for _, file := range c.flags.facts {
			if err := facts.ReadFile(file, yield); err != nil {
				return err
			}
		}
		return c.access.each(yield)
	})
	if err != nil {
		return err
	}
	for _, cluster := range slices.Sorted(maps.Keys(readings)) {
		if readings[cluster] > 1 {
			fmt.Fprintln(c.err, "facts:", report.Printable(cluster)+" was read more than once: what was there the first time is told as well, though it may be gone")
		}
	}
	for _, p := range told.GetProblems() {
		fmt.Fprintln(c.err, "facts:", p)
	}
	return nil
}

// names are how the names of a census are written.
type names struct {
	mode, repository string
	mapping          alias.Mapping
	replace          func(string) string
}

func (c *census) names(r *stream.Recording) (names, error) {
	repository := alias.ParseRepository(r.Header.GetOriginUrl(), c.clone.Name())
	if c.flags.names == "real" {
		return names{mode: "real", repository: repository.String(), replace: func(s string) string { return s }}, nil
	}
	known := alias.Known{Clusters: r.Clusters, Repository: repository, Words: c.words}
	for _, cluster := range r.Summary.GetClusters() {
		known.References = append(known.References, cluster.GetKubeconfig())
		for _, way := range cluster.GetReferences() {
			known.References = append(known.References, way.GetKubeconfig())
		}
		for _, domain := range cluster.GetShape().GetIngressDomains() {
			known.Domains = append(known.Domains, domain)
		}
	}
	for _, s := range c.config.Clusters {
		if known.Clusters[s.Name] == "" {
			known.Clusters[s.Name] = "cluster"
		}
	}
	for _, name := range c.adoption.clusters() {
		if known.Clusters[name] == "" {
			known.Clusters[name] = "cluster"
		}
	}
	mapping, err := alias.Mapping(c.config.Aliases).Complete(c.stored, known)
	if err != nil {
		return names{}, usageError{err}
	}
	replacer := mapping.Replacer()
	name := replacer.Replace(repository.Name)
	if name == repository.Name {
		// An ordinary word, which needs no alias and says nothing either.
		name = "repository"
	}
	return names{mode: "alias", repository: name, mapping: mapping, replace: replacer.Replace}, nil
}

// publish writes the report folder and the alias file, both or neither.
func (c *census) publish(ctx context.Context, r *stream.Recording) (*report.Digest, string, error) {
	if err := c.adoption.judge(r); err != nil {
		return nil, "", err
	}
	named := c.trace.span("choosing names")
	n, err := c.names(r)
	named()
	if err != nil {
		return nil, "", err
	}
	target := c.place.target(n.repository, r.Header.GetCommit())
	folder, err := report.Create(target, pages()...)
	if err != nil {
		return nil, "", err
	}
	defer folder.Discard()
	digest := &report.Digest{}
	written := c.trace.span("writing the report")
	if err := c.replay(ctx, r, n, report.Tee(folder, digest)); err != nil {
		return nil, "", err
	}
	written()
	if n.mode == "real" {
		defer c.trace.span("putting the report in place")()
		return digest, target, folder.Publish()
	}
	looked := c.trace.span("looking for real names")
	check := n.mapping.Check()
	leaks, err := report.Leaks(folder.Dir(), check.Value, check.Prose, pageChecks(check)...)
	if err != nil {
		return nil, "", err
	}
	if len(leaks) > 0 {
		return nil, "", &leaks[0]
	}
	looked()
	defer c.trace.span("putting the report in place")()
	pending, err := n.mapping.Write(c.place.aliasFile)
	if err != nil {
		return nil, "", err
	}
	defer pending.Discard()
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err := folder.Publish(); err != nil {
		return nil, "", err
	}
	return digest, target, pending.Commit()
}

// replay gives the recording to a handler, with names replaced.
func (c *census) replay(ctx context.Context, r *stream.Recording, n names, h report.Handler) error {
	header := report.HeaderFromProto(r.Header)
	header.Tool = report.Tool{Name: "reach", Version: version, AnalyserVersion: r.AnalyserVersion}
	settler := &settler{adoption: &c.adoption, rename: func(record any) {
		if n.mode != "real" {
			report.Rename(record, n.replace)
		}
	}}
	if comparison := c.adoption.comparison; comparison != nil {
		header.Oracle = comparison.Oracle
	}
	whole := report.CensusFromProto(header, r.Rules, r.Summary)
	settler.rename(whole)
	whole.Names, whole.Repository = n.mode, n.repository
	if err := h.Begin(&whole.Header); err != nil {
		return err
	}
	if err := c.records(ctx, r, settler, h); err != nil {
		return err
	}
	settler.amend(whole)
	return h.End(whole)
}

// Records go from the goroutine that reads and renames them to the one that
// writes them in batches: so many, with so many records, at the most.
const (
	batches   = 4
	batchSize = 256
)

// records gives every record of the recording to a handler.
func (c *census) records(ctx context.Context, r *stream.Recording, settler *settler, h report.Handler) error {
	filled := make(chan []any, batches)
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(filled)
		batch := make([]any, 0, batchSize)
		send := func() error {
			select {
			case filled <- batch:
				batch = make([]any, 0, batchSize)
				return nil
			case <-running.Done():
				return context.Cause(running)
			}
		}
		give := func(record any) error {
			if batch = append(batch, record); len(batch) == batchSize {
				return send()
			}
			return nil
		}
		err := r.Each(func(m *reachv1.CensusResponse) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			record := report.FromProto(m)
			if record == nil {
				return nil
			}
			return settler.next(record, give)
		})
		if err == nil {
			err = settler.next(nil, give)
		}
		if err != nil {
			return err
		}
		return send()
	})
	g.Go(func() error {
		for batch := range filled {
			for _, record := range batch {
				if err := report.Dispatch(h, record); err != nil {
					return err
				}
			}
			if running.Err() != nil {
				return context.Cause(running)
			}
		}
		return nil
	})
	return g.Wait()
}

// show prints what was asked for.
func (c *census) show(d *report.Digest, folder string) error {
	if c.flags.format == "json" {
		return printCensus(c.streams, folder)
	}
	o := c.summaryOptions()
	o.Folder = nearby(folder)
	if c.flags.names == "alias" {
		o.AliasFile = nearby(c.place.aliasFile)
	}
	return summary.Text(c.out, d, o)
}

func (s streams) summaryOptions() summary.Options {
	return summary.Options{Width: s.width(), Color: s.color(), Now: s.now()}
}

func printCensus(s streams, folder string) error {
	data, err := os.ReadFile(filepath.Join(folder, report.CensusFile))
	if err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	_, err = s.out.Write(data)
	return err
}

// nearby is a path relative to the current folder when it lies in it.
func nearby(path string) string {
	dir, err := clone.Resolve(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// failOn is the error for findings at or above a severity; "" is none.
func failOn(severity string, counts map[string]int) error {
	if severity == "" {
		return nil
	}
	n := 0
	for s, count := range counts {
		if report.SeverityRank(s) >= report.SeverityRank(severity) {
			n += count
		}
	}
	if n == 0 {
		return nil
	}
	return findingsError{count: n, severity: severity}
}

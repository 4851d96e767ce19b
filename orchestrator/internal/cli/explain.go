package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/clone"
	"github.com/gitops-reach/reach/orchestrator/internal/config"
	"github.com/gitops-reach/reach/orchestrator/internal/explain"
	"github.com/gitops-reach/reach/orchestrator/internal/objectname"
	"github.com/gitops-reach/reach/orchestrator/internal/stream"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// explainFlags are the flags of reach explain.
type explainFlags struct {
	censusFlags
	field, namespace string
}

// explainer is a running analyser that explains one object.
type explainer interface {
	Explain(ctx context.Context, req *reachv1.ExplainRequest) (*reachv1.ExplainResponse, error)
}

func explainCommand(s streams, launch launcher) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain REPO OBJECT",
		Short: "Tell why an object is what it is, to the line",
		Long: `Tell for one object of a clone at one commit by which way it comes to which
clusters, where it is the same and where it differs, which step of its build set
which value, and which value that overrode.

OBJECT is KIND[.GROUP]/[NAMESPACE/]NAME[@CLUSTER]. When several objects fit, or
none does, those that may be meant are listed. A name that holds an @ is
followed by another one.

Without --field every field is listed that something other than the object's own
document set. Values of Secrets, encrypted values and what was taken from either
are never printed.

Names are replaced by aliases as in a census; OBJECT may use either.`,
		Example: `  # Everything that patches, transformers, generators and variables set
  reach explain ~/platform Deployment/shop/frontend

  # One field, or all below one
  reach explain ~/platform Deployment/frontend -n shop --field 'spec.template.spec.containers[name=app].image'
  reach explain ~/platform Deployment/shop/frontend --field 'metadata.labels["app.kubernetes.io/name"]'

  # On one cluster, as JSON
  reach explain ~/platform HelmRelease/apps/podinfo@hub-1 --format json

Exit codes: 0 done, 1 could not do it or no such object, 2 usage.`,
		Args: arguments(2, "a repository and an object, for example reach explain . Deployment/shop/frontend"),
		RunE: func(cmd *cobra.Command, args []string) error {
			start := launch(cmd.Context(), f.analyser, nil)
			e, err := newExplain(s, f, args[0], args[1])
			if err != nil {
				return err
			}
			return e.run(cmd.Context(), start)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.field, "field", "", "`PATH` of a field, such as spec.containers[name=app].image")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "`NAMESPACE` of the object, where OBJECT names none")
	flags.StringVar(&f.rev, "rev", "", "commit to read, a `REVISION` as git knows them (default HEAD)")
	flags.StringArrayVar(&f.roots, "root", nil, "what a cluster reconciles itself from, `CLUSTER=PATH`; repeatable")
	flags.StringVar(&f.config, "config", "", "`FILE` with what only you know, see reach.example.yaml")
	flags.StringVar(&f.names, "names", "alias", "write `alias|real` names; real ones are for your own eyes")
	flags.StringVar(&f.format, "format", "text", "print `text|json`")
	flags.StringVar(&f.analyser, "analyser", "", "`PATH` of the analyser (default reach-analyser beside this program)")
	flags.StringVar(&f.aliasFile, "alias-file", "", "`FILE` that keeps what aliases stand for (default as for a census without --out)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show what the analyser logs")
	flags.SetNormalizeFunc(flagName)
	flags.SortFlags = false
	return cmd
}

// explanation is one run of reach explain.
type explanation struct {
	census
	object objectname.Name
	field  string
}

// newExplain checks all that can be checked before the analyser starts.
func newExplain(s streams, f explainFlags, repository, object string) (*explanation, error) {
	e := &explanation{census: census{streams: s, flags: f.censusFlags, config: &config.Config{}}, field: f.field}
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{{"names", f.names, []string{"alias", "real"}}, {"format", f.format, []string{"text", "json"}}} {
		if !slices.Contains(choice.of, choice.value) {
			return nil, usagef("--%s %q is none of %s", choice.flag, choice.value, strings.Join(choice.of, ", "))
		}
	}
	var err error
	if e.object, err = objectname.Parse(object); err != nil {
		return nil, usageError{err}
	}
	if f.namespace != "" {
		if e.object.HasNamespace && e.object.Namespace != f.namespace {
			return nil, usagef("OBJECT is in namespace %q, --namespace says %q", e.object.Namespace, f.namespace)
		}
		e.object.Namespace, e.object.HasNamespace = f.namespace, true
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
		if e.config, err = config.Load(f.config); err != nil {
			return nil, usageError{err}
		}
	}
	if e.clone, err = clone.Locate(repository); err != nil {
		return nil, err
	}
	if f.names == "alias" {
		if e.place, err = findPlace(e.clone, "", f.aliasFile); err != nil {
			return nil, err
		}
		if e.stored, err = alias.Load(e.place.aliasFile); err != nil {
			return nil, err
		}
	}
	e.request = e.config.Request(roots...)
	e.request.Revision = f.rev
	return e, nil
}

// run asks the analyser and prints its answer.
func (e *explanation) run(ctx context.Context, start starter) error {
	answer, err := e.ask(ctx, start)
	if err != nil {
		return err
	}
	n, err := e.names(&stream.Recording{Header: answer.GetHeader(), Clusters: roles(answer.GetClusters()), Summary: &reachv1.Summary{Clusters: answer.GetClusters()}})
	if err != nil {
		return err
	}
	var out strings.Builder
	if answer.GetMatch() == reachv1.ObjectMatch_OBJECT_MATCH_ONE {
		err = e.write(&out, explain.From(answer, e.field, n.mode, n.replace))
	} else {
		err = e.candidates(answer, n)
	}
	if n.mode == "alias" {
		if leak := e.keep(n, out.String(), err); leak != nil {
			return leak
		}
	}
	if _, failed := io.WriteString(e.out, out.String()); failed != nil {
		return failed
	}
	return err
}

// ask starts the analyser and asks it.
func (e *explanation) ask(ctx context.Context, start starter) (*reachv1.ExplainResponse, error) {
	bar := newProgress(e.err, e.env["TERM"])
	defer bar.clear()
	var log io.Writer
	if e.flags.verbose {
		log = e.err
	}
	a, err := start(ctx, e.clone.Path, log)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if err := sealMode(sealAuto).sealed(a.Hello()); err != nil {
		return nil, err
	}
	x, ok := a.(explainer)
	if !ok {
		return nil, errors.New("this analyser cannot explain objects")
	}
	return x.Explain(ctx, &reachv1.ExplainRequest{Census: e.request, Object: e.query(), Field: e.real(e.field)})
}

// query is the object with real names in place of the aliases that are known.
func (e *explanation) query() *reachv1.ObjectQuery {
	q := &reachv1.ObjectQuery{Kind: e.object.Kind, Name: e.real(e.object.Name), Cluster: e.real(e.object.Cluster)}
	if e.object.HasGroup {
		group := e.real(e.object.Group)
		q.Group = &group
	}
	if e.object.HasNamespace {
		namespace := e.real(e.object.Namespace)
		q.Namespace = &namespace
	}
	return q
}

// real puts real names in the place of aliases.
func (e *explanation) real(s string) string {
	if s == "" || e.flags.names == "real" {
		return s
	}
	back := alias.Mapping{Words: map[string]string{}}
	known := alias.Mapping(e.config.Aliases).Over(e.stored)
	for _, part := range []map[string]string{known.Clusters, known.Repository, known.Words} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			back.Words[part[name]] = name
		}
	}
	return back.Replacer().Replace(s)
}

// roles gives every cluster the role that its aliases are made of.
func roles(clusters []*reachv1.Cluster) map[string]string {
	out := map[string]string{}
	for _, c := range clusters {
		out[c.GetName()] = "cluster"
		if c.GetKubeconfig() != "" {
			out[c.GetName()] = "spoke"
		}
	}
	for _, c := range clusters {
		for _, hub := range stream.ControllerClusters(c) {
			out[hub] = "hub"
		}
	}
	return out
}

func (e *explanation) write(w io.Writer, x *explain.Explanation) error {
	if e.flags.format == "text" {
		return explain.Text(w, x)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(x)
}

// keep checks that no real name is printed, and keeps the aliases.
func (e *explanation) keep(n names, out string, failure error) error {
	text := out
	if failure != nil {
		text += failure.Error()
	}
	if leaks := n.mapping.Check().Prose(text); len(leaks) > 0 {
		return fmt.Errorf("the explanation would give the real name of %s away, so nothing was printed: give it an alias of its own in the configuration (aliases.words), or ask with --names real for your own eyes", n.mapping.Alias(leaks[0]))
	}
	if err := os.MkdirAll(filepath.Dir(e.place.aliasFile), 0o755); err != nil {
		return fmt.Errorf("making the folder of the alias file: %w", err)
	}
	pending, err := n.mapping.Write(e.place.aliasFile)
	if err != nil {
		return err
	}
	defer pending.Discard()
	return pending.Commit()
}

// candidates is the error for a query that means none or several objects.
func (e *explanation) candidates(m *reachv1.ExplainResponse, n names) error {
	asked := n.replace(e.object.String())
	list := explain.Candidates(m, n.replace)
	head := fmt.Sprintf("%s means %d objects; name one of them:", asked, len(list))
	if m.GetMatch() != reachv1.ObjectMatch_OBJECT_MATCH_SEVERAL {
		head = "there is no object " + asked
		if len(list) == 0 {
			return errors.New(head + " on any cluster that this repository reaches")
		}
		head += "; did you mean"
	}
	return candidatesError{head, list}
}

// candidatesError lists objects, each on a line of its own.
type candidatesError struct {
	head string
	list []explain.Object
}

func (e candidatesError) Error() string {
	var b strings.Builder
	b.WriteString(e.head)
	for _, o := range e.list {
		fmt.Fprintf(&b, "\n  %s", o)
		if n := len(o.Clusters); n > 3 {
			fmt.Fprintf(&b, "  on %s and %d more", strings.Join(o.Clusters[:3], ", "), n-3)
		} else if n > 0 {
			fmt.Fprintf(&b, "  on %s", strings.Join(o.Clusters, ", "))
		}
	}
	return b.String()
}

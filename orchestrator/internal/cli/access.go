package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/gitops-reach/reach/orchestrator/internal/facts"
	"github.com/gitops-reach/reach/orchestrator/internal/observe"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// accessFlags are the flags by which a person grants access to clusters for one
// run.
type accessFlags struct {
	contexts, kubeconfigs, namespaces, groups []string
	as, read, saveFacts                       string
	time                                      time.Duration
}

var readModes = []string{"objects", "inventories"}

func (f *accessFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.contexts, "context", nil, "`CLUSTER=CONTEXT`: read the cluster through this kubeconfig context, in this run; repeatable")
	flags.StringArrayVar(&f.kubeconfigs, "kubeconfig", nil, "`FILE` that has the contexts (default those that $KUBECONFIG names); repeatable")
	flags.StringArrayVar(&f.namespaces, "namespace", nil, "`CLUSTER=NAMESPACE`: read there only in this namespace; repeatable")
	flags.StringVar(&f.read, "read", "objects", "read metadata of all objects, or only what Flux says of its own: `objects|inventories`")
	flags.StringVar(&f.as, "as", "", "impersonate this `USER` on the clusters")
	flags.StringArrayVar(&f.groups, "as-group", nil, "impersonate this `GROUP` on the clusters; repeatable")
	flags.DurationVar(&f.time, "access-timeout", 5*time.Minute, "read a cluster for no longer than `TIME`")
	flags.StringVar(&f.saveFacts, "save-facts", "", "keep what was read in `FILE` (mode 0600, real names), to be given to --facts")
}

// grant is one cluster that may be read.
type grant struct {
	cluster, context string
	namespaces       []string
	server           *session.Server
	spool            *facts.Spool
	// took is how long reading it took.
	took     time.Duration
	outcomes map[reachv1.Outcome]int
	access   *reachv1.Access
	// marks are uids by which the cluster is known again.
	marks  []string
	marked bool
}

// access is all that may be read.
type access struct {
	flags  accessFlags
	grants []*grant
}

// newAccess checks what was granted and opens the contexts. Nothing is asked of
// a server yet. env is the environment of the run.
func newAccess(f accessFlags, env map[string]string) (_ *access, err error) {
	if len(f.contexts) == 0 {
		for flag, given := range map[string]bool{
			"--kubeconfig": len(f.kubeconfigs) > 0, "--namespace": len(f.namespaces) > 0, "--save-facts": f.saveFacts != "",
			"--as": f.as != "", "--as-group": len(f.groups) > 0,
		} {
			if given {
				return nil, usagef("%s without --context: no cluster is read unless its context is named, as in --context hub=CONTEXT", flag)
			}
		}
		return &access{flags: f}, nil
	}
	if len(f.groups) > 0 && f.as == "" {
		return nil, usagef("--as-group without --as: name the user to impersonate too")
	}
	if f.time <= 0 {
		return nil, usagef("--access-timeout %s: a time is more than 0", f.time)
	}
	a := &access{flags: f}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	byName := map[string]*grant{}
	for _, value := range f.contexts {
		cluster, context, ok := strings.Cut(value, "=")
		if !ok || cluster == "" || context == "" {
			return nil, usagef("--context %q is not CLUSTER=CONTEXT, for example --context hub=admin@hub", value)
		}
		if byName[cluster] != nil {
			return nil, usagef("--context names the cluster %q twice", cluster)
		}
		g := &grant{cluster: cluster, context: context, outcomes: map[reachv1.Outcome]int{}}
		byName[cluster], a.grants = g, append(a.grants, g)
	}
	for _, value := range f.namespaces {
		cluster, namespace, ok := strings.Cut(value, "=")
		if !ok || byName[cluster] == nil || namespace == "" {
			return nil, usagef("--namespace %q is not CLUSTER=NAMESPACE with a cluster that --context names", value)
		}
		if !namespaceName().MatchString(namespace) {
			return nil, usagef("--namespace %q: no namespace can have that name", value)
		}
		if g := byName[cluster]; !slices.Contains(g.namespaces, namespace) {
			g.namespaces = append(g.namespaces, namespace)
		}
	}
	if err := a.writable(); err != nil {
		return nil, err
	}
	slices.SortFunc(a.grants, func(x, y *grant) int { return strings.Compare(x.cluster, y.cluster) })
	if err := a.open(env); err != nil {
		return nil, usageError{err}
	}
	return a, nil
}

// namespaceName is an RFC 1123 label.
var namespaceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) })

// writable reports whether the facts can be saved, before clusters are asked for
// them.
func (a *access) writable() error {
	file := a.flags.saveFacts
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("the file %s of --save-facts is a folder: name a file", file)
	}
	pending, err := renameio.NewPendingFile(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return fmt.Errorf("the file %s of --save-facts cannot be written: %w", file, err)
	}
	return pending.Cleanup()
}

// open finds the contexts.
func (a *access) open(env map[string]string) error {
	files := a.flags.kubeconfigs
	if len(files) == 0 {
		if files = session.FromEnvironment(env["KUBECONFIG"]); len(files) == 0 {
			return errors.New("no kubeconfig: name the file that has the contexts, for example --kubeconfig ~/.kube/config; none is looked for")
		}
	}
	configs, err := session.LoadKubeconfigs(files)
	if err != nil {
		return err
	}
	for _, g := range a.grants {
		o := session.Options{Client: "reach/" + version + " (read-only census)", User: a.flags.as, Groups: a.flags.groups}
		if g.server, err = configs.Open(g.context, o); err != nil {
			return err
		}
		if g.spool, err = facts.NewSpool(); err != nil {
			return err
		}
	}
	return nil
}

// read reads all clusters side by side. What cannot be read is a fact.
func (a *access) read(ctx context.Context, now time.Time, log io.Writer) error {
	group, running := errgroup.WithContext(ctx)
	for _, g := range a.grants {
		group.Go(func() error {
			start := time.Now()
			o := observe.Options{
				Cluster: g.cluster, Context: g.context, Namespaces: g.namespaces, InventoriesOnly: a.flags.read == "inventories",
				Time: a.flags.time, Now: now,
			}
			err := observe.Cluster(running, g.server, o, func(f *reachv1.Fact) error {
				if r := f.GetReading(); r != nil {
					g.outcomes[r.GetOutcome()]++
				}
				if f.GetAccess() != nil {
					g.access = f.GetAccess()
				}
				g.mark(f)
				return g.spool.Add(f)
			})
			g.took = time.Since(start)
			g.server.Close()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, g := range a.grants {
		fmt.Fprintln(log, report.Printable(g.line()))
	}
	return a.apart(log)
}

// mark keeps what tells the cluster from others: the uid of kube-system, and of
// the first object with an inventory.
func (g *grant) mark(f *reachv1.Fact) {
	if uid := f.GetHolder().GetUid(); uid != "" && !g.marked {
		g.marks, g.marked = append(g.marks, uid), true
	}
	for _, o := range f.GetPresent().GetObjects() {
		if o.GetGroup() == "" && o.GetKind() == "Namespace" && o.GetName() == "kube-system" && o.GetUid() != "" {
			g.marks = append(g.marks, o.GetUid())
		}
	}
}

// apart refuses two names for one cluster: what is said of the second would be
// about the first. The same uids at another address may also be those of a
// cluster that was restored from the other's backup.
func (a *access) apart(log io.Writer) error {
	known := map[string]*grant{}
	for _, g := range a.grants {
		for _, uid := range g.marks {
			other := known[uid]
			known[uid] = g
			switch {
			case other == nil || other == g:
				continue
			case g.server.SameAddress(other.server):
				return usagef("--context gives %s and %s one cluster: name each cluster once", other.cluster, g.cluster)
			}
			fmt.Fprintln(log, report.Printable(other.cluster+" and "+g.cluster+" have the same uids: they are one cluster, or one was restored from the other"))
			break
		}
	}
	return nil
}

// line says what reading a cluster came to.
func (g *grant) line() string {
	cost := g.server.Cost()
	var b strings.Builder
	if o := g.access.GetOutcome(); o != reachv1.Outcome_OUTCOME_OK {
		fmt.Fprintf(&b, "%s could not be read: %s (", g.cluster, g.access.GetDetail())
	} else if g.outcomes[reachv1.Outcome_OUTCOME_OK] == 0 {
		fmt.Fprintf(&b, "%s answered, and nothing of it could be read (", g.cluster)
	} else {
		fmt.Fprintf(&b, "%s read (", g.cluster)
	}
	fmt.Fprintf(&b, "%d requests, %s, %s)", cost.Requests, megabytes(cost.Bytes), g.took.Round(100*time.Millisecond))
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(g.outcomes)) {
		switch o {
		case reachv1.Outcome_OUTCOME_OK, reachv1.Outcome_OUTCOME_NOT_SERVED, reachv1.Outcome_OUTCOME_NOT_FOUND, reachv1.Outcome_OUTCOME_NOT_ASKED:
		default:
			parts = append(parts, fmt.Sprintf("%d %s", g.outcomes[o], outcomeWord(o)))
		}
	}
	if len(parts) > 0 && g.access.GetOutcome() == reachv1.Outcome_OUTCOME_OK {
		b.WriteString("; " + strings.Join(parts, ", "))
	}
	return b.String()
}

// outcomeWord is an outcome as it follows a number of lists.
func outcomeWord(o reachv1.Outcome) string {
	return strings.ToLower(strings.TrimPrefix(o.String(), "OUTCOME_"))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// each calls yield with every fact, one cluster after the other.
func (a *access) each(yield func(*reachv1.Fact) error) error {
	for _, g := range a.grants {
		if err := g.spool.Each(yield); err != nil {
			return err
		}
	}
	return nil
}

// save writes the facts to the file that was asked for.
func (a *access) save() error {
	if a.flags.saveFacts == "" {
		return nil
	}
	file, err := renameio.NewPendingFile(a.flags.saveFacts, renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return fmt.Errorf("writing --save-facts: %w", err)
	}
	defer func() { _ = file.Cleanup() }()
	w := facts.NewWriter(file)
	if err := a.each(w.Write); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing --save-facts: %w", err)
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("writing --save-facts: %w", err)
	}
	return nil
}

func (a *access) close() {
	for _, g := range a.grants {
		if g.server != nil {
			g.server.Close()
		}
		if g.spool != nil {
			_ = g.spool.Close()
		}
	}
}

// withoutContext is the fact as the analyser gets it: the name of a context is
// the person's own and often holds a user.
func withoutContext(f *reachv1.Fact) *reachv1.Fact {
	if f.GetAccess().GetContext() == "" {
		return f
	}
	f = proto.Clone(f).(*reachv1.Fact)
	f.GetAccess().Context = ""
	return f
}

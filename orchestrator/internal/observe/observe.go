// Package observe turns what a cluster shows to a reader into facts.
//
// It guarantees that every list and every get has a Reading with its outcome,
// also those that were left out, so that nothing is empty because it could not be
// read; that facts hold what facts.proto names and nothing else of an object
// (no message of a condition, no annotation but those that tell an owner, no user
// or password of a URL, no address); and that one cluster cannot make the others
// wait: each has its own time.
//
// What facts mean is decided by the analyser.
package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Options say how a cluster is read.
type Options struct {
	// Cluster is its name in the census, Context that of the kubeconfig.
	Cluster, Context string
	// Namespaces are those in which to read what is namespaced; none means all.
	Namespaces []string
	// InventoriesOnly leaves out the metadata of everything else.
	InventoriesOnly bool
	// Time is how long all of it may take. Default 5 minutes.
	Time time.Duration
	// Now is the time of the run.
	Now time.Time
	// Done is called with the number of readings that are done, and of all.
	Done func(done, all int)
}

// most inventory entries and objects that are told of one cluster; the analyser
// takes four million in all.
const mostTold = 1_500_000

// workers is how many lists of one cluster are under way; the session bounds the
// requests.
const workers = 4

// Cluster reads a cluster and hands every fact to emit, always in the same order.
// What cannot be read is a fact too: the only errors are those of emit.
func Cluster(ctx context.Context, s *session.Server, o Options, emit func(*reachv1.Fact) error) error {
	if o.Time == 0 {
		o.Time = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, o.Time)
	defer cancel()
	r := &reader{server: s, options: o}
	version, failure := s.Version(ctx)
	access := &reachv1.Access{Context: o.Context, ReadAt: timestamppb.New(o.Now.UTC().Truncate(time.Second)), ServerVersion: clip(version, 128)}
	access.Outcome, access.Detail = outcome(failure)
	facts := &buffer{cluster: o.Cluster}
	facts.add(&reachv1.Fact{Fact: &reachv1.Fact_Access{Access: access}})
	var served session.Served
	discovery := &reachv1.Discovery{Outcome: access.Outcome, Detail: access.Detail}
	if answers(failure) {
		served, failure = s.Discover(ctx)
		discovery.Outcome, discovery.Detail = outcome(failure)
		discovery.Missing = clipped(served.Missing, 1000, 512)
	}
	r.discovered = discovery
	facts.add(&reachv1.Fact{Fact: &reachv1.Fact_Discovery{Discovery: discovery}})
	facts.served(served.Kinds)
	if err := facts.flush(emit); err != nil {
		return err
	}
	return r.run(ctx, r.jobs(served), emit)
}

// answers reports whether it is of use to ask on: the server was reached, and
// does not say that it knows nobody like us.
func answers(f *session.Failure) bool {
	if f == nil {
		return true
	}
	switch f.Outcome {
	case reachv1.Outcome_OUTCOME_DENIED, reachv1.Outcome_OUTCOME_NOT_SERVED, reachv1.Outcome_OUTCOME_MALFORMED:
		return true
	}
	return false
}

func outcome(f *session.Failure) (reachv1.Outcome, string) {
	if f == nil {
		return reachv1.Outcome_OUTCOME_OK, ""
	}
	return f.Outcome, f.Detail
}

// reader reads one cluster.
type reader struct {
	server     *session.Server
	options    Options
	discovered *reachv1.Discovery

	mutex sync.Mutex
	told  int
}

// job reads one resource into a buffer of facts.
type job func(ctx context.Context, b *buffer)

// run does jobs side by side, and hands over what they tell in the order of the
// jobs.
func (r *reader) run(ctx context.Context, jobs []job, emit func(*reachv1.Fact) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]chan *buffer, len(jobs))
	for i := range results {
		results[i] = make(chan *buffer, 1)
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	next := make(chan int)
	for range workers {
		wait.Go(func() {
			for i := range next {
				b := &buffer{cluster: r.options.Cluster}
				jobs[i](ctx, b)
				results[i] <- b
			}
		})
	}
	stop := make(chan struct{})
	defer close(stop)
	wait.Go(func() {
		defer close(next)
		for i := range jobs {
			select {
			case next <- i:
			case <-stop:
				return
			}
		}
	})
	for i := range jobs {
		if err := (<-results[i]).flush(emit); err != nil {
			cancel()
			return err
		}
		if r.options.Done != nil {
			r.options.Done(i+1, len(jobs))
		}
	}
	return nil
}

// room reports whether n more objects or entries may be told.
func (r *reader) room(n int) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.told+n > mostTold {
		return false
	}
	r.told += n
	return true
}

// jobs lists all that is to be read or left out, sorted: first what is read
// whole, in the order of reads.txt, then the rest in that of its groups.
func (r *reader) jobs(served session.Served) []job {
	var out []job
	whole := map[[2]string]bool{}
	for _, read := range session.Reads() {
		kinds := slices.DeleteFunc(slices.Clone(served.Kinds), func(k session.Kind) bool {
			return k.Group != read.Group || k.Resource != read.Resource || !k.Preferred
		})
		if len(kinds) == 0 {
			out = append(out, r.notServed(read, served.Missing))
			continue
		}
		out = append(out, r.whole(read, kinds[0])...)
		if read.Name == "" && read.Selector == "" {
			whole[[2]string{read.Group, read.Resource}] = true
		}
	}
	// The CSI drivers are read with the nodes.
	drivers := whole[[2]string{"", "nodes"}] && !r.options.InventoriesOnly
	for _, k := range served.Kinds {
		if !k.Preferred || !k.Listable || whole[[2]string{k.Group, k.Resource}] || drivers && isCSIDriver(k) {
			continue
		}
		reading := reading(k)
		why := session.Unread(k.Group, k.Resource)
		if why == "" && r.options.InventoriesOnly {
			why = "only inventories were asked for"
		}
		if why != "" {
			reading.Outcome, reading.Detail = reachv1.Outcome_OUTCOME_NOT_ASKED, why
			out = append(out, func(_ context.Context, b *buffer) { b.reading(reading) })
			continue
		}
		for _, namespace := range r.namespaces(k) {
			out = append(out, func(ctx context.Context, b *buffer) { r.metadata(ctx, b, k, namespace) })
		}
	}
	return out
}

// namespaces are those in which a kind is listed; "" is all, or none.
func (r *reader) namespaces(k session.Kind) []string {
	if !k.Namespaced || len(r.options.Namespaces) == 0 {
		return []string{""}
	}
	return r.options.Namespaces
}

func isCSIDriver(k session.Kind) bool {
	return k.Group == "storage.k8s.io" && k.Resource == "csidrivers"
}

func reading(k session.Kind) *reachv1.Reading {
	return &reachv1.Reading{Group: k.Group, Version: k.Version, Resource: k.Resource, Kind: k.Kind}
}

// notServed is the reading of what the server does not have, or did not say that
// it has.
func (r *reader) notServed(read session.Read, missing []string) job {
	reading := &reachv1.Reading{
		Group: read.Group, Resource: read.Resource, Kind: kindOf(read), Name: read.Name, Selector: read.Selector,
		Outcome: reachv1.Outcome_OUTCOME_NOT_SERVED, Detail: "the server does not serve it",
	}
	unsaid := slices.ContainsFunc(missing, func(gv string) bool { return len(gv) > len(read.Group) && gv[:len(read.Group)+1] == read.Group+"/" })
	switch {
	case r.discovered.GetOutcome() != reachv1.Outcome_OUTCOME_OK:
		reading.Outcome, reading.Detail = r.discovered.GetOutcome(), r.discovered.GetDetail()
	case unsaid:
		reading.Outcome, reading.Detail = reachv1.Outcome_OUTCOME_SERVER_ERROR, "the server could not say whether it serves it"
	}
	return func(_ context.Context, b *buffer) { b.reading(reading) }
}

// metadata lists the metadata of one kind.
func (r *reader) metadata(ctx context.Context, b *buffer, k session.Kind, namespace string) {
	list(ctx, r, b, k, session.Query{Resource: where(k), Namespace: namespace}, func(o object) {})
}

func where(k session.Kind) session.Resource {
	return session.Resource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// named is an object of any type that has metadata.
type named interface{ meta() *metadata }

// list reads a list, tells every object with its metadata, and calls also for
// what else there is to tell of it. The reading comes last.
func list[T named](ctx context.Context, r *reader, b *buffer, k session.Kind, q session.Query, also func(T)) {
	reading := reading(k)
	reading.Namespace, reading.Selector = q.Namespace, q.Selector
	mark := len(b.facts)
	told, nameless, full := 0, 0, false
	failure := session.List(ctx, r.server, q, func(page []T) {
		for _, item := range page {
			m := item.meta()
			if !m.usable(k.Namespaced) {
				nameless++
				continue
			}
			if full = full || !r.room(1); full {
				continue
			}
			told++
			// A list by a label tells of controllers, the whole list tells the objects.
			if q.Selector == "" {
				b.present(m.present(k))
			}
			also(item)
		}
	}, func() {
		b.facts, told, nameless = b.facts[:mark], 0, 0
		b.objects, b.size = nil, 0
	})
	reading.Objects = int64(told)
	reading.Outcome, reading.Detail = outcome(failure)
	switch {
	case failure != nil:
	case full:
		reading.Outcome, reading.Detail = reachv1.Outcome_OUTCOME_TRUNCATED, fmt.Sprintf("more than %d objects and entries on this cluster", mostTold)
	case nameless > 0:
		reading.Outcome, reading.Detail = reachv1.Outcome_OUTCOME_MALFORMED, fmt.Sprintf("%d objects without a name, or with one that none can have", nameless)
	}
	b.reading(reading)
}

// get reads one object by its name.
func get[T any](ctx context.Context, r *reader, b *buffer, k session.Kind, name string, tell func(T)) {
	var v T
	reading := reading(k)
	reading.Name = name
	failure := r.server.Get(ctx, session.Query{Resource: where(k), Name: name, Whole: true}, &v)
	reading.Outcome, reading.Detail = outcome(failure)
	if failure == nil {
		reading.Objects = 1
		tell(v)
	}
	b.reading(reading)
}

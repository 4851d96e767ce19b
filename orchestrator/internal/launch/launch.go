// Package launch starts the sealed analyser and talks to it: one child
// process for one census, gRPC over its standard input and output.
//
// The child gets an empty environment, the descriptors 0 to 2 and nothing
// else. It lives in a process group of its own and does not outlive the
// census, the context or, on Linux, this process. No socket is opened.
//
// Whatever the child does, each call returns within the deadlines, with
// bounded memory, and with one of the typed errors of this package that says
// what happened; afterwards the child is gone.
//
// What the package cannot see: whether the result is right, and a binary that is
// changed in place between the check of its digest, which begins with the program
// (package pinned), and its start; outside Linux also one that is replaced.
package launch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Options say what to start and what to put up with.
type Options struct {
	// Binary is the path of the analyser.
	Binary string
	// Digest is the SHA-256 digest, in hexadecimal, that the binary must
	// have; see Pin. Empty: any binary is started and Digest reports what
	// it was.
	Digest string
	// Verified is the check of Binary and Digest, when it was begun earlier;
	// else Start begins it.
	Verified *Verification
	// Repository is the path of the clone, the last argument of the child. A
	// relative one is resolved here, since the child has another directory.
	Repository string
	// Args are the arguments before it.
	Args []string
	// Client names the caller in the analyser's log, "reach 0.1.0".
	Client string
	// Log receives the lines of the child's standard error, at a bounded
	// rate. Nil: they are only quoted in errors.
	Log       hclog.Logger
	Deadlines Deadlines
	Limits    Limits
}

// Deadlines bound the time that is waited; 0 means the default.
type Deadlines struct {
	// Start is for the check of the digest, the start and the answer to
	// Hello. Default 2 minutes: machines are slow, and emulated ones slower.
	Start time.Duration
	// Idle is for each message of the stream, Progress included. Default 2
	// minutes. It does not run while the caller handles a message.
	Idle time.Duration
	// Census is for a whole census. Default 1 h.
	Census time.Duration
}

// Limits bound what the child may send; 0 means the default.
type Limits struct {
	// MessageBytes is the size of one message. Default
	// reachv1.MaxResponseBytes.
	MessageBytes int
	// Messages is their number in a census. Default 20 million.
	Messages int64
	// Bytes is everything that comes over standard output. Default 8 GiB.
	Bytes int64
	// LogBytes is everything that comes over standard error. Default 64 MiB.
	LogBytes int64
}

// Analyser is a running child that has answered Hello.
type Analyser struct {
	deadlines Deadlines
	limits    Limits
	proc      *process
	client    *plugin.Client
	service   reachv1.AnalyserServiceClient
	hello     *reachv1.HelloResponse

	// life ends with the context of Start or with a cause to kill the child.
	life  context.Context
	end   context.CancelCauseFunc
	stop  func() bool // stops killing the child when life ends
	used  atomic.Bool
	close sync.Once
}

var errClosed = errors.New("the analyser was closed")

// offered are the versions of the protocol that this program speaks.
var offered = []uint32{reachv1.ProtocolVersion}

// Start checks the binary, starts it and agrees on a version of the protocol.
// The child lives until Census has its answer, Close is called or ctx is done.
//
// Errors are a *StartError, *DigestError or *VersionError, or any of those of
// Census.
func Start(ctx context.Context, o Options) (*Analyser, error) {
	o.setDefaults()
	args := o.Args
	if o.Repository != "" {
		repository, err := filepath.Abs(o.Repository)
		if err != nil {
			return nil, fmt.Errorf("resolving the path of the repository: %w", err)
		}
		args = append(args[:len(args):len(args)], repository)
	}

	a := &Analyser{deadlines: o.Deadlines, limits: o.Limits}
	a.life, a.end = context.WithCancelCause(ctx)
	if v := o.Verified; v == nil || v.binary != o.Binary || v.want != o.Digest {
		o.Verified = Verify(a.life, o.Binary, o.Digest)
	}
	a.proc = &process{
		binary: o.Binary, verified: o.Verified, args: args, limit: o.Limits.Bytes,
		log: &stderr{limit: o.Limits.LogBytes, flood: func() {
			a.end(&FloodError{What: "more on standard error than", Limit: o.Limits.LogBytes, Unit: "bytes"})
		}},
	}
	a.stop = context.AfterFunc(a.life, a.proc.kill)
	a.client = newClient(a.proc, o)

	err := a.start(o)
	if err != nil {
		a.proc.kill()
		a.Close()
		return nil, err
	}
	return a, nil
}

func (a *Analyser) start(o Options) error {
	ctx, cancel := a.bound(a.life)
	defer cancel(nil)
	defer time.AfterFunc(o.Deadlines.Start, func() { cancel(errStart) }).Stop()

	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("the analyser was not started: %w", err)
	}
	rpc, err := a.client.Client()
	if err != nil {
		return err
	}
	service, err := rpc.Dispense(program)
	if err != nil {
		return err
	}
	a.service = service.(reachv1.AnalyserServiceClient)

	hello, err := a.service.Hello(ctx, &reachv1.HelloRequest{ProtocolVersions: offered, Client: o.Client})
	if err != nil {
		return a.diagnose(ctx, err, methodHello, "before it answered Hello")
	}
	if hello.ProtocolVersion != reachv1.ProtocolVersion {
		return &VersionError{
			Offered: offered, Answered: hello.ProtocolVersion,
			Analyser: printable(hello.AnalyserVersion, 100), Detail: "it named no version",
		}
	}
	a.hello = hello
	go a.proc.sample()
	return nil
}

// Hello is what the analyser said about itself.
func (a *Analyser) Hello() *reachv1.HelloResponse { return a.hello }

// Digest is the SHA-256 digest of the binary that was started, in
// hexadecimal.
func (a *Analyser) Digest() string { return a.proc.digest }

// PeakMemory is the largest resident set that the child has had, in bytes, as
// far as it is known: 0 before anything is. It can be asked after the end.
// For a child that died it may be an overestimate, never less than what this
// process used when it started it.
func (a *Analyser) PeakMemory() int64 { return a.proc.peakMemory() }

// Received is how many bytes the child has sent over its standard output so
// far. It can be asked after the end.
func (a *Analyser) Received() int64 {
	if a.proc.conn == nil {
		return 0
	}
	a.proc.conn.mu.Lock()
	defer a.proc.conn.mu.Unlock()
	return a.proc.conn.total
}

// Close ends the child and waits until it is gone: first by closing its
// standard input and, when it is still there after two seconds, by force. A
// census that runs returns an error. Calls after the first wait as well.
func (a *Analyser) Close() {
	a.close.Do(func() {
		a.proc.sample()
		a.stop()
		a.end(errClosed)
		a.client.Kill()
		if a.proc.conn != nil {
			a.proc.conn.Close()
		}
	})
}

func (o *Options) setDefaults() {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	orDefault(&o.Deadlines.Start, 2*time.Minute)
	orDefault(&o.Deadlines.Idle, 2*time.Minute)
	orDefault(&o.Deadlines.Census, time.Hour)
	orDefault(&o.Limits.MessageBytes, reachv1.MaxResponseBytes)
	orDefault(&o.Limits.Messages, 20_000_000)
	orDefault(&o.Limits.Bytes, 8<<30)
	orDefault(&o.Limits.LogBytes, 64<<20)
}

func orDefault[T ~int | ~int64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// handshake is the line by which go-plugin learns what it talks to. A child
// of go-plugin prints it; ours speaks gRPC from the first byte, so the runner
// says it in its place. The address is never dialled.
const handshake = "1|1|unix|stdio|grpc\n"

// drain is how long output that a child left in its pipes is waited for.
const drain = 2 * time.Second

// process is the child, as a go-plugin runner.
type process struct {
	binary   string
	verified *Verification
	args     []string
	log      *stderr
	limit    int64

	// Set by Start, before anything else uses them.
	digest string
	conn   *conn
	lines  *io.PipeReader // of standard error, for go-plugin
	logged chan struct{}  // closed when standard error was read to its end
	exited chan struct{}  // closed when the child was reaped
	state  *os.ProcessState

	mu     sync.Mutex
	child  *os.Process // nil before the start
	killed bool        // also when it is not started yet
	reaped bool
	peak   int64
}

// Start starts the program, once it is verified.
func (p *process) Start(ctx context.Context) error {
	f, digest, err := p.verified.result()
	if err != nil {
		return err
	}
	defer f.Close()
	p.digest = digest
	if err := ctx.Err(); err != nil {
		return err
	}

	pipes, err := openPipes()
	if err != nil {
		return &StartError{p.binary, err}
	}
	cmd := exec.Command(ownName(f))
	cmd.Args = append([]string{filepath.Base(p.binary)}, p.args...)
	cmd.Env = []string{} // nil would mean ours
	cmd.Dir = string(filepath.Separator)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.stdin.r, pipes.stdout.w, pipes.stderr.w
	cmd.SysProcAttr = attributes()

	started := make(chan error)
	p.exited = make(chan struct{})
	go p.run(cmd, started, pipes)
	err = <-started
	pipes.closeChild()
	if err != nil {
		pipes.closeOurs()
		return &StartError{p.binary, reason(err)}
	}

	p.conn = newConn(pipes.stdout.r, pipes.stdin.w, p.limit)
	p.logged = make(chan struct{})
	lines, w := io.Pipe()
	p.lines = lines
	go func() {
		defer close(p.logged)
		defer pipes.stderr.r.Close()
		p.log.pump(pipes.stderr.r, w)
	}()
	return nil
}

// run starts the child, waits for its end and reaps it. It keeps its thread
// until then: the kernel ends the child when the thread that started it ends.
func (p *process) run(cmd *exec.Cmd, started chan<- error, pipes *pipes) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	hideDescriptors()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.mu.Lock()
	p.child = cmd.Process
	if p.killed {
		killGroup(p.child)
	}
	p.mu.Unlock()
	started <- nil

	// Until the child is reaped, its number and that of its group cannot
	// belong to anybody else: the time to end what it left behind.
	if awaitExit(cmd.Process) {
		killGroup(cmd.Process)
		p.setReaped()
	}
	_ = cmd.Wait() // the state tells all
	p.setReaped()
	p.state = cmd.ProcessState
	// Whoever else holds the other ends must not keep us waiting.
	deadline := time.Now().Add(drain)
	_ = pipes.stdout.r.SetReadDeadline(deadline)
	_ = pipes.stderr.r.SetReadDeadline(deadline)
	close(p.exited)
}

func (p *process) setReaped() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
}

// kill ends the child and everything that it started, unless it has ended,
// and sees to it that it does not live when it is only about to start.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	if p.alive() {
		killGroup(p.child)
	}
}

// alive needs the lock.
func (p *process) alive() bool { return p.child != nil && !p.reaped }

// sample notes the peak memory of the child while it can be asked.
func (p *process) sample() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive() {
		p.peak = max(p.peak, ResidentPeak(p.child.Pid))
	}
}

// peakMemory returns bytes; 0 means unknown.
func (p *process) peakMemory() int64 {
	p.mu.Lock()
	peak, ended := p.peak, p.reaped
	p.mu.Unlock()
	if peak == 0 && ended {
		<-p.exited
		return maxResident(p.state)
	}
	return peak
}

// awaitEnd waits until the child has ended and its standard error was read,
// at most for d, and reports whether it has.
func (p *process) awaitEnd(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return false
	}
	// Bounded by drain, unless the logger is slow.
	select {
	case <-p.logged:
	case <-time.After(drain):
	}
	return true
}

// exitError describes how the child ended; call it after awaitEnd.
func (p *process) exitError(stage string) *ExitError {
	e := &ExitError{Stage: stage, Code: p.state.ExitCode()}
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok {
		e.Signal = signalName(status)
	}
	e.Stderr, e.Cause = p.log.last()
	return e
}

// Wait waits for the end of the child, however it comes.
func (p *process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !p.state.Success() {
		return errors.New(p.state.String())
	}
	return nil
}

// Kill ends the child at once and waits until it is gone.
func (p *process) Kill(ctx context.Context) error {
	p.kill()
	p.mu.Lock()
	started := p.child != nil
	p.mu.Unlock()
	if !started {
		return nil
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stdout is what go-plugin takes for the output of the child.
func (p *process) Stdout() io.ReadCloser { return io.NopCloser(strings.NewReader(handshake)) }

// Stderr is the child's standard error, bounded.
func (p *process) Stderr() io.ReadCloser { return p.lines }

// Name is the name under which go-plugin logs lines of the child.
func (p *process) Name() string { return program }

// ID is never empty: go-plugin would otherwise not clean up after a start
// that failed.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		return "not started"
	}
	return strconv.Itoa(p.child.Pid)
}

// Diagnose has nothing to add to our own errors.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost keeps the address, which is never dialled.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin fails: nothing on this side can be reached by the child.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return "", "", fmt.Errorf("the analyser cannot reach %s %s", network, address)
}

// pipes are the three standard files of the child. They are made here rather
// than by os/exec, which would close our ends when the child ends and so lose
// what it said last.
type pipes struct{ stdin, stdout, stderr ends }

type ends struct{ r, w *os.File }

func openPipes() (*pipes, error) {
	p := &pipes{}
	for _, e := range []*ends{&p.stdin, &p.stdout, &p.stderr} {
		var err error
		if e.r, e.w, err = os.Pipe(); err != nil {
			p.closeChild()
			p.closeOurs()
			return nil, fmt.Errorf("opening a pipe: %w", err)
		}
	}
	return p, nil
}

// closeChild closes the ends that the child has of its own by now. Closing a
// nil file only returns an error.
func (p *pipes) closeChild() {
	p.stdin.r.Close()
	p.stdout.w.Close()
	p.stderr.w.Close()
}

func (p *pipes) closeOurs() {
	p.stdin.w.Close()
	p.stdout.r.Close()
	p.stderr.r.Close()
}

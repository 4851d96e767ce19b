// Package process runs the programs of the live clusters: each with a log of
// its own, ended when the process that started it ends, however that ends.
package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Process is a program that runs.
type Process struct {
	cmd   *exec.Cmd
	name  string
	log   string
	stdin io.Closer
	done  chan struct{}
	err   error // of Wait; to be read after done
}

// Start runs a program with these variables beside those of this process, and
// what it prints appended to the file log. Its standard input is open as long
// as it is meant to run.
func Start(log, program string, env []string, args ...string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &Process{cmd: exec.Command(program, args...), name: program, log: log, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = attributes()
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := spawn(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

// Failure is why a process that has ended did, with the end of its log.
func (p *Process) Failure() error {
	<-p.done
	return fmt.Errorf("%s ended: %v; its log %s ends:\n%s", p.name, p.err, p.log, tail(p.log))
}

// Kill ends the process at once, as a machine that fails does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop asks the process to end, and ends it when it does not within grace.
func (p *Process) Stop(grace time.Duration) {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// tail is the last lines of a file.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}

// The kernel ends a child when the thread that started it ends, so all are
// started by one that does not.
var (
	once   sync.Once
	starts = make(chan func())
)

func spawn(start func() error) error {
	once.Do(func() {
		go func() {
			runtime.LockOSThread()
			for f := range starts {
				f()
			}
		}()
	})
	result := make(chan error, 1)
	starts <- func() { result <- start() }
	return <-result
}

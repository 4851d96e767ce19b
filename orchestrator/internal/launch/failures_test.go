//go:build unix

package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Every way in which a child can go wrong, at every stage, has an error that
// names the cause, within bounded time, and leaves no process behind.
func TestFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	const before = "before it answered Hello"
	const noHeader = "before it sent the header"
	const early = "after 1 messages, while sending the header"
	middle := `after \d+ messages, while sending placements`
	exited := func(stage, at string) string {
		return `^the analyser exited with code 3 ` + stage + `: disk on fire at ` + at + `$`
	}
	killed := func(stage string) string {
		return `^the analyser was ended by signal "killed" ` + stage + `: it said nothing on standard error$`
	}
	panics := func(stage, at string) string {
		return `^the analyser exited with code 2 ` + stage + `: panic: boom at ` + at + `$`
	}
	hangs := func(stage string) string {
		return `^the analyser hangs: no message for 1s ` + stage + `$`
	}
	short := func(o *Options) { o.Deadlines.Idle = time.Second }
	impatient := func(o *Options) { o.Deadlines.Start = time.Second }

	for _, c := range []struct {
		fault string
		want  string // regular expression
		as    error
		with  func(*Options)
	}{
		{"die@start", exited(before, "start"), &ExitError{}, nil},
		{"die@hello", exited(before, "hello"), &ExitError{}, nil},
		{"die@census", exited(noHeader, "census"), &ExitError{}, nil},
		{"die@header", exited(`(`+noHeader+`|`+early+`)`, "header"), &ExitError{}, nil},
		{"die@middle", exited(`(`+noHeader+`|`+early+`|`+middle+`)`, "middle"), &ExitError{}, nil},
		{"die@summary", exited(`(`+noHeader+`|`+early+`|`+middle+`)`, "summary"), &ExitError{}, nil},
		{"die@end", exited(`(`+noHeader+`|`+early+`|`+middle+`|after the summary)`, "end"), &ExitError{}, nil},

		{"kill@start", killed(before), &ExitError{}, nil},
		{"kill@hello", killed(before), &ExitError{}, nil},
		{"kill@census", killed(noHeader), &ExitError{}, nil},
		{"panic@hello", panics(before, "hello"), &ExitError{}, nil},
		{"panic@census", panics(noHeader, "census"), &ExitError{}, nil},
		{"panic@middle", panics(`.*`, "middle"), &ExitError{}, nil},

		{"hang@start", hangs(before), &HungError{}, impatient},
		{"hang@hello", hangs(before), &HungError{}, impatient},
		{"deaf", hangs(before), &HungError{}, impatient},
		{"hang@census", hangs(noHeader), &HungError{}, short},
		{"hang@header", hangs(early), &HungError{}, short},
		{"hang@middle", hangs(middle), &HungError{}, short},
		{"hang@summary", hangs(middle), &HungError{}, short},
		{"hang@end", hangs("after the summary"), &HungError{}, short},
		{"hang@middle", `^the census did not end within 2s; the analyser was stopped ` + middle + `$`, &HungError{}, func(o *Options) {
			o.Deadlines.Census = 2 * time.Second
		}},

		{"http1", `^the analyser broke the protocol ` + before + `: it does not speak gRPC, its output begins with "HTTP/1.1 400 Bad Request\\x0d\\x0aContent-Type`, &ProtocolError{}, nil},
		{"prints", before + `: it does not speak gRPC, its output begins with "usage: reach-analyser REPOSITORY\\x0a\\x1b\[31mred`, &ProtocolError{}, nil},
		{"garbage", before + `: it does not speak gRPC, its output begins with "garbage garbage`, &ProtocolError{}, nil},
		{"zeros", before + `: it does not speak gRPC, its output begins with "\\x00`, &ProtocolError{}, nil},
		{"closes-stdout", before + `: it closed its standard output and went on running$`, &ProtocolError{}, nil},
		{"other-service", before + `: it does not serve reach.v1.AnalyserService`, &ProtocolError{}, nil},
		{"spill@hello", `^the analyser broke the protocol ` + before + `: .*frame too large`, &ProtocolError{}, nil},
		{"spill@middle", `^the analyser broke the protocol .*: .*frame too large`, &ProtocolError{}, nil},
		{"settings-flood", `^the analyser sent more than 1048576 bytes ` + before + `$`, &FloodError{}, func(o *Options) { o.Limits.Bytes = 1 << 20 }},

		{"version", `^the analyser 0\.1\.0 answered with protocol version 9, but only 1 was offered; install both`, &VersionError{}, nil},
		{"no-version", `^the analyser speaks none of the protocol versions 1: this analyser speaks protocol version 2, the client offers \[1\]; install`, &VersionError{}, nil},
		{"status@hello", `^the analyser answered Hello with the status Internal: no memory\\x1b\[2J$`, &StatusError{}, nil},
		{"status@5", `^no revision "main"\\x0asecond line$`, &StatusError{}, nil}, // NOT_FOUND
		{"status@3", `^no revision "main"\\x0asecond line$`, &StatusError{}, nil}, // INVALID_ARGUMENT
		{"status@8", `^no revision "main"\\x0asecond line$`, &StatusError{}, nil}, // RESOURCE_EXHAUSTED
		{"status@2", `^the analyser answered Census with the status Unknown: no revision`, &StatusError{}, nil},

		{"giant", `^the analyser sent a message larger than 4194304 bytes ` + early + `$`, &FloodError{}, nil},
		{"many", `^the analyser sent more than 5000 messages ` + middle + `$`, &FloodError{}, func(o *Options) { o.Limits.Messages = 5000 }},
		{"many", `^the analyser sent more than 10000000 bytes ` + middle + `$`, &FloodError{}, func(o *Options) { o.Limits.Bytes = 1e7 }},
		{"noise@start", `^the analyser sent more on standard error than 8388608 bytes ` + before + `$`, &FloodError{}, func(o *Options) { o.Limits.LogBytes = 8 << 20 }},
		{"noise@middle", `^the analyser sent more on standard error than 8388608 bytes `, &FloodError{}, func(o *Options) { o.Limits.LogBytes = 8 << 20 }},

		{"no-summary", `^the census is incomplete and was discarded: the analyser ended the stream ` + middle + `, without a summary$`, &IncompleteError{}, nil},
		{"two-summaries", `^the analyser broke the protocol after the summary: the summary came after the summary`, &ProtocolError{}, nil},
		{"late", `^the analyser broke the protocol after the summary: placements came after the summary`, &ProtocolError{}, nil},
		{"regret", `^the analyser answered Census with the status Internal: changed my mind$`, &StatusError{}, nil},
		{"no-header", `^the analyser broke the protocol ` + noHeader + `: placements came before the header$`, &ProtocolError{}, nil},
		{"two-headers", `^the analyser broke the protocol ` + early + `: the header came after the header$`, &ProtocolError{}, nil},
		{"disorder", `^the analyser broke the protocol ` + middle + `: syncs came after placements$`, &ProtocolError{}, nil},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			o := options(t, c.fault)
			if c.with != nil {
				c.with(&o)
			}
			start := time.Now()
			_, err := run(t, o)
			if err == nil {
				t.Fatal("the census succeeded")
			}
			if !regexp.MustCompile(c.want).MatchString(err.Error()) {
				t.Errorf("error:\n%v\nwant:\n%s", err, c.want)
			}
			if got, want := fmt.Sprintf("%T", err), fmt.Sprintf("%T", c.as); got != want {
				t.Errorf("error is a %s, want a %s", got, want)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error is not one printable line: %q", err)
			}
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A child that does not want to end is ended, and its good result counts.
func TestStubborn(t *testing.T) {
	start := time.Now()
	if _, err := run(t, options(t, "stubborn")); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// When the census has failed, nobody waits for a child that does not want to
// end.
func TestStubbornFailure(t *testing.T) {
	a, err := Start(t.Context(), options(t, "stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	var failed time.Time
	err = a.Census(t.Context(), &reachv1.CensusRequest{}, func(*reachv1.CensusResponse) error {
		failed = time.Now()
		return io.ErrShortWrite
	})
	if took := time.Since(failed); err != io.ErrShortWrite || took > 1500*time.Millisecond {
		t.Errorf("%v after %v", err, took)
	}
}

// A child that is to be killed before it is started does not get to run.
func TestKillBeforeStart(t *testing.T) {
	o := options(t, "deaf")
	p := &process{binary: o.Binary, verified: Verify(t.Context(), o.Binary, ""), args: o.Args, limit: 1 << 20, log: &stderr{limit: 1 << 20}}
	p.kill()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, p.Stderr())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := p.Wait(ctx); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the child ended with %v", err)
	}
	p.Kill(t.Context())
	p.conn.Close()
}

// Messages that only a later version knows are left out, not refused.
func TestUnknownMessage(t *testing.T) {
	got, err := run(t, options(t, "strange"))
	want := []string{"the header", "placements", "progress", "placements", "the summary"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What the child started ends with it, though it holds all pipes.
func TestGrandchild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	o := options(t, "orphan")
	a, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Census(t.Context(), &reachv1.CensusRequest{}, func(*reachv1.CensusResponse) error { return nil }); err != nil {
		t.Fatal(err)
	}
	lines, _ := a.proc.log.last()
	var pid int
	if len(lines) == 1 {
		fmt.Sscanf(lines[0], "grandchild %d", &pid)
	}
	checkEnded(t, pid)
}

// A flood does not fill memory, neither here nor in the log.
func TestFloodMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	for _, c := range []struct {
		fault string
		with  func(*Options)
	}{
		{"giant", func(*Options) {}},
		{"noise@middle", func(*Options) {}},
		{"many", func(o *Options) { o.Limits.Messages = 300_000 }},
	} {
		t.Run(c.fault, func(t *testing.T) {
			runtime.GC()
			if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
				t.Skip("the peak cannot be reset here: ", err)
			}
			before := ResidentPeak(os.Getpid())
			o := options(t, c.fault)
			c.with(&o)
			var log strings.Builder
			o.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace})
			if _, err := run(t, o); err == nil {
				t.Error("the census succeeded")
			}
			if grown := ResidentPeak(os.Getpid()) - before; grown > 64<<20 {
				t.Errorf("memory grew by %d bytes", grown)
			}
			if log.Len() > 1<<20 {
				t.Errorf("%d bytes of log", log.Len())
			}
			if c.fault == "noise@middle" && !strings.Contains(log.String(), "lines of the analyser's log were dropped") {
				t.Error("the log does not say that lines were dropped")
			}
		})
	}
}

// The child ends when this process is killed.
func TestParentDies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the child of a parent that dies")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []string{"none", "stubborn"} {
		cmd := exec.Command(exe, parentFlag, fault)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("the child does not run: %v", err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		checkEnded(t, pid)
	}
}

// parentMain starts a child, says its number, and waits to be killed.
func parentMain(fault string) {
	exe, _ := os.Executable()
	a, err := Start(context.Background(), Options{Binary: exe, Args: []string{childFlag, fault}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println(a.proc.ID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	time.Sleep(time.Hour)
}

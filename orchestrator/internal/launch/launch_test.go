//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// options starts the test binary as an analyser that goes wrong as fault
// says.
func options(t testing.TB, fault string) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Binary: exe, Args: []string{childFlag, fault}, Repository: t.TempDir(),
		Deadlines: Deadlines{Start: 10 * time.Second, Idle: 10 * time.Second, Census: 30 * time.Second},
	}
}

// run takes a whole census and returns the kinds of message in the order in
// which they came, and the error of whatever failed. It checks that nothing
// is left of the child.
func run(t *testing.T, o Options) (got []string, err error) {
	t.Helper()
	a, err := Start(t.Context(), o)
	if err != nil {
		return nil, err
	}
	pid, _ := strconv.Atoi(a.proc.ID())
	err = a.Census(t.Context(), &reachv1.CensusRequest{}, func(m *reachv1.CensusResponse) error {
		k := kindOf(m).String()
		if len(got) == 0 || got[len(got)-1] != k {
			got = append(got, k)
		}
		return nil
	})
	checkGone(t, pid)
	return got, err
}

// checkGone fails when a child of ours still exists, be it as a zombie.
func checkGone(t *testing.T, pid int) {
	t.Helper()
	awaitGone(t, pid, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// checkEnded fails when somebody else's child still runs. That it is reaped
// is the business of whoever adopted it.
func checkEnded(t *testing.T, pid int) {
	t.Helper()
	awaitGone(t, pid, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func awaitGone(t *testing.T, pid int, gone func() bool) {
	t.Helper()
	if pid == 0 {
		t.Fatal("no process id")
	}
	for range 200 {
		if gone() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
	syscall.Kill(pid, syscall.SIGKILL)
}

func TestCensus(t *testing.T) {
	before := runtime.NumGoroutine()
	o := options(t, "none")
	a, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Hello().AnalyserVersion; got != "0.1.0" {
		t.Errorf("version %q", got)
	}
	var got []string
	n := 0
	err = a.Census(t.Context(), &reachv1.CensusRequest{}, func(m *reachv1.CensusResponse) error {
		k := kindOf(m).String()
		if len(got) == 0 || got[len(got)-1] != k {
			got = append(got, k)
		}
		if kindOf(m) == placements {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the header", "placements", "progress", "placements", "the summary"}
	if diff := cmp.Diff(want, got); diff != "" || n != 100 {
		t.Errorf("%d placements; kinds of message (-want +got):\n%s", n, diff)
	}
	pid, _ := strconv.Atoi(a.proc.ID())
	checkGone(t, pid)
	if lines, _ := a.proc.log.last(); len(lines) != 0 {
		t.Errorf("the child says %q", lines)
	}

	if _, want, err := verify(o.Binary, ""); err != nil || a.Digest() != want || len(want) != 64 {
		t.Errorf("digest %q, want %q (%v)", a.Digest(), want, err)
	}
	if got := a.PeakMemory(); got < 1<<20 || got > 1<<30 {
		t.Errorf("peak memory of %d bytes", got)
	}
	if err := a.Census(t.Context(), &reachv1.CensusRequest{}, nil); err == nil {
		t.Error("a second census succeeded")
	}
	a.Close()
	a.Close()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}

// Every way in which a child can go wrong, at every stage, has an error that
// names the cause, within bounded time, and leaves no process behind.
func TestFailures(t *testing.T) {
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
	p := &process{binary: o.Binary, args: o.Args, limit: 1 << 20, log: &stderr{limit: 1 << 20}}
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

// Lines on standard error become log lines of their level, printable and of
// bounded length.
func TestLog(t *testing.T) {
	logged := func(fault string) string {
		o := options(t, fault)
		var log strings.Builder
		o.Log = hclog.New(&hclog.LoggerOptions{Name: "reach", Output: &log, DisableTime: true, Level: hclog.Debug})
		if _, err := run(t, o); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	got := logged("log")
	for _, want := range []string{
		`[WARN]  reach.reach-analyser: slow \x1b[31mdisk: path="a b" timestamp=2026-01-02T03:04:05.000Z` + "\n",
		"[ERROR] reach.reach-analyser: [ERROR] plain\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("log lacks %s:\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, "[DEBUG]") && !strings.Contains(line, program) {
			t.Errorf("what is said about the child is more than detail: %s", line)
		}
	}

	got = logged("longline@census")
	want := strings.Repeat("x", maxLine) + "... (1044480 more bytes)\n"
	if !strings.Contains(got, want) || len(got) > 2*maxLine {
		t.Errorf("a line of 1 MiB is logged as %d bytes", len(got))
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n":              "plain",
		"a\tb":                 "a b",
		"a\r\nb\x00":           `a\x0d\x0ab\x00`,
		"\x1b[31mred\x7f":      `\x1b[31mred\x7f`,
		"\xff\xfe":             `\xff\xfe`,
		"\u202eevil":           `\u202eevil`,
		"\u009b31m":            `\u009b31m`,
		"größe \ufffd":         "größe \ufffd",
		"0123456789abcdefghij": "0123456789abcdef... (4 more bytes)",
	} {
		if got := printable(in, 16); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
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

func TestDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	for name, mode := range map[string]os.FileMode{"text": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not a program"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	wrong := strings.Repeat("0", 64)
	for _, c := range []struct {
		name string
		with func(*Options)
		want string
		as   error
	}{
		{"missing", func(o *Options) { o.Binary = filepath.Join(dir, "none") }, "none: no such file or directory", &StartError{}},
		{"directory", func(o *Options) { o.Binary = dir }, ": not a regular file", &StartError{}},
		{"fifo", func(o *Options) { o.Binary = filepath.Join(dir, "fifo") }, "fifo: not a regular file", &StartError{}},
		{"not executable", func(o *Options) { o.Binary = filepath.Join(dir, "plain") }, "plain: permission denied", &StartError{}},
		{"not a program", func(o *Options) { o.Binary = text }, "text: exec format error", &StartError{}},
		{"wrong digest", func(o *Options) { o.Digest = wrong }, "is not the expected program and was not started: its sha256 is ", &DigestError{}},
		{"malformed digest", func(o *Options) { o.Digest = "abc" }, `"abc" is not a SHA-256 digest in hexadecimal`, &StartError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t, "none")
			c.with(&o)
			a, err := Start(t.Context(), o)
			if err == nil {
				a.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", c.as) {
				t.Errorf("%T: %v\nwant a %T with %q", err, err, c.as, c.want)
			}
		})
	}
}

func TestRightDigest(t *testing.T) {
	o := options(t, "none")
	f, digest, err := verify(o.Binary, "")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, d := range []string{digest, "sha256:" + digest, strings.ToUpper(digest)} {
		o.Digest = d
		if _, err := run(t, o); err != nil {
			t.Errorf("digest %s: %v", d, err)
		}
	}
}

func TestPin(t *testing.T) {
	binary := filepath.Join(t.TempDir(), program)
	if got, err := Pin(binary); got != "" || err != nil {
		t.Errorf("without a file: %q, %v", got, err)
	}
	want := strings.Repeat("ab", 32)
	for content, ok := range map[string]bool{
		want + "  reach-analyser\n": true,
		want:                        true,
		"abcd  reach-analyser\n":    false,
		"":                          false,
	} {
		if err := os.WriteFile(binary+".sha256", []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Pin(binary)
		if (err == nil) != ok || ok && got != want {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	linkedDigest = strings.Repeat("cd", 32)
	defer func() { linkedDigest = "" }()
	if got, err := Pin(binary); got != linkedDigest || err != nil {
		t.Errorf("linked: %q, %v", got, err)
	}
}

// The child gets its arguments and its three files, nothing else: no
// environment, no directory of ours, and no descriptor that we inherited.
func TestInheritance(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	t.Setenv("REACH_TEST_SECRET", "x")
	leak, err := syscall.Dup(2) // without close-on-exec, as if inherited
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	a, err := Start(t.Context(), options(t, "env"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got, want := a.Hello().AnalyserVersion, "env [], descriptors [0 1 2], directory /, leads its group true"; got != want {
		t.Errorf("the child has %s\nwant %s", got, want)
	}
}

func TestArguments(t *testing.T) {
	o := options(t, "args")
	o.Args = append(o.Args, "--flag")
	o.Repository = "some/where"
	a, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	abs, _ := filepath.Abs("some/where")
	want := strings.Join([]string{filepath.Base(o.Binary), childFlag, "args", "--flag", abs}, "|")
	if got := a.Hello().AnalyserVersion; got != want {
		t.Errorf("arguments %s\nwant      %s", got, want)
	}
}

// Nothing is opened on this side but pipes.
func TestNoSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	a, err := Start(t.Context(), options(t, "none"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, "socket:") {
			t.Errorf("descriptor %s is a %s", e.Name(), target)
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("%v in the temporary directory", left)
	}
}

func TestCancel(t *testing.T) {
	cause := errors.New("the user pressed a key")
	t.Run("start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
		_, err := Start(ctx, options(t, "hang@hello"))
		if !errors.Is(err, cause) {
			t.Errorf("Start: %v", err)
		}
	})
	t.Run("before start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, err := Start(ctx, options(t, "none"))
		if !errors.Is(err, cause) {
			t.Errorf("Start: %v", err)
		}
	})
	for _, which := range []string{"context of Start", "context of Census", "Close"} {
		t.Run(which, func(t *testing.T) {
			outer, cancelOuter := context.WithCancelCause(t.Context())
			inner, cancelInner := context.WithCancelCause(t.Context())
			defer cancelInner(nil)
			defer cancelOuter(nil)
			a, err := Start(outer, options(t, "hang@middle"))
			if err != nil {
				t.Fatal(err)
			}
			pid, _ := strconv.Atoi(a.proc.ID())
			want := cause
			stop := map[string]func(){
				"context of Start":  func() { cancelOuter(cause) },
				"context of Census": func() { cancelInner(cause) },
				"Close":             func() { want = errClosed; a.Close() },
			}[which]
			err = a.Census(inner, &reachv1.CensusRequest{}, func(m *reachv1.CensusResponse) error {
				if kindOf(m) == progress {
					time.AfterFunc(200*time.Millisecond, stop)
				}
				return nil
			})
			checkGone(t, pid)
			if !errors.Is(err, want) || !strings.Contains(err.Error(), "while sending placements") {
				t.Errorf("Census: %v, want %v", err, want)
			}
		})
	}
	t.Run("idle child", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a, err := Start(ctx, options(t, "none"))
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := strconv.Atoi(a.proc.ID())
		cancel()
		checkGone(t, pid)
		a.Close()
	})
}

func TestHandlerError(t *testing.T) {
	a, err := Start(t.Context(), options(t, "none"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(a.proc.ID())
	want := errors.New("disk full")
	if err := a.Census(t.Context(), &reachv1.CensusRequest{}, func(*reachv1.CensusResponse) error { return want }); err != want {
		t.Errorf("Census: %v, want %v", err, want)
	}
	checkGone(t, pid)
}

// A slow caller is not mistaken for a child that hangs.
func TestSlowHandler(t *testing.T) {
	o := options(t, "count=50000") // more than fits into the flow-control window
	o.Deadlines.Idle = time.Second
	a, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	slept := false
	err = a.Census(t.Context(), &reachv1.CensusRequest{}, func(*reachv1.CensusResponse) error {
		if !slept {
			time.Sleep(1500 * time.Millisecond)
			slept = true
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A request beyond the limit is refused with a sentence, before it is sent.
func TestLargeRequest(t *testing.T) {
	for n, ok := range map[int]bool{8 << 20: true, reachv1.MaxRequestBytes: false} {
		a, err := Start(t.Context(), options(t, "none"))
		if err != nil {
			t.Fatal(err)
		}
		err = a.Census(t.Context(), &reachv1.CensusRequest{Revision: strings.Repeat("x", n)}, func(*reachv1.CensusResponse) error { return nil })
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "the analyser accepts 67108864") {
			t.Errorf("request of %d bytes: %v", n, err)
		}
	}
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
			before := residentPeak(os.Getpid())
			o := options(t, c.fault)
			c.with(&o)
			var log strings.Builder
			o.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace})
			if _, err := run(t, o); err == nil {
				t.Error("the census succeeded")
			}
			if grown := residentPeak(os.Getpid()) - before; grown > 64<<20 {
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

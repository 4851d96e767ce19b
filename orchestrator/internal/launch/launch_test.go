//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if err == nil {
		a.Close()
	}
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

	if _, want, err := verify(t.Context(), o.Binary, ""); err != nil || a.Digest() != want || len(want) != 64 {
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

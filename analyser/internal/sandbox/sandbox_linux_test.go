package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/gitops-reach/reach/firewall/canary"
)

// The tests start this binary again as the process that is sealed.
const (
	childVariable = "REACH_SANDBOX_CHILD"
	entered       = "entered"
	succeeded     = canary.Succeeded
	refused       = "refused: "
)

// order is what a child is told to do.
type order struct {
	Attempt string
	// Walls is "both", "landlock", "seccomp", "none", or "nothing to read"
	// for both without a directory.
	Walls string
	Env   canary.Env
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(child(text))
	}
	os.Exit(m.Run())
}

func child(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Println(err)
		return 3
	}
	others := append(others,
		canary.Attempt{Name: "old threads read", Run: oldThreads(filepath.Join(o.Env.Outside, "file"), os.O_RDONLY)},
		canary.Attempt{Name: "old threads write", Run: oldThreads(o.Env.In("file"), os.O_WRONLY)})
	var err error
	switch o.Walls {
	case "both":
		var r Report
		if r, err = Enter([]string{o.Env.Dir}); err == nil && !r.Complete() {
			err = fmt.Errorf("incomplete: %+v", r)
		}
	case "nothing to read":
		_, err = Enter(nil)
	case "landlock":
		_, err = enterLandlock([]string{o.Env.Dir})
	case "seccomp":
		_, err = enterSeccomp()
	}
	if err != nil {
		fmt.Println(err)
		return 3
	}
	fmt.Println(entered)
	for _, a := range append(canary.Attempts, others...) {
		if a.Name == o.Attempt {
			if err := a.Run(o.Env); err != nil {
				fmt.Println(refused + err.Error())
			} else {
				fmt.Println(succeeded)
			}
			return 0
		}
	}
	return 3
}

// others are no attempts to break out.
var others = []canary.Attempt{
	{Name: "nothing", Run: func(canary.Env) error { return nil }},
	{Name: "works", Run: works},
	{Name: "crash", Run: func(canary.Env) error { panic("planted") }},
}

// result is how a child ended.
type result struct {
	output string
	signal syscall.Signal // 0 if none
	code   int
}

func start(t *testing.T, o order) result {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe")
	c.Env = []string{childVariable + "=" + string(text)}
	c.Stdin = strings.NewReader("")
	out, _ := c.CombinedOutput()
	status := c.ProcessState.Sys().(syscall.WaitStatus)
	r := result{output: string(out), code: c.ProcessState.ExitCode()}
	if status.Signaled() {
		r.signal = status.Signal()
	}
	return r
}

// place lays out a directory that may be read, one that may not, and what
// listens outside.
func place(t *testing.T) canary.Env {
	t.Helper()
	base := t.TempDir()
	e := canary.Env{Dir: filepath.Join(base, "inside"), Outside: filepath.Join(base, "outside")}
	for _, d := range []string{e.Dir, e.Outside, e.In("empty")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{e.In("file"), filepath.Join(e.Outside, "file")} {
		if err := os.WriteFile(f, bytes.Repeat([]byte("x"), 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside/file", e.In("link")); err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// A short path: that of a socket is limited.
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	unixSocket, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	abstract, err := net.Listen("unix", "@"+short)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tcp.Close()
		udp.Close()
		unixSocket.Close()
		abstract.Close()
		os.RemoveAll(short)
	})
	e.TCP, e.UDP = tcp.Addr().String(), udp.LocalAddr().String()
	e.Unix, e.Abstract = unixSocket.Addr().String(), abstract.Addr().String()
	return e
}

func needSeal(t *testing.T) {
	t.Helper()
	r := start(t, order{Attempt: "nothing", Walls: "both", Env: place(t)})
	if strings.HasPrefix(r.output, "incomplete") {
		t.Skipf("this kernel cannot do it: %s", r.output)
	}
}

// A sealed process reads what it may, whatever its scheduler and collector do.
func TestWorks(t *testing.T) {
	needSeal(t)
	for _, walls := range []string{"none", "both"} {
		if r := start(t, order{Attempt: "works", Walls: walls, Env: place(t)}); r.output != entered+"\n"+succeeded+"\n" {
			t.Errorf("walls %s: signal %v, code %d, output %q", walls, r.signal, r.code, r.output)
		}
	}
}

// Everything tried is refused by the seal, and succeeds without it.
func TestRefused(t *testing.T) {
	needSeal(t)
	for _, a := range canary.Attempts {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			if a.Root && os.Geteuid() != 0 {
				t.Skip("only root can try")
			}
			free := start(t, order{Attempt: a.Name, Walls: "none", Env: place(t)})
			if !strings.HasSuffix(free.output, succeeded+"\n") {
				t.Errorf("the control failed: signal %v, code %d, output %q", free.signal, free.code, free.output)
			}
			sealed := start(t, order{Attempt: a.Name, Walls: "both", Env: place(t)})
			killed := sealed.signal == syscall.SIGSYS && sealed.output == entered+"\n"
			denied := strings.Contains(sealed.output, refused) && sealed.signal == 0
			if !killed && !denied {
				t.Errorf("not refused: signal %v, code %d, output %q", sealed.signal, sealed.code, sealed.output)
			}
		})
	}
}

// Landlock refuses its part alone, so that it is not seccomp that hides a
// wall which does not stand.
func TestLandlockAlone(t *testing.T) {
	needSeal(t)
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		t.Fatal(err)
	}
	errata, _ := ll.LandlockGetErrata()
	for _, a := range canary.Attempts {
		if a.Landlock == 0 || a.Landlock > abi || strings.HasPrefix(a.Name, "signal") && abi < 8 && errata&erratumSignal == 0 {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			r := start(t, order{Attempt: a.Name, Walls: "landlock", Env: place(t)})
			if !strings.Contains(r.output, entered+"\n"+refused) {
				t.Errorf("not refused: signal %v, code %d, output %q", r.signal, r.code, r.output)
			}
		})
	}
}

// Seccomp kills alone what opens for writing, so that it is not Landlock that
// hides a filter which lets through.
func TestSeccompAlone(t *testing.T) {
	needSeal(t)
	for _, name := range []string{"write", "create", "tcp", "run a program", "become a program", "signal the parent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, order{Attempt: name, Walls: "seccomp", Env: place(t)})
			if r.signal != syscall.SIGSYS {
				t.Errorf("not killed: signal %v, code %d, output %q", r.signal, r.code, r.output)
			}
		})
	}
}

// Threads that existed before are sealed as well, by each wall.
func TestOldThreads(t *testing.T) {
	needSeal(t)
	for _, tt := range []struct {
		attempt, walls string
		output         string
		signal         syscall.Signal
	}{
		{"old threads read", "none", succeeded, 0},
		{"old threads read", "landlock", refused + "all 20", 0},
		{"old threads read", "both", refused + "all 20", 0},
		{"old threads write", "none", succeeded, 0},
		{"old threads write", "seccomp", entered, syscall.SIGSYS},
		{"old threads write", "both", entered, syscall.SIGSYS},
	} {
		r := start(t, order{Attempt: tt.attempt, Walls: tt.walls, Env: place(t)})
		if !strings.HasSuffix(r.output, tt.output+"\n") || r.signal != tt.signal {
			t.Errorf("%s, walls %s: signal %v, code %d, output %q, want %q", tt.attempt, tt.walls, r.signal, r.code, r.output, tt.output)
		}
	}
}

// A crash is still a crash, with its trace, and not a death by the filter.
func TestCrash(t *testing.T) {
	needSeal(t)
	r := start(t, order{Attempt: "crash", Walls: "both", Env: place(t)})
	if r.signal != 0 || r.code != 2 || !strings.Contains(r.output, "panic: planted") {
		t.Errorf("signal %v, code %d, output %q", r.signal, r.code, r.output)
	}
}

// A directory that does not exist is an error, and no seal around nothing.
func TestBadDirectory(t *testing.T) {
	needSeal(t)
	e := place(t)
	e.Dir = e.In("absent")
	if r := start(t, order{Attempt: "nothing", Walls: "both", Env: e}); r.code != 3 || !strings.Contains(r.output, "absent") {
		t.Errorf("code %d, output %q", r.code, r.output)
	}
}

// Without a directory nothing can be opened.
func TestNoDirectory(t *testing.T) {
	needSeal(t)
	r := start(t, order{Attempt: "works", Walls: "nothing to read", Env: place(t)})
	if want := entered + "\n" + refused; !strings.HasPrefix(r.output, want) || !strings.Contains(r.output, "permission denied") {
		t.Errorf("signal %v, code %d, output %q", r.signal, r.code, r.output)
	}
}

// A descriptor that somebody left open for writing is found.
func TestInheritedDescriptor(t *testing.T) {
	needSeal(t)
	e := place(t)
	for _, tt := range []struct {
		name  string
		flags int
		want  string
	}{
		{"for reading", os.O_RDONLY, entered},
		{"for writing", os.O_WRONLY, "can write to a file"},
	} {
		f, err := os.OpenFile(e.In("file"), tt.flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(order{Attempt: "crash", Walls: "both", Env: e})
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("/proc/self/exe")
		c.Env = []string{childVariable + "=" + string(text)}
		c.ExtraFiles = []*os.File{f}
		out, _ := c.CombinedOutput()
		f.Close()
		if !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: output %q, want %q", tt.name, out, tt.want)
		}
	}
}

// What is open is found whatever its number, also when the process may have
// less open than is asked for at once.
func TestOpenDescriptors(t *testing.T) {
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var want []int
	for _, least := range []int{255, 256, 900, maxDescriptor - 1} {
		if uint64(least) >= limit.Cur {
			continue
		}
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, least)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		want = append(want, fd)
	}
	if len(want) < 3 {
		t.Fatalf("only %d descriptors may be open", limit.Cur)
	}
	look := func() map[int]bool {
		found := map[int]bool{}
		for fd := range openDescriptors() {
			found[fd] = true
		}
		return found
	}
	found := look()
	for _, fd := range want {
		if fd < maxDescriptor && !found[fd] {
			t.Errorf("descriptor %d is open and was not found", fd)
		}
	}
	if found[want[2]-1] || len(found) > 100 {
		t.Errorf("%d descriptors are said to be open", len(found))
	}
	small := limit
	small.Cur = 200
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &small); err != nil {
		t.Fatal(err)
	}
	found = look()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, fd := range want {
		if fd < maxDescriptor && !found[fd] {
			t.Errorf("descriptor %d is open and was not found with a limit of %d", fd, small.Cur)
		}
	}
}

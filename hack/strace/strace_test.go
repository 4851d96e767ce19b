// Package strace shows what a sealed analyser asks of the kernel during whole
// censuses. It needs strace, and the corpus for all but one of them.
package strace

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// trace is the system calls of the two programs, as lines "name(arguments".
type trace struct {
	// analyser are those from its start on, sealed those after the seal.
	analyser, sealed, others []string
	// entered reports that both walls were seen to close.
	landlock, seccomp bool
}

var (
	line  = regexp.MustCompile(`^(\d+) +(?:<\.\.\. )?([a-z_0-9]+)(\(| resumed>)(.*)$`)
	child = regexp.MustCompile(`= (\d+)$`)
)

// parse reads the output of strace -f.
func parse(r io.Reader) (*trace, error) {
	t := &trace{}
	analyser := map[string]bool{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		m := line.FindStringSubmatch(scan.Text())
		if m == nil {
			continue // a signal or an end
		}
		pid, name, resumed, rest := m[1], m[2], m[3] != "(", m[4]
		if name == "execve" && strings.Contains(rest, `["reach-analyser"`) {
			analyser[pid] = true
			continue
		}
		if !analyser[pid] {
			if !resumed {
				t.others = append(t.others, name+"("+rest)
			}
			continue
		}
		if started := child.FindStringSubmatch(rest); started != nil && strings.HasPrefix(name, "clone") {
			analyser[started[1]] = true
		}
		if resumed {
			continue
		}
		call := name + "(" + rest
		t.analyser = append(t.analyser, call)
		if t.seccomp {
			t.sealed = append(t.sealed, call)
		}
		t.landlock = t.landlock || name == "landlock_restrict_self"
		t.seccomp = t.seccomp || name == "seccomp" && strings.HasPrefix(rest, "SECCOMP_SET_MODE_FILTER")
	}
	return t, scan.Err()
}

var acts = regexp.MustCompile(`^(socket|connect|bind|listen|accept4?|send[a-z]*|execve|execveat|fork|vfork|unlink|unlinkat|rename[a-z0-9]*|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat|chmod|fchmod[a-z0-9]*|chown|fchown[a-z]*|truncate|ftruncate|creat|open|utime[a-z]*|mknod|mknodat|ptrace|kill|mount|io_uring[a-z_]*|memfd_create)\(`)

// forbidden are the calls that write, connect, start or change something.
func forbidden(calls []string) []string {
	var out []string
	for _, c := range calls {
		opens := strings.HasPrefix(c, "openat")
		writes := strings.Contains(c, "O_WRONLY") || strings.Contains(c, "O_RDWR") || strings.Contains(c, "O_CREAT") || strings.Contains(c, "O_TRUNC")
		process := strings.HasPrefix(c, "clone") && !strings.Contains(c, "CLONE_THREAD")
		if acts.MatchString(c) || opens && writes || process {
			out = append(out, c)
		}
	}
	return out
}

func names(calls []string) []string {
	out := map[string]bool{}
	for _, c := range calls {
		name, _, _ := strings.Cut(c, "(")
		out[name] = true
	}
	return slices.Sorted(maps.Keys(out))
}

// build makes both programs as `make build` does, but for the digest.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(base, filepath.Join(dir, "reach-analyser"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "./hack/seal", "-o", relative},
		{"build", "-o", filepath.Join(dir, "reach"), "./orchestrator"},
	} {
		command(t, root, "go", args...)
	}
	return dir
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// census takes one under strace.
func census(t *testing.T, bin, repository string, flags ...string) *trace {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{"-f", "-qq", "-o", filepath.Join(out, "trace"), filepath.Join(bin, "reach"), "census", repository, "--names", "real", "--out", filepath.Join(out, "report")}, flags...)
	c := exec.CommandContext(ctx, "strace", args...)
	if text, err := c.CombinedOutput(); err != nil {
		if bytes.Contains(text, []byte("PTRACE")) {
			t.Skipf("strace is not allowed to trace here: %s", text)
		}
		t.Fatalf("census of %s: %v\n%s", repository, err, text)
	}
	f, err := os.Open(filepath.Join(out, "trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// During whole censuses the analyser opens nothing for writing, makes no socket
// and starts nothing.
func TestCensus(t *testing.T) {
	if testing.Short() {
		t.Skip("traces whole censuses: not in the short tests")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	bin, repositories := build(t), t.TempDir()
	acme, config := filepath.Join(repositories, "acme"), filepath.Join(repositories, "acme.yaml")
	command(t, root, "go", "run", "./hack/acme", "-git", acme, "-config", config)
	all := map[string]bool{}
	check := func(name, repository string, flags ...string) {
		t.Run(name, func(t *testing.T) {
			tr := census(t, bin, repository, flags...)
			if !tr.landlock || !tr.seccomp {
				t.Fatalf("the seal was not seen to close: Landlock %t, seccomp %t", tr.landlock, tr.seccomp)
			}
			if len(tr.sealed) < 50 || len(forbidden(tr.others)) == 0 {
				t.Fatalf("the trace does not show enough: %d calls sealed, %d of reach itself that write", len(tr.sealed), len(forbidden(tr.others)))
			}
			for _, c := range forbidden(tr.analyser) {
				t.Errorf("the analyser made the call %.200s", c)
			}
			for _, n := range names(tr.sealed) {
				all[n] = true
			}
		})
	}
	check("acme-platform", acme, "--config", config)
	corpus, err := filepath.Abs(root + "/../shared/corpus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(corpus, "make-repos")); err != nil {
		t.Log("the corpus is not there: acme-platform alone was traced")
	} else {
		dir := filepath.Join(repositories, "corpus")
		command(t, corpus, "./make-repos", dir)
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) == 0 {
			t.Fatalf("repositories of the corpus %v, error %v", entries, err)
		}
		for _, e := range entries {
			check(e.Name(), filepath.Join(dir, e.Name()))
		}
	}
	sealed := slices.Sorted(maps.Keys(all))
	t.Logf("%d distinct system calls in the seal: %s", len(sealed), strings.Join(sealed, " "))
}

// The reading of a trace finds what it must find.
func TestParse(t *testing.T) {
	const text = `10 openat(AT_FDCWD, "report", O_WRONLY|O_CREAT, 0644) = 3
10 clone(child_stack=NULL, flags=CLONE_VM|CLONE_VFORK <unfinished ...>
11 execve("/proc/self/fd/7", ["reach-analyser", "/r"], 0x0 /* 0 vars */) = 0
10 <... clone resumed>) = 11
11 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD) = 12
12 landlock_restrict_self(5, 0) = 0
11 seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, {len=1}) = 0
12 openat(AT_FDCWD, "a", O_RDONLY|O_CLOEXEC <unfinished ...>
11 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD <unfinished ...>
12 <... openat resumed>) = 6
11 <... clone resumed>) = 13
13 socket(AF_INET, SOCK_STREAM, 0) = 7
--- SIGURG ---
`
	tr, err := parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(tr.landlock, tr.seccomp, len(tr.analyser), len(tr.sealed), forbidden(tr.analyser), len(forbidden(tr.others)))
	if want := "true true 6 3 [socket(AF_INET, SOCK_STREAM, 0) = 7] 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

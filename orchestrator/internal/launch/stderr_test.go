//go:build unix

package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

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

// What a child said before it died is heard although it cannot be written to
// any more.
func TestConnHearsOut(t *testing.T) {
	pipes, err := openPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer pipes.closeOurs()
	c := newConn(pipes.stdout.r, pipes.stdin.w, 1<<20)
	if _, err := pipes.stdout.w.WriteString("usage: analyser\n"); err != nil {
		t.Fatal(err)
	}
	pipes.closeChild()
	wrote := make(chan report)
	go func() {
		_, _ = c.Write([]byte("preface"))
		wrote <- c.report()
	}()
	time.Sleep(50 * time.Millisecond)
	if _, err := c.Read(make([]byte, 100)); err != errForeign {
		t.Errorf("Read: %v", err)
	}
	if r := <-wrote; !r.foreign || r.head != "usage: analyser" || r.ended == nil {
		t.Errorf("when the write failed: %+v", r)
	}
}

package document

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

const secret = "hunter2"

// hostile are files that cost much, each with the error that it must end in,
// or "" for those that must be read.
var hostile = []struct {
	name string
	text func() string
	code string
}{
	{"text of 50 MB", func() string { return "data: " + strings.Repeat("a", 50<<20) }, ""},
	{"base64 block", func() string {
		return "data: |\n" + strings.Repeat("  "+strings.Repeat("QUJD", 19)+"\n", 8<<20/79)
	}, ""},
	{"comments", func() string { return strings.Repeat("# a comment\n", 8<<20/12) }, ""},
	{"blank lines", func() string { return strings.Repeat("\n", 8<<20) }, ""},
	{"more than the limit", func() string { return strings.Repeat(" ", 65<<20) }, CodeTooLarge},
	{"flow items", func() string { return "[" + strings.Repeat("a,", 25<<20) + "]" }, CodeTooLarge},
	{"block items", func() string { return strings.Repeat("- a\n", 12<<20) }, CodeTooLarge},
	{"null items", func() string { return strings.Repeat("-\n", 25<<20) }, CodeTooLarge},
	{"keys", func() string { return strings.Repeat("a:\n", 16<<20) }, CodeTooLarge},
	{"keys below the early bound", func() string { return strings.Repeat("a: b\n", 600_000) }, CodeTooLarge},
	{"explicit keys", func() string { return strings.Repeat("? a\n", 12<<20) }, CodeTooLarge},
	{"nested flow", func() string { return strings.Repeat("[", 300) + strings.Repeat("]", 300) }, CodeTooDeep},
	{"nested flow for ever", func() string { return strings.Repeat("[", 20_000) }, CodeTooDeep},
	{"nested mappings for ever", func() string { return strings.Repeat("{a: ", 20_000) }, CodeTooDeep},
	{"nested dashes for ever", func() string { return strings.Repeat("- ", 20_000) }, CodeTooDeep},
	{"separators", func() string { return strings.Repeat("a: b\n---\n", 110_000) }, CodeTooManyDocuments},
	{"empty separators", func() string { return strings.Repeat("\n---\n", 1<<20) }, CodeTooManyDocuments},
	{"tag directives", func() string {
		var b strings.Builder
		for i := range 200_000 {
			fmt.Fprintf(&b, "%%TAG !a%d! b\n", i)
		}
		return b.String() + "---\na: b\n"
	}, CodeTooLarge},
	{"anchors", func() string {
		var b strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&b, "a%d: &a%d b\n", i, i)
		}
		return b.String()
	}, ""},
	{"wide mapping with a merge key", func() string {
		var b strings.Builder
		b.WriteString("x: &x {a: b}\n<<: *x\n")
		for i := range 100_000 {
			fmt.Fprintf(&b, "a%d: b\n", i)
		}
		return b.String()
	}, CodeAliasBomb},
	{"wide mapping in a list", func() string {
		var b strings.Builder
		b.WriteString("kind: FooList\nitems:\n- x: y\n")
		for i := range 200_000 {
			fmt.Fprintf(&b, "  a%d: b\n", i)
		}
		return b.String()
	}, ""},
	{"wide list", func() string {
		var b strings.Builder
		b.WriteString("kind: FooList\nitems: []\n")
		for i := range 200_000 {
			fmt.Fprintf(&b, "a%d: b\n", i)
		}
		return b.String()
	}, ""},
	{"lists in lists", func() string {
		return strings.Repeat("{kind: FooList, items: [", 90) + strings.Repeat("a,", 300_000) + strings.Repeat("]}", 90)
	}, ""},
	{"alias bomb", func() string {
		var b strings.Builder
		b.WriteString("a0: &a0 [" + secret + "]\n")
		for i := 1; i < 64; i++ {
			fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		}
		return b.String()
	}, CodeAliasBomb},
	{"merge bomb", func() string {
		var b strings.Builder
		b.WriteString("a0: &a0 {k: [" + secret + "]}\n")
		for i := 1; i < 64; i++ {
			fmt.Fprintf(&b, "a%d: &a%d {<<: *a%d, k%d: *a%d}\n", i, i, i-1, i, i-1)
		}
		return b.String()
	}, CodeAliasBomb},
	{"quote that never ends", func() string { return "a: \"" + strings.Repeat("b\n", 4<<20) }, CodeSyntax},
	{"binary", func() string { return strings.Repeat("\x7fELF\x00\x01\xfe", 1<<20) }, CodeSyntax},
}

// TestHostileFilesAreBounded reads every one within a time and a memory that
// no limit would have to be raised for.
func TestHostileFilesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	const (
		seconds = 60
		memory  = 1 << 30
	)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			content := c.text()
			before := heap()
			peak := watch()
			start := time.Now()
			_, f := readOne(t, "f.yaml", content, Limits{})
			f.Resources()
			took, grown := time.Since(start), peak()-before
			t.Logf("%d bytes: %v, %d MB", len(content), took.Round(time.Millisecond), grown>>20)
			code := ""
			if f.Err != nil {
				code = f.Err.Code
				if strings.Contains(f.Err.Message, secret) {
					t.Error("the message quotes a value")
				}
			}
			if code != c.code {
				t.Errorf("error %q, want %q", code, c.code)
			}
			if took > seconds*time.Second {
				t.Errorf("took %v", took)
			}
			if grown > memory {
				t.Errorf("took %d MB", grown>>20)
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// watch samples the heap until the returned function is called, which says how
// large it was at most.
func watch() func() int64 {
	done, result := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, int64(m.HeapAlloc))
			select {
			case <-done:
				result <- most
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(done); return <-result }
}

func TestManyDocuments(t *testing.T) {
	const n = 10_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\n---\n", i)
	}
	r, f := readOne(t, "f.yaml", b.String(), Limits{})
	if f.Err != nil || len(f.Documents) != n {
		t.Fatalf("%d documents, %v", len(f.Documents), f.Err)
	}
	last := f.Documents[n-1]
	if got, want := r.Positions().Position(last.Pos), (position.Position{Path: "f.yaml", Line: 5*n - 4}); got != want {
		t.Errorf("the last document is at %v, want %v", got, want)
	}
	if d, scanned := headersAgree(b.String()); d != "" || !scanned {
		t.Errorf("scanned: %v\n%s", scanned, d)
	}
}

func TestLimitsApply(t *testing.T) {
	for _, c := range []struct {
		content string
		limits  Limits
		code    string
		docs    int
	}{
		{"a: b\n", Limits{Bytes: 4}, CodeTooLarge, 0},
		{"a: b\n", Limits{Bytes: 5}, "", 1},
		{"a: b\n---\nc: d\n---\ne: f\n", Limits{Documents: 2}, CodeTooManyDocuments, 2},
		{"a: {b: {c: d}}\n", Limits{Depth: 2}, CodeTooDeep, 0},
		{"a: {b: {c: d}}\n", Limits{Depth: 3}, "", 1},
		{"a: [b, c]\n", Limits{Nodes: 4}, CodeTooLarge, 0},
		{"a: [b, c]\n", Limits{Nodes: 5}, "", 1},
		{"a: &a [b, c]\nd: *a\n", Limits{Nodes: 8}, CodeAliasBomb, 0},
		{"a: &a [b, c]\nd: *a\n", Limits{Nodes: 9}, "", 1},
	} {
		_, f := readOne(t, "f.yaml", c.content, c.limits)
		code := ""
		if f.Err != nil {
			code = f.Err.Code
		}
		if code != c.code || len(f.Documents) != c.docs {
			t.Errorf("%q with %+v: %q and %d documents, want %q and %d", c.content, c.limits, code, len(f.Documents), c.code, c.docs)
		}
		s := snapshot.FromMap(map[string]string{"f.yaml": c.content})
		hs, herr, err := NewReader(&position.Set{}, c.limits).Headers(s, s.Entries()[0])
		if err != nil || (herr == nil) != (f.Err == nil) || len(hs) != c.docs {
			t.Errorf("%q with %+v: headers differ: %d, %v, %v", c.content, c.limits, len(hs), herr, err)
		}
	}
}

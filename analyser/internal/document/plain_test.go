package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// headersAgree reports how the scan differs from the parse, and whether the
// scan took the file.
func headersAgree(content string) (diff string, scanned bool) {
	r := NewReader(&position.Set{}, Limits{})
	lines := snapshot.Lines([]byte(content))
	base := r.positions.Add("f.yaml", lines)
	last := base + position.Pos(lines)
	got, scanned := r.scanPlain([]byte(content), base, last)
	if !scanned {
		return "", false
	}
	f := r.file("f.yaml", []byte(content), base, last)
	if f.Err != nil {
		return "the scan takes what does not parse: " + f.Err.Error(), true
	}
	want := f.headers()
	if len(want) == 0 && len(got) == 0 {
		return "", true
	}
	return cmp.Diff(want, got), true
}

func TestCorpusHeadersAgree(t *testing.T) {
	all, plain, bytes, plainBytes := 0, 0, 0, 0
	for path, content := range corpus(t) {
		d, scanned := headersAgree(content)
		if d != "" {
			t.Errorf("%s (-parse +scan):\n%s", path, d)
		}
		all, bytes = all+1, bytes+len(content)
		if scanned {
			plain, plainBytes = plain+1, plainBytes+len(content)
		} else if testing.Verbose() {
			t.Log(path)
		}
	}
	t.Logf("%d of %d files, %d of %d bytes are plain", plain, all, plainBytes, bytes)
}

func FuzzHeaders(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, content string) {
		if d, _ := headersAgree(content); d != "" {
			t.Error(d)
		}
	})
}

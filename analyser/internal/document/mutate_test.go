package document

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// splinters are what mutations put into a file.
var splinters = []string{
	"---\n", "\n---\n", "...\n", "--- #\n", "\t", "\r\n", "\r", "\u2028", "\ufeff", "\x00", "\xff", "&a ", "*a", "!!str ", "|\n", ">-\n",
	"\"", "'", "[", "]", "{", "}", ": ", ":", "- ", "?", "#", " #", "<<: *a\n", "kind: List\n", "items:\n", "null", "~", "%", "  ", "\n",
}

// mutate damages a manifest in one to three places.
func mutate(r *rand.Rand, content string) string {
	for range 1 + r.IntN(3) {
		lines := strings.SplitAfter(content, "\n")
		i := r.IntN(len(lines))
		switch r.IntN(6) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] += lines[i]
		case 2:
			lines[i] = "  " + lines[i]
		case 3:
			lines[i] = strings.TrimPrefix(lines[i], "  ")
		case 4:
			at := r.IntN(len(lines[i]) + 1)
			lines[i] = lines[i][:at] + splinters[r.IntN(len(splinters))] + lines[i][at:]
		case 5:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		}
		content = strings.Join(lines, "")
	}
	return content
}

// TestMutatedCorpusReadsAsUpstream damages every small file of the corpus, the
// same way each time.
func TestMutatedCorpusReadsAsUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	r := rand.New(rand.NewPCG(1, 2))
	files, broken, scanned := 0, 0, 0
	for path, content := range corpus(t) {
		if len(content) > 4<<10 {
			continue
		}
		m := mutate(r, content)
		files++
		if d := agree(m); d != "" {
			t.Errorf("%s: %s\n%q", path, d, m)
		}
		if d, _, _ := treesAgree(m); d != "" {
			t.Errorf("%s %s\n%q", path, d, m)
		}
		d, plain := headersAgree(m)
		if d != "" {
			t.Errorf("%s (-parse +scan):\n%s\n%q", path, d, m)
		}
		if plain {
			scanned++
		}
		if _, f := readOne(t, path, m, Limits{}); f.Err != nil {
			broken++
		}
	}
	t.Logf("%d files: %d do not parse, %d are plain", files, broken, scanned)
}

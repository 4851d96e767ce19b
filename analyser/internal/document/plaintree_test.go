package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// treesAgree reports how the trees of plain parts differ from those of the
// YAML library, and how many parts are plain.
func treesAgree(content string) (diff string, plain, all int) {
	r := NewReader(&position.Set{}, Limits{})
	const base, last = 100, 1 << 20
	var (
		p    part
		line int
		rest = []byte(content)
	)
	for all < 1000 {
		p, rest, line = nextPart(rest, line)
		all++
		if r.checkSize(p.text, newLines(p, base, last)) == nil {
			if got, ok := r.plainTree(p.text, newLines(p, base, last)); ok {
				plain++
				if d := treeDiff(r, p, got); d != "" {
					return d, plain, all
				}
			}
		}
		if p.last || p.bad {
			break
		}
	}
	return "", plain, all
}

func treeDiff(r *Reader, p part, got *yaml.Node) string {
	l := newLines(p, 100, 1<<20)
	root, err := decode(p.text, l)
	if err != nil {
		return "plain text does not parse: " + err.Error()
	}
	var want *yaml.Node
	if root != nil && root.Content[0].Tag != nullTag {
		want = root.Content[0]
		w := walk{limits: r.limits, lines: l}
		w.visit(want, 0)
		if w.err != nil {
			return "plain text is refused: " + w.err.Error()
		}
		if w.expand {
			return "plain text has something to expand"
		}
		withoutComments(want)
	}
	if want == nil && got == nil {
		return ""
	}
	if want == nil || got == nil {
		return "one of the trees is empty"
	}
	if !equalNodes(want, got) {
		return "(-library +plain):\n" + cmp.Diff(want, got)
	}
	return ""
}

func equalNodes(a, b *yaml.Node) bool {
	if len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equalNodes(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return a.Kind == b.Kind && a.Style == b.Style && a.Tag == b.Tag && a.Value == b.Value && a.Line == b.Line &&
		a.Column == b.Column && a.Anchor == b.Anchor && a.Alias == b.Alias &&
		a.HeadComment+a.LineComment+a.FootComment == b.HeadComment+b.LineComment+b.FootComment
}

func withoutComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		withoutComments(c)
	}
}

func TestCorpusTreesAgree(t *testing.T) {
	plain, all := 0, 0
	for path, content := range corpus(t) {
		d, p, n := treesAgree(content)
		plain, all = plain+p, all+n
		if d != "" {
			t.Errorf("%s %s", path, d)
		}
	}
	t.Logf("%d of %d documents are plain", plain, all)
}

func FuzzTrees(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, content string) {
		if d, _, _ := treesAgree(content); d != "" {
			t.Error(d)
		}
	})
}

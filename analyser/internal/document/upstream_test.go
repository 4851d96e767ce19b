package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// agree reports how our reading of content differs from upstream's, or "".
// What a limit of ours cut off cannot be compared and agrees.
func agree(content string) (diff string) {
	s := snapshot.FromMap(map[string]string{"f.yaml": content})
	r := NewReader(&position.Set{}, Limits{})
	f, err := r.Read(s, s.Entries()[0])
	if err != nil {
		return err.Error()
	}
	if f.Err != nil && f.Err.Code != CodeSyntax && f.Err.Code != CodeNotUTF8 {
		return ""
	}
	defer func() {
		// Upstream may panic; the real tool then fails as well.
		if p := recover(); p != nil && f.Err == nil && !rejected(f) {
			diff = fmt.Sprintf("upstream panics (%v), we read the file", p)
		}
	}()
	if d := agreeOnDocuments(f, content); d != "" {
		return d
	}
	return agreeOnResources(f, content)
}

func rejected(f *File) bool {
	for _, r := range f.Resources() {
		if r.Reason.Rejected() {
			return true
		}
	}
	return false
}

func agreeOnDocuments(f *File, content string) string {
	nodes, err := kio.FromBytes([]byte(content))
	if (err != nil) != (f.Err != nil) {
		return fmt.Sprintf("upstream's error: %v; ours: %v", err, f.Err)
	}
	if err != nil {
		return ""
	}
	var got []*yaml.Node
	for _, d := range f.Documents {
		if !d.unwrapped {
			got = append(got, d.Node())
			continue
		}
		for _, item := range d.items() {
			if !empty(item) {
				got = append(got, item)
			}
		}
	}
	var want []*yaml.Node
	for _, n := range nodes {
		if !n.IsNilOrEmpty() {
			want = append(want, n.YNode())
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("upstream has %d documents, we have %d", len(want), len(got))
	}
	for i := range want {
		if d := unlike(want[i], got[i]); d != "" {
			return fmt.Sprintf("document %d (-upstream +ours):\n%s", i, d)
		}
	}
	return agreeOnLines(f, content, want, got)
}

var upstreamSeparator = regexp.MustCompile(`\n---.*\n`)

// agreeOnLines compares the line of every node with the parser's line counted
// on from where the document starts.
func agreeOnLines(f *File, content string, want, got []*yaml.Node) string {
	if hasOddBreaks([]byte(strings.ReplaceAll(content, "\r\n", "\n"))) || strings.Contains(content, "\x00") {
		return ""
	}
	starts := []int{0}
	text := strings.ReplaceAll(content, "\r\n", "\n")
	for _, loc := range upstreamSeparator.FindAllStringIndex(text, -1) {
		starts = append(starts, strings.Count(text[:loc[1]], "\n"))
	}
	last := snapshot.Lines([]byte(content))
	known := map[int]bool{}
	for _, s := range starts {
		known[s] = true
	}
	for i := range want {
		// All nodes of a document are moved by the start of one and the same part.
		shift := got[i].Line - int(f.Base) - want[i].Line
		if !known[shift] {
			return fmt.Sprintf("document %d starts at no separator: line %d", i, got[i].Line-int(f.Base))
		}
		var walk func(w, g *yaml.Node) string
		walk = func(w, g *yaml.Node) string {
			// The parser sees one more line than there is in a file that ends in "?".
			line := min(w.Line+shift, last)
			if g.Line-int(f.Base) != line {
				return fmt.Sprintf("line %d, want %d", g.Line-int(f.Base), line)
			}
			for i := range w.Content {
				if d := walk(w.Content[i], g.Content[i]); d != "" {
					return d
				}
			}
			return ""
		}
		if d := walk(want[i], got[i]); d != "" {
			return d
		}
	}
	return ""
}

func agreeOnResources(f *File, content string) string {
	nodes, err := provider.NewDefaultDepProvider().GetResourceFactory().RNodesFromBytes([]byte(content))
	if bad := f.Err != nil || rejected(f); (err != nil) != bad {
		return fmt.Sprintf("upstream's error: %v; ours: %v, rejected %v", err, f.Err, rejected(f))
	}
	if err != nil {
		return ""
	}
	got := f.Resources()
	if len(got) != len(nodes) {
		return fmt.Sprintf("upstream has %d resources, we have %d", len(nodes), len(got))
	}
	for i, n := range nodes {
		g := got[i]
		want := []string{n.GetApiVersion(), n.GetKind(), n.GetNamespace(), n.GetName()}
		have := []string{g.Ref.APIVersion(), g.Ref.Kind, g.Ref.Namespace, g.Ref.Name}
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Sprintf("resource %d (-upstream +ours):\n%s", i, d)
		}
		if meaning(n.YNode()) != meaning(g.Node) {
			return fmt.Sprintf("resource %d has other content", i)
		}
	}
	return ""
}

// unlike reports the first difference between two trees but for lines and columns;
// cmp.Diff is too slow for manifests of a megabyte.
func unlike(w, g *yaml.Node) string {
	type own struct {
		Kind                                 yaml.Kind
		Style                                yaml.Style
		Tag, Value, Anchor, Head, Line, Foot string
		Children                             int
	}
	of := func(n *yaml.Node) own {
		o := own{n.Kind, n.Style, n.Tag, n.Value, n.Anchor, n.HeadComment, n.LineComment, n.FootComment, len(n.Content)}
		if !strings.Contains(o.Head+o.Line+o.Foot, "{") {
			o.Head, o.Line, o.Foot = "", "", "" // they mean nothing to kustomize
		}
		return o
	}
	if of(w) != of(g) {
		return cmp.Diff(of(w), of(g))
	}
	for i := range w.Content {
		if d := unlike(w.Content[i], g.Content[i]); d != "" {
			return d
		}
	}
	return ""
}

// meaning is the content as JSON: items of lists went through JSON upstream.
func meaning(n *yaml.Node) string {
	b, err := kyaml.NewRNode(n).MarshalJSON()
	if err != nil {
		return "no JSON"
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err.Error()
	}
	b, err = json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestCorpusReadsAsUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	n := 0
	for path, content := range corpus(t) {
		n++
		if d := agree(content); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	t.Logf("%d files compared", n)
}

package facts

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	in := []*reachv1.Fact{
		{Cluster: "hub", Fact: &reachv1.Fact_Access{Access: &reachv1.Access{Outcome: reachv1.Outcome_OUTCOME_OK, ServerVersion: "v1.31.4+k3s1"}}},
		{Cluster: "hub", Fact: &reachv1.Fact_Entries{Entries: &reachv1.InventoryEntries{
			Holder:  &reachv1.ObjectReference{Group: "g", Kind: "K", Namespace: "n", Name: "a"},
			Entries: []*reachv1.InventoryEntry{{Id: "_a__Namespace", V: "v1"}},
		}}},
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		w := NewWriter(b)
		for _, f := range in {
			if err := w.Write(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("the same facts are written as\n%s and as\n%s", &first, &second)
	}
	var out []*reachv1.Fact
	if err := Read(strings.NewReader("# a comment\n\n"+first.String()), "f", func(f *reachv1.Fact) error { out = append(out, f); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(out) != len(in) {
		t.Fatalf("%d facts, want %d", len(out), len(in))
	}
	for i := range in {
		if !proto.Equal(in[i], out[i]) {
			t.Errorf("fact %d is %v, want %v", i, out[i], in[i])
		}
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"\n{\"cluster\":\"a\",":        "f:2: this is no fact",
		`{"access":{}}`:                "f:1: the fact names no cluster",
		strings.Repeat("x", MaxLine+1): "f:1: the line is longer",
	} {
		err := Read(strings.NewReader(text), "f", func(*reachv1.Fact) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	stop := errors.New("stop")
	if err := Read(strings.NewReader(`{"cluster":"a","unheard_of":1}`), "f", func(*reachv1.Fact) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an unknown field: %v", err)
	}
}

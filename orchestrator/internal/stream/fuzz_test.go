package stream

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// FuzzStream gives any messages to the recorder: it refuses them as nonsense, or
// gives back what it took, whole and in order.
func FuzzStream(f *testing.F) {
	whole := []*reachv1.CensusResponse{
		header(), placement("hub"), file(), finding("x"), rule("x", 1), rule("y", 0),
		summary(&reachv1.Counts{Placements: 1, Files: 1, Analysable: 1, Findings: 1}),
	}
	for n := range whole {
		f.Add(delimited(f, whole[n:]), "")
		f.Add(delimited(f, append(whole[:n:n], whole[len(whole)-1])), "hub")
	}
	f.Add(delimited(f, []*reachv1.CensusResponse{header(), progress(), header()}), "x")
	f.Fuzz(func(t *testing.T, data []byte, version string) {
		r := NewRecorder()
		// Some stay in memory, some do not.
		r.inMemory = int64(len(version)) * 16
		defer r.Close()
		var taken []*reachv1.CensusResponse
		in := bytes.NewReader(data)
		for {
			m := &reachv1.CensusResponse{}
			if (protodelim.UnmarshalOptions{MaxSize: reachv1.MaxResponseBytes}).UnmarshalFrom(in, m) != nil {
				break
			}
			if err := r.Add(m); err != nil {
				nonsense(t, err)
				return
			}
			if m.GetProgress() == nil {
				taken = append(taken, m)
			}
		}
		recording, err := r.Finish(version)
		if err != nil {
			nonsense(t, err)
			return
		}
		if taken[len(taken)-1].GetEvent() != nil && taken[0].GetHeader() == nil {
			t.Error("a recording that does not begin with a header")
		}
		for name, role := range recording.Clusters {
			if name == "" || !strings.Contains(" hub spoke cluster ", " "+role+" ") {
				t.Errorf("cluster %q is a %q", name, role)
			}
		}
		n := 0
		err = recording.Each(func(m *reachv1.CensusResponse) error {
			if n == len(taken) || !proto.Equal(m, taken[n]) {
				return errors.New("another message than was taken")
			}
			n++
			return nil
		})
		if err != nil || n != len(taken) {
			t.Errorf("%d of %d messages, %v", n, len(taken), err)
		}
	})
}

func nonsense(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrNonsense) {
		t.Errorf("refused by %v", err)
	}
}

func delimited(f *testing.F, messages []*reachv1.CensusResponse) []byte {
	var b bytes.Buffer
	for _, m := range messages {
		if _, err := protodelim.MarshalTo(&b, m); err != nil {
			f.Fatal(err)
		}
	}
	return b.Bytes()
}

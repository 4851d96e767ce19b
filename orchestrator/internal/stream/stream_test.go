package stream

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func header() *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Header{Header: &reachv1.Header{
		Commit: strings.Repeat("a", 40), CommitTime: &timestamppb.Timestamp{Seconds: 1},
	}}}
}

func placement(cluster string) *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Placement{Placement: &reachv1.Placement{
		Cluster: cluster, Trace: []*reachv1.Hop{{Cluster: "hop"}},
	}}}
}

func file() *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_File{File: &reachv1.File{Analysis: reachv1.Analysis_ANALYSIS_ANALYSABLE}}}
}

func finding(rule string) *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Finding{Finding: &reachv1.Finding{Rule: rule}}}
}

func rule(name string, count int32) *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Rule{Rule: &reachv1.RuleResult{Rule: name, Count: count}}}
}

func summary(c *reachv1.Counts) *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Summary{Summary: &reachv1.Summary{
		Counts: c, Clusters: []*reachv1.Cluster{{Name: "hub"}, {Name: "spoke", Kubeconfig: "Secret a/b#c", ControllerCluster: "hub"}},
	}}}
}

func progress() *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Progress{Progress: &reachv1.Progress{}}}
}

func record(t *testing.T, messages ...*reachv1.CensusResponse) (*Recording, error) {
	t.Helper()
	return recordIn(t, inMemory, messages...)
}

func recordIn(t *testing.T, inMemory int64, messages ...*reachv1.CensusResponse) (*Recording, error) {
	t.Helper()
	r := NewRecorder()
	r.inMemory = inMemory
	t.Cleanup(func() { r.Close() })
	for _, m := range messages {
		if err := r.Add(m); err != nil {
			return nil, err
		}
	}
	return r.Finish("1")
}

func TestRecording(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testRecording(t, inMemory) })
	t.Run("file", func(t *testing.T) { testRecording(t, 0) })
	t.Run("memory, then file", func(t *testing.T) { testRecording(t, 60) })
}

func testRecording(t *testing.T, inMemory int64) {
	t.Setenv("TMPDIR", t.TempDir())
	sent := []*reachv1.CensusResponse{
		header(), placement("hub"), file(), finding("x"), rule("x", 1), rule("y", 0),
		summary(&reachv1.Counts{Placements: 1, Files: 1, Analysable: 1, Findings: 1}),
	}
	r, err := recordIn(t, inMemory, append([]*reachv1.CensusResponse{sent[0], progress()}, sent[1:]...)...)
	if err != nil {
		t.Fatal(err)
	}
	if inMemory < 100 != (r.file != nil) || r.file != nil && r.messages != nil {
		t.Errorf("with %d bytes of memory: file %v, %d messages", inMemory, r.file, len(r.messages))
	}
	if entries, err := os.ReadDir(os.TempDir()); err != nil || len(entries) != 0 {
		t.Errorf("the temporary file has a name: %v, %v", entries, err)
	}
	// Twice, since one census may be shown in several ways.
	for range 2 {
		var got []*reachv1.CensusResponse
		if err := r.Each(func(m *reachv1.CensusResponse) error { got = append(got, m); return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, got, protocmp.Transform()); diff != "" {
			t.Errorf("(-sent +got)\n%s", diff)
		}
	}
	want := map[string]string{"hub": "hub", "spoke": "spoke", "hop": "cluster"}
	if diff := cmp.Diff(want, r.Clusters); diff != "" {
		t.Errorf("clusters: %s", diff)
	}
	stop := errors.New("stop")
	if err := r.Each(func(*reachv1.CensusResponse) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestNonsense(t *testing.T) {
	none := &reachv1.Counts{}
	badCommit, noTime := header(), header()
	badCommit.GetHeader().Commit = "HEAD"
	noTime.GetHeader().CommitTime = nil
	for about, messages := range map[string][]*reachv1.CensusResponse{
		"nothing":                  {},
		"no header":                {placement("a")},
		"two headers":              {header(), header()},
		"no summary":               {header(), placement("a")},
		"header without commit":    {badCommit},
		"header without time":      {noTime},
		"out of order":             {header(), file(), placement("a")},
		"after the summary":        {header(), summary(none), summary(none)},
		"a placement too many":     {header(), placement("a"), summary(none)},
		"a placement too few":      {header(), summary(&reachv1.Counts{Placements: 1})},
		"a file of another state":  {header(), file(), summary(&reachv1.Counts{Files: 1, Unresolved: 1})},
		"a finding without a rule": {header(), finding("x"), summary(&reachv1.Counts{Findings: 1})},
		"a rule that miscounts":    {header(), finding("x"), rule("x", 2), summary(&reachv1.Counts{Findings: 1})},
	} {
		if _, err := record(t, messages...); !errors.Is(err, ErrNonsense) {
			t.Errorf("%s: got %v", about, err)
		}
	}
}

func TestTooLarge(t *testing.T) {
	r := NewRecorder()
	defer r.Close()
	r.limit = 100
	err := r.Add(header())
	for range 10 {
		if err == nil {
			err = r.Add(placement("a"))
		}
	}
	if !errors.Is(err, ErrNonsense) || !strings.Contains(err.Error(), "larger than 100 bytes") {
		t.Errorf("got %v", err)
	}
}

// What stays in memory is bounded, also when every message is small.
func TestHeld(t *testing.T) {
	c := &check{}
	if err := c.next(header()); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	for i := range 1000 {
		if err := c.next(placement(fmt.Sprint(i, long))); err != nil {
			if !errors.Is(err, ErrNonsense) || !strings.Contains(err.Error(), "larger than 268435456 bytes") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("a gigabyte of names is kept")
}

package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// TestTrace: the file says what both processes did, one thing after the other,
// and holds no name of the repository.
func TestTrace(t *testing.T) {
	workplace(t)
	messages := wide(50)
	progress := func(phase string) *reachv1.CensusResponse {
		return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Progress{Progress: &reachv1.Progress{Phase: phase, Done: 1}}}
	}
	messages = slices.Insert(messages, 0, progress("listing"), progress("prod-eu-000"))
	if _, _, err := take(t.Context(), &fakeAnalyser{messages: messages}, "--out", "out", "--trace", "trace.json"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("trace.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "prod-eu") {
		t.Errorf("a real name stands in the trace: %s", text)
	}
	var got struct {
		TraceEvents []struct {
			Name, Ph     string
			Ts, Dur, Pid int64
			Args         map[string]any
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	names, ends := map[int64][]string{}, map[int64]int64{}
	for _, e := range got.TraceEvents {
		if e.Ph != "X" {
			continue
		}
		names[e.Pid] = append(names[e.Pid], e.Name)
		// Times are cut to microseconds, so that two may seem to overlap by one.
		if e.Ts < ends[e.Pid]-1 || e.Dur < 0 {
			t.Errorf("%s begins at %d, before %d", e.Name, e.Ts, ends[e.Pid])
		}
		ends[e.Pid] = e.Ts + e.Dur
		if e.Name == "sending placement" && e.Args["messages"] != 50.0 {
			t.Errorf("%s: %v", e.Name, e.Args)
		}
	}
	for pid, want := range map[int64][]string{
		orchestratorProcess: {
			"checking what was asked", "starting the analyser", "receiving the census", "choosing names",
			"writing the report", "looking for real names", "putting the report in place", "showing a summary",
		},
		analyserProcess: {"opening", "listing", "working", "sending header", "sending placement", "sending file", "sending summary"},
	} {
		if !slices.Equal(names[pid], want) {
			t.Errorf("process %d: %q, want %q", pid, names[pid], want)
		}
	}
}

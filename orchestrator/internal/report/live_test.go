package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRevisionWords(t *testing.T) {
	const long = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	for want, r := range map[string]*RevisionState{
		"": nil,
		"reconciles the commit that was read (3 Kustomizations)":                                             {State: "current", Current: 3},
		"does not reconcile the commit that was read: main@sha1:0123456789ab (2), none yet (1)":              {State: "differs", Differs: 3, Applied: map[string]int{long: 2, "": 1}},
		"1 of 4 Kustomizations reconcile the commit that was read, 2 another revision, of 1 it is not known": {State: "mixed", Current: 1, Differs: 2, Unknown: 1},
		"reconciles a revision that is not known (1 Kustomization)":                                          {State: "unknown", Unknown: 1},
	} {
		if got := r.Words(); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	c := Cluster{Readings: []Reading{
		{Kind: "A", Outcome: "ok"},
		{Kind: "B", Outcome: "timeout", Detail: "slow"},
		{Kind: "C", Outcome: "denied", Detail: "403"},
		{Kind: "D", Outcome: "not_asked"},
		{Kind: "E", Outcome: "denied", Namespace: "web"},
		{Kind: "F", Outcome: "not_served"},
	}}
	want := []Failure{{Outcome: "denied", Kinds: []string{"C", "E in web"}, Detail: "403"}, {Outcome: "timeout", Kinds: []string{"B"}, Detail: "slow"}}
	if diff := cmp.Diff(want, c.Failures()); diff != "" || c.Read() != 1 {
		t.Errorf("read %d; %s", c.Read(), diff)
	}
}

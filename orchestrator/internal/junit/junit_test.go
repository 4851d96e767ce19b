package junit

import (
	"bytes"
	"encoding/xml"
	"testing"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func TestOutcomes(t *testing.T) {
	var out bytes.Buffer
	h := New(&out)
	header := report.Header{Repository: "a<b", Commit: "c"}
	rules := []report.Rule{{Rule: "one", Count: 3}, {Rule: "two"}}
	if err := h.Begin(&header); err != nil {
		t.Fatal(err)
	}
	for _, f := range []report.Finding{
		{Rule: "one", Severity: "fatal", Path: "a.yaml", Line: 3, Message: "]]> & \x00 <x>", Trace: []report.Hop{{Kind: "file", Path: "a.yaml", Line: 3}}},
		{Rule: "one", Severity: "warning", Message: "w"},
		{Rule: "one", Severity: "info", Cluster: "hub", Message: "i"},
	} {
		if err := h.Finding(&f); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.End(&report.Census{Header: header, Rules: rules}); err != nil {
		t.Fatal(err)
	}
	var got suites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if got.Tests != 4 || got.Failures != 1 || got.Skipped != 2 || len(got.Suites) != 2 {
		t.Errorf("%d tests, %d failures, %d skipped, %d suites", got.Tests, got.Failures, got.Skipped, len(got.Suites))
	}
	failed := got.Suites[0].Cases[0]
	if failed.Name != "a.yaml:3" || failed.Failure == nil || failed.Failure.Type != "fatal" || failed.Failure.Message != `fatal: ]]> & \u{0} <x>` {
		t.Errorf("the failure is %+v, %+v", failed, failed.Failure)
	}
	if c := got.Suites[1].Cases; len(c) != 1 || c[0].Failure != nil || c[0].Skipped != nil {
		t.Errorf("a rule that found nothing gives %+v", c)
	}
}

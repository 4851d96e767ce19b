package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func TestMatches(t *testing.T) {
	f := report.Finding{Rule: "reach.flux.double_owner", Path: "apps/base/web/deploy.yaml", Cluster: "hub/flux-system/spoke", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, tt := range []struct {
		s    Suppression
		want bool
	}{
		{Suppression{Rule: "reach.flux.double_owner", Path: "**"}, true},
		{Suppression{Rule: "reach.flux.*", Path: "apps"}, true},
		{Suppression{Rule: "reach.*.double_owner", Path: "apps/base/"}, true},
		{Suppression{Rule: "*", Path: "apps/*/web/*.yaml"}, true},
		{Suppression{Rule: "*", Path: "apps/*"}, true}, // the directory apps/base
		{Suppression{Rule: "*", Path: "apps/base/web/deploy.yaml"}, true},
		{Suppression{Rule: "*", Object: "Deployment/shop/*"}, true},
		{Suppression{Rule: "*", Object: "*/shop/web", Cluster: "hub/**"}, true},
		{Suppression{Rule: "*", Path: "**", Cluster: "hub/flux-system/spoke"}, true},
		{Suppression{Rule: "reach.flux.double", Path: "**"}, false},
		{Suppression{Rule: "*", Path: "app"}, false},
		{Suppression{Rule: "*", Path: "*/web"}, false},
		{Suppression{Rule: "*", Path: "base"}, false},
		{Suppression{Rule: "*", Object: "Deployment/web"}, false},
		{Suppression{Rule: "*", Object: "Deployment/*"}, false},
		{Suppression{Rule: "*", Path: "apps", Object: "Service/**"}, false},
		{Suppression{Rule: "*", Path: "apps", Cluster: "hub"}, false},
	} {
		if got := tt.s.matches(&f); got != tt.want {
			t.Errorf("%+v: %v", tt.s, got)
		}
	}
	nowhere := report.Finding{Rule: "r", Kind: "Namespace", Name: "x"}
	if !(&Suppression{Rule: "r", Path: "**"}).matches(&nowhere) || !(&Suppression{Rule: "r", Object: "Namespace/x"}).matches(&nowhere) {
		t.Error("what has no path or no namespace cannot be suppressed")
	}
	if (&Suppression{Rule: "r", Path: "a"}).matches(&nowhere) {
		t.Error("a path matches what has none")
	}
}

// TestSettle: the counts, the rules and the two lists say one thing, the order is
// the census's, and nothing is lost.
func TestSettle(t *testing.T) {
	finding := func(rule, severity, path string) *report.Finding {
		return &report.Finding{Rule: rule, Severity: severity, Path: path, Count: 1}
	}
	found := func() []*report.Finding {
		return []*report.Finding{
			finding("b", "error", "x"), finding("a", "warning", "x"), finding("a", "warning", "x"), finding("a", "info", "y"),
			finding("z", "fatal", "late"), // comes beside the census's own
		}
	}
	var known report.Fingerprints
	first := known.Of(finding("a", "warning", "x"))
	r := New("2027-01-01", []Suppression{
		{Rule: "b", Path: "x", Expires: "2026-12-31", Reason: "over", Line: 3},
		{Rule: "a", Path: "y", Expires: "2027-01-01", Reason: "last day"},
		{Rule: Expired, Path: "**", Expires: "2030-01-01", Reason: "to hide that it is over"},
	}, &Baseline{Format: "jsonl", findings: map[string]string{first: "warning", "gone": "info"}})
	open, hidden := r.Settle(found(), func(f *report.Finding) { f.Path = "renamed-" + f.Path })
	if len(open)+len(hidden) != 6 {
		t.Fatalf("%d open, %d hidden", len(open), len(hidden))
	}
	var got []string
	for _, f := range open {
		got = append(got, f.Severity+" "+f.Rule+" "+f.Path)
		if len(f.Fingerprint) != 32 {
			t.Errorf("fingerprint %q", f.Fingerprint)
		}
	}
	// The baseline is of names as they are written, so nothing is known here.
	want := []string{
		"fatal z renamed-late", "error b renamed-x", "warning a renamed-x", "warning a renamed-x",
		"warning reach.config.suppression_expired renamed-",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	c := &report.Census{Rules: []report.Rule{{Rule: "a", Count: 3}, {Rule: "b", Count: 1}, {Rule: "z", Count: 1}}}
	r.Amend(c, func(any) {})
	if diff := cmp.Diff([]report.Rule{
		{Rule: "a", Count: 2, Hidden: 1},
		{Rule: "b", Count: 1},
		{Rule: Expired, Severity: "warning", Count: 1, Doc: expiredDoc},
		{Rule: "z", Count: 1},
	}, c.Rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.Counts.Findings != 5 || c.Counts.FindingsSuppressed != 1 || c.Counts.FindingsKnown != 0 || len(c.Notes) != 1 {
		t.Errorf("%+v, notes %q", c.Counts, c.Notes)
	}
	if diff := cmp.Diff(report.Baseline{Format: "jsonl", Findings: 2, Gone: 2}, c.Review.Baseline); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s := c.Review.Suppressions; !s[0].Expired || s[0].Findings != 1 || s[1].Expired || s[2].Findings != 0 {
		t.Errorf("%+v", s)
	}

	// With names as they were, the baseline knows one of the two that are alike.
	r = New("2027-01-01", nil, &Baseline{Format: "jsonl", findings: map[string]string{first: "warning"}})
	open, hidden = r.Settle(found(), func(*report.Finding) {})
	if len(open) != 4 || len(hidden) != 1 || hidden[0].By != byBaseline || hidden[0].Path != "x" {
		t.Errorf("%d open, hidden %+v", len(open), hidden)
	}
	// It does not know what got worse.
	r = New("2027-01-01", nil, &Baseline{Format: "jsonl", findings: map[string]string{first: "info"}})
	if _, hidden = r.Settle(found(), func(*report.Finding) {}); len(hidden) != 0 {
		t.Errorf("hidden %+v", hidden)
	}
}

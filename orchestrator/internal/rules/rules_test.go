package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// TestCatalogueIsWhole: every rule of the analyser is explained, and nothing else
// is.
func TestCatalogueIsWhole(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join("..", "..", "..", "analyser", "internal", "finding", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatal("the rules of the analyser are not where they were", err)
	}
	name := regexp.MustCompile(`(?s)Name:\s+"(reach\.[^"]+)",.{0,600}?Severity:\s+(\w+),`)
	found := 0
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			found++
			if r := Find(m[1], ""); r.Why == "" {
				t.Errorf("%s is not in rules.yaml", m[1])
			} else if !strings.EqualFold(r.Severity, m[2]) {
				t.Errorf("%s is %s in rules.yaml, %s in the analyser", m[1], r.Severity, m[2])
			}
		}
	}
	// The orchestrator's own.
	for _, name := range []string{"reach.config.suppression_expired", "reach.graph.defect"} {
		if found++; Find(name, "").Why == "" {
			t.Errorf("%s is not in rules.yaml", name)
		}
	}
	if found != len(All()) || found < 10 {
		t.Errorf("%d rules in the analyser and here, %d in rules.yaml", found, len(All()))
	}
}

func TestEveryEntryIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.Rule] {
			t.Errorf("%s stands twice", r.Rule)
		}
		seen[r.Rule] = true
		if !slices.Contains(report.Severities(), r.Severity) {
			t.Errorf("%s has the severity %q", r.Rule, r.Severity)
		}
		for field, text := range map[string]string{
			"title": r.Title, "what": r.What, "why": r.Why, "consequence": r.Consequence, "remedy": r.Remedy,
		} {
			if text == "" {
				t.Errorf("%s has no %s", r.Rule, field)
			}
		}
	}
}

func TestFindUnknown(t *testing.T) {
	r := Find("reach.other.new_rule", "It is new.")
	if r.Title != "new rule" || r.What != "It is new." || r.Question {
		t.Errorf("unexpected: %+v", r)
	}
}

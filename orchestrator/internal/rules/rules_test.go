package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestCatalogueIsWhole: every rule of the analyser is explained.
func TestCatalogueIsWhole(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join("..", "..", "..", "analyser", "internal", "finding", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatal("the rules of the analyser are not where they were", err)
	}
	name := regexp.MustCompile(`Name:\s+"(reach\.[^"]+)"`)
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
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d rules found in the analyser", found)
	}
}

func TestEveryEntryIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.Rule] {
			t.Errorf("%s stands twice", r.Rule)
		}
		seen[r.Rule] = true
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

package rules

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

var update = flag.Bool("update", false, "write catalogue.go from rules.yaml")

// TestCatalogueIsWhatIsWritten: catalogue.go says what rules.yaml says.
func TestCatalogueIsWhatIsWritten(t *testing.T) {
	var written []Rule
	if err := yaml.UnmarshalStrict([]byte(Text), &written); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("// Code generated from rules.yaml by go test -update. DO NOT EDIT.\n\npackage rules\n\nvar catalogue = []Rule{\n")
	for _, r := range written {
		b.WriteString("\t{\n")
		fields := reflect.ValueOf(r)
		for i := range fields.NumField() {
			if f := fields.Field(i); !f.IsZero() {
				fmt.Fprintf(&b, "\t\t%s: %#v,\n", fields.Type().Field(i).Name, f)
			}
		}
		b.WriteString("\t},\n")
	}
	b.WriteString("}\n")
	want, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("catalogue.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(written, All()); diff != "" {
		t.Errorf("catalogue.go is not what rules.yaml says, run go test ./orchestrator/internal/rules -update (-yaml +go):\n%s", diff)
	}
}

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

package summary

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// large is a census with more of everything than a summary shows.
func large() *report.Digest {
	d := &report.Digest{}
	d.Begin(&report.Header{
		Repository: "repository", Revision: "main", Commit: strings.Repeat("a", 40),
		CommitTime: "2025-11-30T10:53:20Z", Names: "alias", Shallow: true,
		Walls: []report.Wall{{Name: "imports", Stands: true}, {Name: "symbols", Detail: "built without"}},
	})
	c := &report.Census{Notes: []string{"one note", "another one that is long enough to be wrapped when the terminal is as narrow as it can get"}}
	for i := range 30 {
		cluster := report.Cluster{Name: fmt.Sprintf("spoke-%d", i), Role: "spoke", ControllerCluster: "hub-1", Flavour: "aks", Platform: "azure"}
		if i == 29 {
			cluster = report.Cluster{Name: "hub-1", Role: "hub", Flavour: "unknown", Platform: "unknown"}
		}
		c.Clusters = append(c.Clusters, cluster)
		d.Placement(&report.Placement{Class: "local", Cluster: cluster.Name})
		d.Coverage(&report.CoverageRow{
			Root: fmt.Sprintf("clusters/a-very-long-name-of-a-cluster-%d/infrastructure/controllers", i), Clusters: []string{cluster.Name},
			Files: 100, Analysable: 100 - i, Unresolved: i,
		})
		d.Kustomization(&report.Kustomization{
			Namespace: "flux-system", Name: "apps", Cluster: cluster.Name, State: "failed", Reason: "build_failed",
			Detail: "a detail that goes on for so long that it does not fit into a line of any width that a person would choose for a terminal window",
		})
		rule := fmt.Sprintf("reach.flux.rule_%d", i)
		c.Rules = append(c.Rules, report.Rule{Rule: rule, Severity: "warning", Count: i})
		for range i {
			d.Finding(&report.Finding{Rule: rule, Severity: report.Severities()[i%4], Path: "clusters/a/b.yaml", Line: 3, Message: "a message about what follows from it, which is longer than a line"})
		}
	}
	c.Roots = []report.Root{{Cluster: "hub-1", Path: ""}}
	c.Counts = report.Counts{
		Files: 3000, Analysable: 2565, Unresolved: 435, Placements: 30, MultiPlacement: 2, Kustomizations: 30, Objects: 5,
		PlacementsByClass: map[string]int{"local": 30}, KustomizationsByState: map[string]int{"failed": 30},
		ObjectsByVerdict: map[string]int{"in_inventory": 4, "abstain": 1}, Findings: 435, FindingsBySeverity: map[string]int{"error": 435},
	}
	d.Object(&report.Object{Verdict: "abstain", Reason: "no_access"})
	d.File(&report.File{Analysis: "unresolved", Reason: "build_failed"})
	kinds := map[string]int{}
	for i := range 20 {
		kinds[fmt.Sprintf("Kind%d.example.io", i)] = i + 1
	}
	c.Packs = []report.Pack{{Name: "openshift", Objects: 210, Files: 7, Kinds: kinds}}
	d.End(c)
	return d
}

func render(t *testing.T, o Options) string {
	t.Helper()
	var out strings.Builder
	if err := Text(&out, large(), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFitsTheTerminal: no line is wider than the terminal, tables included.
func TestFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 100, 120, 200} {
		for line := range strings.Lines(render(t, Options{Width: width, Folder: "out"})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
	}
	if !strings.Contains(render(t, Options{}), "clusters/a-very-long-name-of-a-cluster-29/infrastructure/controllers") {
		t.Error("a path is shortened although nothing limits the width")
	}
	// However narrow, it ends.
	render(t, Options{Width: 1})
}

// TestShort: a summary of a large census is still read in half a minute.
func TestShort(t *testing.T) {
	text := render(t, Options{Width: 100, Folder: "out"})
	if n := strings.Count(text, "\n"); n > 110 {
		t.Errorf("%d lines", n)
	}
	words := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"\n  hub-1    hub    (top)",
		"  and 20 more\n",
		"22 roots more, with fewer files that are not analysable",
		"hub-1            100     71  71%", // the worst row
		"  and 27 more in kustomizations.jsonl",
		"and 5 rules more in report.md",
		"and 15 kinds more",
		"handling the pack openshift would help most: at most 7 files more analysable",
		"0 found by flux.rule_0",
		"abstained because: 1 no_access",
		"shallow",
	} {
		if !strings.Contains(text, want) && !strings.Contains(words, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestEverySeverityIsShown: however many rules find something, none of a milder
// severity is crowded out, and questions stand apart.
func TestEverySeverityIsShown(t *testing.T) {
	d := large()
	for _, f := range []struct{ rule, severity string }{
		{"reach.rbac.privileged_subject", "warning"}, {"reach.flux.peer_asymmetry", "info"}, {"reach.image.mutable_tag", "info"},
	} {
		d.Census.Rules = append(d.Census.Rules, report.Rule{Rule: f.rule, Severity: f.severity, Count: 1})
		if err := d.Finding(&report.Finding{Rule: f.rule, Severity: f.severity, Message: "asked: " + f.rule}); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := Text(&out, d, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	mistakes, questions, _ := strings.Cut(text, "\nFor you to decide  1 warning, 2 info\n")
	_, mistakes, _ = strings.Cut(mistakes, "\nFindings  ")
	for _, severity := range report.Severities() {
		if n := strings.Count(mistakes, "\n  "+severity+" "); n != 6 {
			t.Errorf("%d rules of severity %s are shown", n, severity)
		}
	}
	if !strings.Contains(mistakes, "; 3 for you to decide, below\n") || strings.Contains(mistakes, "privileged_subject") {
		t.Errorf("questions are not apart:\n%s", text)
	}
	for _, rule := range []string{"reach.rbac.privileged_subject", "reach.flux.peer_asymmetry", "reach.image.mutable_tag"} {
		if !strings.Contains(questions, rule) || !strings.Contains(questions, "asked: "+rule) {
			t.Errorf("%s is not asked:\n%s", rule, text)
		}
	}
}

// TestColor: colours change nothing but colours, and there are none without
// being asked for.
func TestColor(t *testing.T) {
	plain, colored := render(t, Options{Width: 100}), render(t, Options{Width: 100, Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("escape sequences without a terminal")
	}
	if plain == colored {
		t.Error("no colour")
	}
	if diff := cmp.Diff(plain, regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, "")); diff != "" {
		t.Errorf("(-plain +colored)\n%s", diff)
	}
}

func TestAge(t *testing.T) {
	day := 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Hour:       "in the future by this machine's clock",
		30 * time.Second: "just now",
		90 * time.Second: "1 minute ago",
		59 * time.Minute: "59 minutes ago",
		time.Hour:        "1 hour ago",
		47 * time.Hour:   "47 hours ago",
		2 * day:          "2 days ago",
		59 * day:         "59 days ago",
		61 * day:         "2 months ago",
		729 * day:        "23 months ago",
		731 * day:        "2 years ago",
		3653 * day:       "10 years ago",
	} {
		if got := Age(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", []string{""}},
		{"a b", []string{"a b"}},
		{"aaaaaaaaa bbbbbbbbb ccccccccc", []string{"aaaaaaaaa bbbbbbbbb", "ccccccccc"}},
		{strings.Repeat("x", 30) + " y", []string{strings.Repeat("x", 30), "y"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.in, 20)); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"clusters/prod/apps", 30, "clusters/prod/apps"},
		{"clusters/prod/apps", 10, "clu…d/apps"},
		{"größe/größe", 5, "g…öße"},
		{"abcdef", 3, "abc"},
	} {
		if got := middle(c.in, c.width); got != c.want {
			t.Errorf("%q in %d columns: got %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestFolded(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"apps", 10, "apps"},
		{"81 remote_direct, 10 remote_hub_render", 22, "81 remote_direct,\n10 remote_hub_render"},
		{"infrastructure/openshift/hub-east", 24, "infrastructure/\nopenshift/hub-east"},
		{"infrastructure/openshift/hub-west", 25, "infrastructure/openshift/\nhub-west"},
		{strings.Repeat("x", 30), 10, "xxxxxxxxxx\nxxx…xxxxxx"},
		{strings.Repeat("a", 40) + strings.Repeat("b", 30), 10, "aaaaaaaaaa\naaa…bbbbbb"},
	} {
		if got := folded(c.in, c.width); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

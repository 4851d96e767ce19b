package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// records are a census of one hub and one spoke, with a name of every kind that
// a repository may choose.
func records(name string) []any {
	header := report.Header{
		Schema: report.Schema, Tool: report.Tool{Name: "reach", Version: "1", AnalyserVersion: "1"},
		Names: "alias", Repository: name, Revision: "HEAD", Commit: strings.Repeat("a", 40), CommitTime: "2026-01-02T03:04:05Z",
		Walls: []report.Wall{{Name: "imports", Stands: true}, {Name: "seccomp", Detail: name}},
	}
	trace := []report.Hop{
		{Kind: "file", Path: name + "/a.yaml", Line: 3},
		{Kind: "kustomization", Path: name + "/k.yaml", Line: 1, Name: "x/" + name, Cluster: name},
		{Kind: "cluster", Name: name, Cluster: name},
	}
	return []any{
		&header,
		&report.Kustomization{Cluster: name, Namespace: "x", Name: name, State: "failed", Reason: "build_failed", Detail: name},
		&report.Placement{Path: name + "/a.yaml", Role: "object", Class: "remote_direct", Cluster: "spoke of " + name, ControllerCluster: name, Controller: "x/" + name, State: "resolved", Trace: trace},
		&report.Object{Cluster: "spoke of " + name, ControllerCluster: name, Controller: "x/" + name, ControllerKind: "Kustomization", Kind: "Secret", Namespace: "x", Name: name, Origin: []report.Location{{Path: name + "/a.yaml", Line: 3}}, Verdict: "not_in_inventory"},
		&report.File{Path: name + "/a.yaml", Role: "object", Analysis: "analysable", Placements: 1},
		&report.Finding{Rule: "reach.flux.path_missing", Severity: "error", Path: name + "/a.yaml", Line: 3, Cluster: name, Message: name + " is not there", Remedy: "See " + name, Count: 1, Trace: trace},
		&report.CoverageRow{Root: name, Clusters: []string{name}, Files: 1, Analysable: 1},
		&report.Census{
			Header:   header,
			Clusters: []report.Cluster{{Name: name, Role: "hub"}, {Name: "spoke of " + name, Role: "spoke", ControllerCluster: name, KubeConfig: "Secret x/" + name}},
			Counts:   report.Counts{Files: 1, Analysable: 1, Placements: 1, Objects: 1, Findings: 1, Kustomizations: 1, PlacementsByClass: map[string]int{"remote_direct": 1}, FindingsBySeverity: map[string]int{"error": 1}, ObjectsByVerdict: map[string]int{"not_in_inventory": 1}},
			Rules:    []report.Rule{{Rule: "reach.flux.path_missing", Severity: "error", Count: 1, Doc: "A path."}},
			Notes:    []string{name},
		},
	}
}

func render(t *testing.T, records []any) string {
	t.Helper()
	var out bytes.Buffer
	h := New(&out)
	for _, r := range records {
		if err := report.Dispatch(h, r); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestHostileNames: nothing that a repository chooses is markup, script or
// style.
func TestHostileNames(t *testing.T) {
	plain := render(t, records("quiet"))
	for _, name := range []string{
		`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `'--><!--`, `</style><b>`,
		"a\u202eb\x00\x1b[31m", `{{.}}`, `javascript:alert(1)`, `]]>`, `<!--<script>`,
	} {
		page := render(t, records(name))
		for _, mark := range []string{"<script", "</script", "<style", "<img", "<svg", "<b>", "<!--", "onload=", "onerror=", "href="} {
			want := strings.Count(plain, mark)
			// Text such as onload= may stand there, as text.
			if mark[0] == '<' && strings.Count(page, mark) != want {
				t.Errorf("%q: %s stands there %d times, want %d", name, mark, strings.Count(page, mark), want)
			}
		}
		if strings.ContainsAny(page, "\x00\x1b\u202e") {
			t.Errorf("%q: a character that steers or hides is in the page", name)
		}
	}
}

// TestSelfContained: the page names nothing that a browser would fetch.
func TestSelfContained(t *testing.T) {
	page := strings.ReplaceAll(render(t, records("quiet")), "url(#tip)", "")
	for _, bad := range []string{" src=", "url(", "@import", "http://", "https://", "<link", "<base", "<iframe", "fetch(", "XMLHttpRequest"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"default-src &#39;none&#39;", strings.ReplaceAll(digest(script), "+", "&#43;"), `lang="en"`, "<caption>", `class="skip"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

func TestSameBytes(t *testing.T) {
	first, second := render(t, records("a")), render(t, records("a"))
	if first != second {
		t.Error("the same census gives two pages")
	}
}

// TestReadWithoutScript: what matters is in the page as text.
func TestReadWithoutScript(t *testing.T) {
	page := render(t, records("quiet"))
	text, _, _ := strings.Cut(page, `<script type="application/json"`)
	for _, want := range []string{
		"1 of 1 files analysable", "1 placement", "quiet/a.yaml:3", "quiet is not there", "See quiet", "remote direct",
		"2026-01-02 03:04:05 UTC", "not standing: seccomp", "A path.", "no language model", "quiet/k.yaml:1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestData: the data of the script is JSON whatever the names are.
func TestData(t *testing.T) {
	page := render(t, records(`</script>"'\`+"\u2028&"))
	_, rest, _ := strings.Cut(page, `id="data">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var out map[string]any
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatal(err)
	}
	if n := len(out["place"].([]any)); n != 3 {
		t.Errorf("%d numbers for one placement", n)
	}
}

// TestNamesAreFound: the check for real names reads the page as people do, and a
// cluster may bear a word of the page itself.
func TestNamesAreFound(t *testing.T) {
	mapping := alias.Mapping{Clusters: map[string]string{"prod-eu": "hub-1", "button": "hub-2"}}
	check := mapping.Check().Without(own())
	if found := check.Prose(render(t, records("quiet"))); len(found) > 0 {
		t.Errorf("%q is found in a page that does not hold it", found)
	}
	if found := check.Prose(render(t, records("clusters/prod-eu"))); !slices.Contains(found, "prod-eu") {
		t.Errorf("found %q, want prod-eu", found)
	}
}

// TestWhatIsLeftOutIsSaid: a page that cannot hold everything says so.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	all := records("quiet")
	many := []any{all[0]}
	for i := range maxFindings + 5 {
		many = append(many, &report.Finding{Rule: "reach.flux.path_missing", Severity: "error", Message: fmt.Sprint("m", i)})
	}
	census := *all[len(all)-1].(*report.Census)
	census.Counts.Findings = maxFindings + 5
	page := render(t, append(many, &census))
	if !strings.Contains(page, "leaves out 5 findings") {
		t.Error("the page does not say what its search leaves out")
	}
	if strings.Contains(page, `"m20004"`) {
		t.Error("the page holds more than it may")
	}
}

// TestEmptyCensus: a census of nothing is a page as well.
func TestEmptyCensus(t *testing.T) {
	header := report.Header{Names: "alias", Repository: "r", Commit: "c"}
	page := render(t, []any{&header, &report.Census{
		Header: header, ProposedRoots: []report.ProposedRoot{{Cluster: "hub", Path: "clusters/b", Reason: "12 manifests"}},
	}})
	for _, want := range []string{"No root is known", "No cluster is known", "0 of 0 files", "<code>--root hub=clusters/b</code>: 12 manifests"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestNamesKeepTheirUnderscores: only words of the contract are written as people
// write them.
func TestNamesKeepTheirUnderscores(t *testing.T) {
	page := render(t, records("my_hub"))
	if i := strings.Index(page, "my hub"); i >= 0 {
		t.Errorf("a name is written another way: %s", page[max(0, i-100):i+50])
	}
	if !strings.Contains(page, ">remote direct spoke of my_hub</span>") {
		t.Error("the page does not say where the file lands")
	}
}

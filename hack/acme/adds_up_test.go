package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// expectation is what the self-check needs of a golden census.
type expectation struct {
	files  int // below repo/
	counts map[string]any
	lines  map[string][]map[string]any
}

func readExpectation(a *txtar.Archive) (*expectation, []string) {
	e := &expectation{lines: map[string][]map[string]any{}}
	var bad []string
	for _, f := range a.Files {
		name, want := strings.CutPrefix(f.Name, "want/")
		switch {
		case strings.HasPrefix(f.Name, "repo/"):
			e.files++
		case !want || name == "README":
		case name == "counts.yaml":
			if err := yaml.UnmarshalStrict(f.Data, &e.counts); err != nil {
				bad = append(bad, name+": "+err.Error())
			}
		default:
			e.lines[name] = []map[string]any{}
			for line := range bytes.Lines(f.Data) {
				if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
					continue
				}
				var r map[string]any
				if err := json.Unmarshal(line, &r); err != nil || len(r) == 0 {
					bad = append(bad, name+": expects nothing: "+string(line))
					continue
				}
				e.lines[name] = append(e.lines[name], r)
			}
		}
	}
	return e, bad
}

// addsUp holds an expectation against itself: the numbers that a person wrote
// down in two places must agree. It says nothing about reach.
func (e *expectation) addsUp() []string {
	var out []string
	check := func(what string, a, b float64) {
		if a != b {
			out = append(out, what)
		}
	}
	number := func(key string) (float64, bool) { n, ok := e.counts[key].(float64); return n, ok }
	sum := func(key string) (total float64) {
		m, _ := e.counts[key].(map[string]any)
		for _, v := range m {
			n, _ := v.(float64)
			total += n
		}
		return total
	}
	if n, ok := number("files_in_commit"); ok {
		check("files below repo/ and files_in_commit", float64(e.files), n)
	}
	states := []string{"analysable", "seen_not_analysed", "unresolved", "uncovered"}
	files, whole := number("files")
	total, given := 0.0, 0
	for _, key := range states {
		if n, ok := number(key); ok {
			total, given = total+n, given+1
		}
	}
	// A case may leave out a state that has no file.
	if whole && given > 1 {
		check("the states of the files and files", total, files)
	}
	if n, ok := number("placements"); ok {
		check("placements_by_class and placements", sum("placements_by_class"), n)
	}
	if n, ok := number("kustomizations"); ok && e.counts["kustomizations_by_state"] != nil {
		check("kustomizations_by_state and kustomizations", sum("kustomizations_by_state"), n)
	}
	for _, name := range []string{"kustomizations", "helmreleases", "findings"} {
		lines, ok := e.lines[name+".jsonl"]
		if n, counted := number(name); ok && counted {
			check("lines of "+name+" and their count", float64(len(lines)), n)
		}
	}
	if lines, ok := e.lines["findings.jsonl"]; ok && e.counts["findings_by_rule"] != nil {
		byRule := map[string]float64{}
		for _, l := range lines {
			rule, _ := l["rule"].(string)
			byRule[rule]++
		}
		rules, _ := e.counts["findings_by_rule"].(map[string]any)
		for rule, n := range byRule {
			want, _ := rules[rule].(float64)
			check("lines of "+rule+" and findings_by_rule", n, want)
		}
		check("lines of findings and findings_by_rule", float64(len(lines)), sum("findings_by_rule"))
	}
	for column, key := range map[string]string{
		"files": "files", "analysable": "analysable", "unresolved": "unresolved", "uncovered": "uncovered",
		"render_inputs": "render_inputs", "seen_not_analysed_files": "seen_not_analysed",
	} {
		total, everywhere := 0.0, len(e.lines["coverage.jsonl"]) > 0
		for _, l := range e.lines["coverage.jsonl"] {
			n, ok := l[column].(float64)
			everywhere, total = everywhere && ok, total+n
		}
		if n, ok := number(key); ok && everywhere {
			check("the rows of coverage and "+key, total, n)
		}
	}
	return out
}

func TestExpectationsAddUp(t *testing.T) {
	archives, err := filepath.Glob("../../testdata/census/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no golden census (%v)", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			e, bad := readExpectation(a)
			for _, what := range append(bad, e.addsUp()...) {
				t.Errorf("does not add up: %s", what)
			}
			if e.counts == nil && len(e.lines) == 0 {
				t.Error("expects nothing")
			}
		})
	}
}

// Every relation that addsUp knows is convicted when it is broken.
func TestAddsUpConvicts(t *testing.T) {
	const archive = `claim
-- repo/a.yaml --
-- repo/b.yaml --
-- want/counts.yaml --
files_in_commit: 2
files: 2
analysable: 1
uncovered: 1
placements: 2
placements_by_class: {local: 1, uncovered: 1}
kustomizations: 1
kustomizations_by_state: {resolved: 1}
findings_by_rule: {r: 1}
-- want/kustomizations.jsonl --
{"name": "x"}
-- want/findings.jsonl --
{"rule": "r"}
-- want/coverage.jsonl --
{"root": "", "files": 2}
`
	tests := []struct{ name, old, new string }{
		{"nothing", "claim", "claim"},
		{"files_in_commit", "files_in_commit: 2", "files_in_commit: 3"},
		{"the states", "analysable: 1", "analysable: 2"},
		{"placements_by_class", "local: 1", "local: 2"},
		{"kustomizations_by_state", "resolved: 1", "resolved: 2"},
		{"lines of kustomizations", `{"name": "x"}`, "# nothing"},
		{"lines of s", `{"rule": "r"}`, `{"rule": "s"}`},
		{"the rows", `"files": 2`, `"files": 1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, bad := readExpectation(txtar.Parse([]byte(strings.Replace(archive, test.old, test.new, 1))))
			got := strings.Join(append(bad, e.addsUp()...), "\n")
			if test.name == "nothing" && got != "" || test.name != "nothing" && !strings.Contains(got, test.name) {
				t.Errorf("convicted of %q", got)
			}
		})
	}
}

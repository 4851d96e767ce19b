// Package golden reads golden censuses and compares them with what a census
// says. testdata/census/README.md has the format.
package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// Case is one golden census.
type Case struct {
	Claim string
	// Flags of `reach census`, words.
	Flags []string
	// Config is reach.yaml, nil when there is none.
	Config []byte
	// Facts is the file of facts, nil when there is none; COMMIT in it stands for
	// the id of the commit.
	Facts []byte
	// Files of the repository by path.
	Files map[string][]byte
	// Special are the entries that are no regular files.
	Special []Special
	want    map[string][]byte
}

// Special is a symbolic link or a submodule. Target is what the link says, or
// the id of the submodule's commit.
type Special struct{ Kind, Path, Target string }

// Record is a line of a report.
type Record = map[string]any

// Census is what a report says, by the names of the files below want/:
// "kustomizations.jsonl" and so on. "counts" has one record.
type Census map[string][]Record

// Parse reads an archive. A case without an expectation is an error.
func Parse(data []byte) (*Case, error) {
	a := txtar.Parse(data)
	c := &Case{Claim: string(a.Comment), Files: map[string][]byte{}, want: map[string][]byte{}}
	lines := 0
	for _, f := range a.Files {
		switch name := f.Name; {
		case name == "flags":
			c.Flags = strings.Fields(string(f.Data))
		case name == "reach.yaml":
			c.Config = f.Data
		case name == "facts":
			c.Facts = f.Data
		case name == "special":
			for line := range strings.Lines(string(f.Data)) {
				s := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
				if len(s) != 3 || s[0] != "symlink" && s[0] != "submodule" {
					return nil, fmt.Errorf("special: %q: want symlink or submodule, path and target with tabs between", line)
				}
				c.Special = append(c.Special, Special{s[0], s[1], s[2]})
			}
		case strings.HasPrefix(name, "repo/"):
			c.Files[strings.TrimPrefix(name, "repo/")] = f.Data
		case strings.HasPrefix(name, "want/"):
			c.want[strings.TrimPrefix(name, "want/")] = f.Data
			if name != "want/README" {
				lines++
			}
		default:
			return nil, fmt.Errorf("%s: a golden census has flags, reach.yaml, facts, special, repo/ and want/", name)
		}
	}
	switch {
	case strings.TrimSpace(c.Claim) == "":
		return nil, fmt.Errorf("the case claims nothing: say in prose what it shows")
	case lines == 0:
		return nil, fmt.Errorf("the case expects nothing: it could not fail")
	}
	return c, nil
}

// complete are the files in which every record must be expected.
var complete = map[string]bool{
	"clusters.jsonl": true, "roots.jsonl": true, "kustomizations.jsonl": true, "helmreleases.jsonl": true,
	"findings.jsonl": true, "coverage.jsonl": true, "placements.jsonl": false, "files.jsonl": false, "objects.jsonl": false,
	"ownership.jsonl": true,
}

// At puts the id of the commit in place of COMMIT in the facts and in what is
// expected.
func (c *Case) At(commit string) {
	put := func(data []byte) []byte { return bytes.ReplaceAll(data, []byte("COMMIT"), []byte(commit)) }
	c.Facts = put(c.Facts)
	for name, data := range c.want {
		c.want[name] = put(data)
	}
}

// Diff compares a census with the expectation and returns what differs, for
// people; nothing when all is as expected.
func (c *Case) Diff(got Census) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.want)) {
		switch whole, known := complete[name]; {
		case name == "README":
		case name == "counts.yaml":
			out = append(out, counts(c.want[name], got)...)
		case known:
			out = append(out, lines(name, c.want[name], got[name], whole)...)
		default:
			out = append(out, "want/"+name+" is not a file of a golden census")
		}
	}
	return out
}

func counts(want []byte, got Census) []string {
	var w Record
	if err := yaml.UnmarshalStrict(want, &w); err != nil {
		return []string{"want/counts.yaml: " + err.Error()}
	}
	have := Record{}
	if len(got["counts"]) == 1 {
		have = got["counts"][0]
	}
	byRule := Record{}
	for _, f := range got["findings.jsonl"] {
		rule, _ := f["rule"].(string)
		n, _ := byRule[rule].(float64)
		byRule[rule] = n + 1
	}
	have = maps.Clone(have)
	have["findings_by_rule"] = byRule
	var out []string
	for _, k := range slices.Sorted(maps.Keys(w)) {
		if !same(w[k], have[k]) {
			out = append(out, fmt.Sprintf("counts: %s is %v, want %v", k, text(have[k]), text(w[k])))
		}
	}
	return out
}

// lines matches every expected line with one record.
func lines(name string, want []byte, records []Record, whole bool) []string {
	var out []string
	used := make([]bool, len(records))
	paths := map[string]bool{}
	for n, line := range bytes.Split(want, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		var w Record
		if err := json.Unmarshal(line, &w); err != nil {
			out = append(out, fmt.Sprintf("want/%s:%d: %v", name, n+1, err))
			continue
		}
		if p, ok := w["path"].(string); ok && name == "placements.jsonl" {
			paths[p] = true
		}
		i := slices.IndexFunc(records, func(Record) bool { return false })
		for j, r := range records {
			if !used[j] && matches(w, r) {
				i = j
				break
			}
		}
		if i < 0 {
			out = append(out, fmt.Sprintf("%s: nothing is %s%s", name, line, nearest(w, records, used)))
			continue
		}
		used[i] = true
	}
	for i, r := range records {
		p, _ := r["path"].(string)
		if !used[i] && (whole || paths[p] && name == "placements.jsonl") {
			out = append(out, fmt.Sprintf("%s: not expected: %s", name, brief(r)))
		}
	}
	return out
}

func matches(w, r Record) bool {
	for k, v := range w {
		if !same(v, r[k]) {
			return false
		}
	}
	return true
}

// same compares values; a missing one is empty, and a map lists all keys that
// are not zero.
func same(want, got any) bool {
	if m, ok := want.(map[string]any); ok {
		g, _ := got.(map[string]any)
		for k := range maps.Keys(g) {
			if !same(orZero(m[k], g[k]), g[k]) {
				return false
			}
		}
		for k, v := range m {
			if !same(v, g[k]) {
				return false
			}
		}
		return true
	}
	if g, ok := got.([]any); ok && len(g) == 0 {
		got = nil
	}
	if got == nil {
		return want == nil || reflect.ValueOf(want).IsZero() || reflect.DeepEqual(want, []any{})
	}
	return reflect.DeepEqual(want, got)
}

func orZero(v, like any) any {
	if v == nil && like != nil {
		return reflect.Zero(reflect.TypeOf(like)).Interface()
	}
	return v
}

// nearest names the record that differs in fewest fields, to make a failure
// readable.
func nearest(w Record, records []Record, used []bool) string {
	best, differ := -1, len(w)
	for i, r := range records {
		n := 0
		for k, v := range w {
			if !same(v, r[k]) {
				n++
			}
		}
		if !used[i] && n < differ {
			best, differ = i, n
		}
	}
	if best < 0 {
		return ""
	}
	var d []string
	for _, k := range slices.Sorted(maps.Keys(w)) {
		if !same(w[k], records[best][k]) {
			d = append(d, fmt.Sprintf("%s=%s", k, text(records[best][k])))
		}
	}
	return "\n      nearest has " + strings.Join(d, " ")
}

func brief(r Record) string {
	short := maps.Clone(r)
	for _, k := range []string{"trace", "message", "remedy", "detail"} {
		delete(short, k)
	}
	return text(short)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

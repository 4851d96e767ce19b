package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseFleets(t *testing.T) {
	got, err := parseFleets("1000x10,300x5:history=20:crds=3")
	if err != nil {
		t.Fatal(err)
	}
	want := []*generated{
		{name: "1000x10", of: [4]int{1000, 10, 1, 0}},
		{name: "300x5-history20-crds3", of: [4]int{300, 5, 20, 3}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(generated{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"1000", "x10", "0x1", "1000x10:age=3", "1000x10:crds=many", "1000x10,"} {
		if list, err := parseFleets(bad); (err == nil) != (bad == "1000x10,") {
			t.Errorf("%q: %v, %v", bad, list, err)
		}
	}
}

// Growth is told for one dimension at a time, from the nearest smaller fleet.
func TestGrowth(t *testing.T) {
	fleet := func(files, clusters int, wall time.Duration, mb int64) result {
		g := &generated{name: "f", of: [4]int{files, clusters, 1, 0}}
		return result{name: "f", fleet: g, census: cost{wall, wall}, analyserMB: mb, pipe: mb}
	}
	results := []result{
		fleet(1000, 10, 100, 10), fleet(4000, 10, 400, 10), fleet(16000, 10, 6400, 20), fleet(4000, 100, 500, 10),
		{name: "named"},
	}
	var out bytes.Buffer
	printGrowth(&out, results)
	want := []string{
		"files    1000 -> 4000 (f): time 2.00, CPU 2.00, memory 1.00, pipe 1.00",
		"files    4000 -> 16000 (f): time 4.00, CPU 4.00, memory 1.41, pipe 1.41",
		"clusters 10 -> 100 (f): time 1.07, CPU 1.07, memory 1.00, pipe 1.00",
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); strings.Contains(line, "->") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, f, ok := results[0].fleet.doubling(results[1].fleet, 1, 8); !ok || math.Abs(f-math.Sqrt(8)) > 1e-9 {
		t.Errorf("eightfold over two doublings is %v", f)
	}
}

// A tool that is faster than the census is a loss, and one sees it.
func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	ms := time.Millisecond
	printMarkdown(&out, []result{{
		name: "a__b", manifests: 3, bytes: 1, pipe: 2_500_000, census: cost{100 * ms, 0}, analyserMB: 20, reachMB: 30,
		others: map[string]cost{"git": {10 * ms, 0}, "parse": {50 * ms, 0}, "krusty": {30 * ms, 0}},
	}}, options{n: 3, tools: []string{"krusty", "flux"}}, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	want := "| a/b | 3 | 100 | 10 (0.1×) | 50 (0.5×) | 30 (**0.30×**) | | 20 + 30 MB | 2.50 MB |\n"
	if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "medians of 3 interleaved runs, 2 January 2026") {
		t.Errorf("got:\n%s", out.String())
	}
	if lines := strings.Split(out.String(), "\n"); strings.Count(lines[0], "|") != strings.Count(lines[2], "|") || strings.Count(lines[1], "|") != strings.Count(lines[2], "|") {
		t.Errorf("the rows have not as many columns:\n%s", out.String())
	}
}

func TestSpread(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "c", "e"}, spread([]string{"a", "b", "c", "d", "e", "f"}, 3)); diff != "" {
		t.Error(diff)
	}
	if got := scaled(6*time.Second, 3, 7); got != 14*time.Second {
		t.Errorf("7 take %v when 3 take 6s", got)
	}
}

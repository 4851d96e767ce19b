package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// compared are what stands beside the census, in the order of the tables.
func (o *options) compared() []string {
	out := []string{"git", "parse"}
	for _, b := range builders {
		if o.has(b) {
			out = append(out, b)
		}
	}
	return out
}

// units are the two figures of a cost.
var units = []struct {
	name string
	of   func(cost) time.Duration
}{
	{"ms", func(c cost) time.Duration { return c.wall }},
	{"CPU ms", func(c cost) time.Duration { return c.cpu }},
}

// printTables prints everything, for a terminal.
func printTables(out io.Writer, results []result, o options) {
	for _, unit := range units {
		t := table.NewWriter()
		t.SetOutputMirror(out)
		header := table.Row{"repository", "manifests", "MB", "census " + unit.name}
		for _, name := range o.compared() {
			header = append(header, name+" "+unit.name)
		}
		header = append(header, "roots (failing)", "Kustomizations (failing)")
		for _, name := range o.compared() {
			header = append(header, name+"/census")
		}
		t.AppendHeader(append(header, "analyser MB", "reach MB", "pipe MB"))
		for _, r := range results {
			row := table.Row{r.name, r.manifests, megabytes(r.bytes), milliseconds(unit.of(r.census))}
			for _, name := range o.compared() {
				row = append(row, milliseconds(unit.of(r.others[name])))
			}
			row = append(row, fmt.Sprintf("%d (%d)", r.roots, r.failing), fmt.Sprintf("%d (%d)", r.kustomizations, r.fluxFailing))
			for _, name := range o.compared() {
				row = append(row, fmt.Sprintf("%.2f", float64(unit.of(r.others[name]))/float64(unit.of(r.census))))
			}
			t.AppendRow(append(row, r.analyserMB, r.reachMB, megabytes(r.pipe)))
		}
		t.Render()
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.2f", float64(n)/1e6) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d.Microseconds())/1000) }

// printMarkdown prints the table of the README, of time as a person waits: behind
// each tool how many times as long as the census it takes. Less than 1 is a loss
// and printed in bold.
func printMarkdown(out io.Writer, results []result, o options, now time.Time) {
	columns := o.compared()
	fmt.Fprintf(out, "| repository | manifests | census | %s | memory analyser + reach | pipe |\n", strings.Join(columns, " | "))
	fmt.Fprintf(out, "|---|---:|---:|%s---:|---:|\n", strings.Repeat("---:|", len(columns)))
	for _, r := range results {
		fmt.Fprintf(out, "| %s | %d | %s |", strings.Replace(r.name, "__", "/", 1), r.manifests, milliseconds(r.census.wall))
		for _, name := range columns {
			c := r.others[name].wall
			if c == 0 || name == "flux" && r.kustomizations == 0 {
				fmt.Fprint(out, " |")
				continue
			}
			ratio := fmt.Sprintf("%.1f×", float64(c)/float64(r.census.wall))
			if c < r.census.wall && !slices.Contains([]string{"git", "parse"}, name) {
				ratio = "**" + fmt.Sprintf("%.2f×", float64(c)/float64(r.census.wall)) + "**"
			}
			fmt.Fprintf(out, " %s (%s) |", milliseconds(c), ratio)
		}
		fmt.Fprintf(out, " %d + %d MB | %s MB |\n", r.analyserMB, r.reachMB, megabytes(r.pipe))
	}
	fmt.Fprintf(out, "\nMilliseconds of wall time, medians of %d interleaved runs, %s, %d cores.\n", o.n, now.UTC().Format("2 January 2006"), cores())
}

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// generated is a fleet of hack/fleet.
type generated struct {
	name string
	// of are how many files, clusters, commits and megabytes of definitions.
	of [4]int
}

// dimensions are the flags of hack/fleet, in the order of generated.of.
var dimensions = [4]string{"files", "clusters", "history", "crds"}

// parseFleets reads the flag -fleets.
func parseFleets(list string) ([]*generated, error) {
	var out []*generated
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		g := &generated{name: strings.NewReplacer(":", "-", "=", "").Replace(text), of: [4]int{0, 0, 1, 0}}
		size, rest, _ := strings.Cut(text, ":")
		files, clusters, _ := strings.Cut(size, "x")
		set := map[string]string{"files": files, "clusters": clusters}
		for option := range strings.SplitSeq(rest, ":") {
			if name, value, ok := strings.Cut(option, "="); ok && (name == "history" || name == "crds") {
				set[name] = value
			} else if option != "" {
				return nil, fmt.Errorf("-fleets: %q is neither history=COMMITS nor crds=MEGABYTES", option)
			}
		}
		for i, name := range dimensions {
			if value, ok := set[name]; ok {
				n, err := strconv.Atoi(value)
				if err != nil || n < 1 {
					return nil, fmt.Errorf("-fleets: %q is not FILESxCLUSTERS[:history=COMMITS][:crds=MEGABYTES]", text)
				}
				g.of[i] = n
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// generate makes the fleet's repository.
func (g *generated) generate(repo string) error {
	if err := os.MkdirAll(repo, 0o755); err != nil {
		return err
	}
	args := []string{"run", "./hack/fleet"}
	for i, name := range dimensions {
		args = append(args, "-"+name, strconv.Itoa(g.of[i]))
	}
	if b, err := exec.Command("go", append(args, repo)...).CombinedOutput(); err != nil {
		return fmt.Errorf("making a fleet: %w: %s", err, b)
	}
	return nil
}

// doubling returns how much a quantity grows, from one fleet to another, for each
// doubling of the one dimension in which the other is larger. ok is false when
// they differ in none or in several.
func (g *generated) doubling(to *generated, from, now float64) (dimension string, factor float64, ok bool) {
	at := -1
	for i := range g.of {
		if g.of[i] == to.of[i] {
			continue
		}
		if at >= 0 || g.of[i] < 1 || to.of[i] < g.of[i] {
			return "", 0, false
		}
		at = i
	}
	if at < 0 || from <= 0 {
		return "", 0, false
	}
	doublings := math.Log2(float64(to.of[at]) / float64(g.of[at]))
	return dimensions[at], math.Pow(now/from, 1/doublings), true
}

// printGrowth prints how fleets grow, each from the nearest that is smaller in one
// dimension.
func printGrowth(out io.Writer, results []result) {
	printed := false
	for i := range results {
		to := &results[i]
		for d := range dimensions {
			var from *result
			for j := range results {
				f := &results[j]
				if f.fleet == nil || to.fleet == nil || (from != nil && f.fleet.of[d] <= from.fleet.of[d]) {
					continue
				}
				if name, _, ok := f.fleet.doubling(to.fleet, 1, 1); ok && name == dimensions[d] {
					from = f
				}
			}
			if from == nil {
				continue
			}
			if !printed {
				fmt.Fprintln(out, "\nGrowth for each doubling (2.00 is linear):")
				printed = true
			}
			factor := func(from, now float64, of *result) float64 {
				_, f, _ := of.fleet.doubling(to.fleet, from, now)
				return f
			}
			fmt.Fprintf(out, "  %-8s %d -> %d (%s): time %.2f, CPU %.2f, memory %.2f, pipe %.2f\n", dimensions[d], from.fleet.of[d], to.fleet.of[d], to.name,
				factor(float64(from.census.wall), float64(to.census.wall), from), factor(float64(from.census.cpu), float64(to.census.cpu), from),
				factor(float64(from.analyserMB+from.reachMB), float64(to.analyserMB+to.reachMB), from), factor(float64(from.pipe), float64(to.pipe), from))
		}
	}
}

package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// How many lines of a kind the summary shows; the report has the rest.
const (
	shownClusters = 10
	shownRoots    = 8
	shownTroubled = 3
	shownRules    = 6 // of each severity
	shownExamples = 2 // of a rule, when there are three rules at most
	shownKinds    = 5
	shownNotes    = 5
)

// explained is of how many rules of a severity an example is shown.
var explained = map[string]int{"fatal": 2, "error": 2, "warning": 1}

// The words of the contract in the order in which they are shown.
var (
	classes = []string{"local", "remote_direct", "remote_hub_render", "uncovered", "unresolved"}
	states  = []string{"resolved", "suspended", "failed", "path_missing", "external", "unresolved", "spoke_applied"}
)

func (p *printer) clusters(d *report.Digest) {
	roles := map[string]int{}
	for _, c := range d.Census.Clusters {
		roles[c.Role]++
	}
	var parts []string
	for _, role := range []string{"hub", "spoke", "cluster"} {
		if roles[role] > 0 {
			parts = append(parts, report.Plural(roles[role], role))
		}
	}
	if len(parts) == 0 {
		p.heading("Clusters", "none: nothing says who reconciles this repository")
		for _, n := range d.Census.Notes[:min(shownNotes, len(d.Census.Notes))] {
			p.text(2, report.Printable(n))
		}
		p.proposedRoots(d.Census.ProposedRoots)
		return
	}
	p.heading("Clusters", "%s", strings.Join(parts, ", "))
	t := newTable(column{}, column{}, column{title: "reconciled from"}, column{optional: true}, column{title: "what lands there"})
	for i, c := range hubsFirst(d.Census.Clusters) {
		if i == shownClusters {
			break
		}
		from := rootPaths(d.Census.Roots, c.Name)
		if c.Role == "spoke" || from == "" {
			from = report.Printable(reachedFrom(c))
		}
		t.row(report.Printable(c.Name), c.Role, from, platform(c), landed(d.Landed[c.Name]))
	}
	t.print(p, 2)
	if more := len(d.Census.Clusters) - shownClusters; more > 0 {
		p.line("  and %d more", more)
	}
}

// proposedRoots prints what may be meant, a line each that can be pasted and so
// is not folded.
func (p *printer) proposedRoots(proposed []report.ProposedRoot) {
	if len(proposed) == 0 {
		return
	}
	p.heading("Roots?", "nothing says which; add the flag of each that is one and take the census again")
	for _, r := range proposed {
		p.line("  %s", r.Flag())
		p.text(6, report.Printable(r.Reason))
	}
}

// reachedFrom are the clusters whose controllers reach c, each once.
func reachedFrom(c report.Cluster) string {
	var out []string
	for _, w := range c.Ways() {
		if !slices.Contains(out, w.ControllerCluster) {
			out = append(out, w.ControllerCluster)
		}
	}
	return strings.Join(out, ", ")
}

// hubsFirst lists hubs, then clusters that reconcile themselves, then spokes.
func hubsFirst(clusters []report.Cluster) []report.Cluster {
	rank := map[string]int{"hub": 0, "cluster": 1, "spoke": 2}
	return slices.SortedStableFunc(slices.Values(clusters), func(a, b report.Cluster) int {
		return cmp.Compare(rank[a.Role], rank[b.Role])
	})
}

// rootPaths are the paths from which a cluster reconciles itself.
func rootPaths(roots []report.Root, cluster string) string {
	var paths []string
	for _, r := range roots {
		if r.Cluster == cluster {
			paths = append(paths, pathOrTop(r.Path))
		}
	}
	return strings.Join(paths, ", ")
}

func pathOrTop(path string) string {
	if path == "" || path == "." {
		return "(top)"
	}
	return report.Printable(path)
}

// platform is what is known about the kind of cluster, "" when nothing is.
func platform(c report.Cluster) string {
	var known []string
	for _, s := range []string{c.Flavour, c.Platform} {
		if s != "" && s != "unknown" {
			known = append(known, report.Printable(s))
		}
	}
	return strings.Join(known, " on ")
}

func landed(by map[string]int) string {
	s := tally(by, classes)
	if s == "none" {
		return "nothing"
	}
	return strings.ReplaceAll(s, together, " ")
}

func (p *printer) coverage(d *report.Digest) {
	c := d.Census.Counts
	share := fmt.Sprintf("%d of %s analysable (%d %%)", c.Analysable, report.Plural(c.Files, "file"), report.Percent(c.Analysable, c.Files))
	p.heading("Coverage", "%s, %d seen but not analysed, %d unresolved, %d uncovered; %s among them",
		share, c.SeenNotAnalysed, c.Unresolved, c.Uncovered, report.Plural(c.RenderInputs, "render input"))
	if len(d.Rows) == 0 {
		return
	}
	number := func(title string) column { return column{title: title, number: true} }
	t := newTable(column{title: "root"}, column{title: "reconciled by", optional: true}, number("files"), number("analysable"),
		number("seen only"), number("unresolved"), number("uncovered"), column{title: "inputs", number: true, optional: true})
	for _, r := range worstRows(d.Rows) {
		root := report.Printable(r.Root)
		if root == "" {
			root = "(outside every root)"
		}
		t.row(root, report.Printable(strings.Join(r.Clusters, ", ")), fmt.Sprint(r.Files),
			fmt.Sprintf("%d %3d%%", r.Analysable, report.Percent(r.Analysable, r.Files)),
			zero(r.SeenNotAnalysedFiles), zero(r.Unresolved), zero(r.Uncovered), zero(r.RenderInputs))
	}
	t.print(p, 2)
	if more := len(d.Rows) - shownRoots; more > 0 {
		p.line("  and %s more, with fewer files that are not analysable, in coverage.jsonl", report.Plural(more, "root"))
	}
	if c.SeenNotAnalysed > 0 {
		p.text(2, "seen only: placed, but of a kind that no pack handles (below)")
	}
	if len(d.UnresolvedFor) > 0 {
		p.text(2, "unresolved because: "+tally(d.UnresolvedFor, byCount(d.UnresolvedFor)))
	}
}

// worstRows are the rows to show, in their order: all, or when they are many those
// with the most files that are not analysable.
func worstRows(rows []*report.CoverageRow) []*report.CoverageRow {
	if len(rows) <= shownRoots {
		return rows
	}
	worst := slices.SortedStableFunc(slices.Values(rows), func(a, b *report.CoverageRow) int {
		return cmp.Compare(b.Files-b.Analysable, a.Files-a.Analysable)
	})[:shownRoots]
	return slices.DeleteFunc(slices.Clone(rows), func(r *report.CoverageRow) bool { return !slices.Contains(worst, r) })
}

// nothing keeps a table calm where there is a zero.
const nothing = "·"

func zero(n int) string {
	if n == 0 {
		return nothing
	}
	return fmt.Sprint(n)
}

func (p *printer) placements(d *report.Digest) {
	c := d.Census.Counts
	many := ""
	if c.MultiPlacement > 0 {
		many = fmt.Sprintf("; %s more than one (a file counts once per placement)", have(c.MultiPlacement, "file"))
	}
	p.heading("Placements", "%d: %s%s", c.Placements, tally(c.PlacementsByClass, classes), many)
}

func have(n int, noun string) string {
	if n == 1 {
		return report.Plural(n, noun) + " has"
	}
	return report.Plural(n, noun) + " have"
}

func (p *printer) kustomizations(d *report.Digest) {
	c := d.Census.Counts
	if c.Kustomizations+c.HelmReleases+c.Objects == 0 {
		p.heading("Kustomizations", "none that a root leads to")
		return
	}
	p.heading("Kustomizations", "%d: %s; %s, %s", c.Kustomizations, tally(c.KustomizationsByState, states),
		report.Plural(c.HelmReleases, "HelmRelease"), report.Plural(c.Objects, "object"))
	for i, k := range d.Troubled {
		if i == shownTroubled {
			break
		}
		why := k.Reason
		if k.Detail != "" {
			why = k.Detail
		}
		p.hang("  "+p.stateOf(k.State), 16, report.Printable(fmt.Sprintf("%s/%s on %s: %s", k.Namespace, k.Name, k.Cluster, why)))
	}
	troubled := c.Kustomizations - c.KustomizationsByState["resolved"] + d.InPart
	if more := troubled - shownTroubled; more > 0 {
		p.line("  and %d more in kustomizations.jsonl", more)
	}
}

func (p *printer) stateOf(state string) string {
	padded := fmt.Sprintf("%-14s", state)
	switch state {
	case "failed", "path_missing":
		return p.paint(red, padded)
	case "unresolved":
		return p.paint(yellow, padded)
	}
	return padded
}

func (p *printer) notAnalysed(d *report.Digest) {
	kinds, objects := map[string]int{}, 0
	var best *report.Pack
	for i, pack := range d.Census.Packs {
		if pack.Handled {
			continue
		}
		for kind, n := range pack.Kinds {
			kinds[kind] += n
			objects += n
		}
		if pack.Files > 0 && pack.Name != "other" && (best == nil || pack.Files > best.Files) {
			best = &d.Census.Packs[i]
		}
	}
	if d.Census.Counts.Objects == 0 {
		p.heading("Not analysed", "no object was placed, so nothing is known about their kinds")
		return
	}
	if objects == 0 {
		p.heading("Not analysed", "nothing: every kind that was placed belongs to a pack that is handled")
		return
	}
	names := byCount(kinds)
	p.heading("Not analysed", "%s of %s that no pack handles", report.Plural(objects, "object"), report.Plural(len(names), "kind"))
	more := ""
	if len(names) > shownKinds {
		more = fmt.Sprintf(", and %s more", report.Plural(len(names)-shownKinds, "kind"))
		names = names[:shownKinds]
	}
	p.text(2, report.Printable(tally(kinds, names))+more)
	if best != nil {
		p.text(2, fmt.Sprintf("handling the pack %s would help most: at most %s more analysable", report.Printable(best.Name), report.Plural(best.Files, "file")))
	}
}

func (p *printer) notes(d *report.Digest) {
	if len(d.Census.Notes) == 0 || len(d.Census.Clusters) == 0 {
		return
	}
	p.heading("Notes", "%s", report.Printable(d.Census.Notes[0]))
	for i, n := range d.Census.Notes[1:] {
		if i+1 == shownNotes {
			p.line("       and %d more in census.json", len(d.Census.Notes)-shownNotes)
			break
		}
		p.text(7, report.Printable(n))
	}
}

// Package markdown renders a census as report.md: a page that a person reads or
// pastes. It is a report.Handler on top of report.Digest; its size does not grow
// with the repository, but for the number of roots, clusters and rules.
//
// Names and paths come from a repository that may be hostile: each stands in a
// code span or is escaped, so that it can neither break the page nor link.
package markdown

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Page is report.md.
func Page() report.Page {
	return report.Page{File: report.MarkdownFile, Render: New}
}

// New returns the handler that has written the page to w when End returns.
func New(w io.Writer) report.Handler { return &page{out: bufio.NewWriter(w)} }

type page struct {
	report.Digest
	out *bufio.Writer
}

// End writes the page.
func (p *page) End(c *report.Census) error {
	if err := p.Digest.End(c); err != nil {
		return err
	}
	p.header()
	p.reconciled()
	p.coverage()
	p.placements()
	p.kustomizations()
	p.ownership()
	p.oracle()
	p.findings()
	p.notAnalysed()
	p.notes()
	return p.out.Flush()
}

// The classes and states of the contract in the order in which they are shown.
var (
	classes = []string{"local", "remote_direct", "remote_hub_render", "uncovered", "unresolved"}
)

// line writes a line; an error of the writer shows in Flush.
func (p *page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// row writes a row of a table.
func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

// head writes the head of a table; a title that ends with ":" is aligned on the
// right.
func (p *page) head(titles ...string) {
	rules := make([]string, len(titles))
	for i, t := range titles {
		rules[i] = "---"
		if strings.HasSuffix(t, ":") {
			rules[i], titles[i] = "---:", strings.TrimSuffix(t, ":")
		}
	}
	p.line("")
	p.row(titles...)
	p.row(rules...)
}

func (p *page) header() {
	h := p.Header
	p.line("# Reach census of %s", code(h.Repository))
	if h.Names == "real" {
		p.line("\n> **Real names.** This report shows the real names of clusters and of the repository.")
	}
	p.line("\nCommit %s (%s), committed %s.", code(h.Commit), code(h.Revision), h.CommitTime)
	var walls []string
	for _, w := range h.Walls {
		state := "stands"
		if !w.Stands {
			state = "**does not stand**"
		}
		walls = append(walls, fmt.Sprintf("%s %s (%s)", plain(w.Name), state, plain(w.Detail)))
	}
	p.line("Seal of the analyser: %s.", strings.Join(walls, ", "))
	p.line("Oracle agreement: %s.", h.Oracle.Words())
	if h.Shallow {
		p.line("The clone is shallow: history that is absent is reported as absent.")
	}
	if h.Partial {
		p.line("The clone is partial: objects that are absent are reported as absent.")
	}
	p.line("Read by programs only; no model saw a file. Written by %s %s with analyser %s.",
		h.Tool.Name, plain(h.Tool.Version), plain(h.Tool.AnalyserVersion))
}

func (p *page) coverage() {
	c := p.Census.Counts
	p.line("\n## Coverage")
	p.line("\n**%d of %d files analysable (%d %%)**, %d seen but not analysed, %d unresolved, %d uncovered. Render inputs among them: %d.",
		c.Analysable, c.Files, report.Percent(c.Analysable, c.Files), c.SeenNotAnalysed, c.Unresolved, c.Uncovered, c.RenderInputs)
	if len(p.Rows) > 0 {
		p.head("root", "cluster", "files:", "analysable:", "seen, not analysed:", "unresolved:", "uncovered:", "render inputs:")
		for _, r := range p.Rows {
			root := "outside every root"
			if r.Root != "" {
				root = code(r.Root)
			}
			p.row(root, codes(r.Clusters), fmt.Sprint(r.Files),
				fmt.Sprintf("%d (%d %%)", r.Analysable, report.Percent(r.Analysable, r.Files)),
				fmt.Sprint(r.SeenNotAnalysedFiles), fmt.Sprint(r.Unresolved), fmt.Sprint(r.Uncovered), fmt.Sprint(r.RenderInputs))
		}
	}
	if len(p.UnresolvedFor) > 0 {
		p.line("\nUnresolved because: %s.", tally(p.UnresolvedFor, byCount(p.UnresolvedFor)))
	}
}

func (p *page) placements() {
	c := p.Census.Counts
	p.line("\n## Placements")
	p.line("\nPlacements: %d (%s). Files with more than one: %d; a file counts once per placement.",
		c.Placements, tally(c.PlacementsByClass, classes), c.MultiPlacement)
	if len(p.Census.Clusters) > 0 {
		p.head("cluster", "role", "reconciled from", "local:", "remote_direct:", "remote_hub_render:", "unresolved:")
		for _, cluster := range p.Census.Clusters {
			by := p.Landed[cluster.Name]
			p.row(code(cluster.Name), cluster.Role, p.from(cluster), fmt.Sprint(by["local"]),
				fmt.Sprint(by["remote_direct"]), fmt.Sprint(by["remote_hub_render"]), fmt.Sprint(by["unresolved"]))
		}
	}
	if !p.Census.Asked() {
		p.verdicts()
	}
}

// from is where a cluster is reconciled from: its roots, or the cluster whose
// controllers reach it.
func (p *page) from(c report.Cluster) string {
	var from []string
	for _, r := range p.Census.Roots {
		if r.Cluster == c.Name {
			from = append(from, code(cmp.Or(r.Path, ".")))
		}
	}
	for _, r := range c.Ways() {
		if r.ControllerCluster != "" && r.ControllerCluster != c.Name {
			from = append(from, code(r.ControllerCluster)+" by "+code(r.KubeConfig))
		}
	}
	return strings.Join(from, ", ")
}

func (p *page) kustomizations() {
	c := p.Census.Counts
	p.line("\n## Kustomizations and HelmReleases")
	p.line("\nKustomizations: %d (%s). HelmReleases: %d.", c.Kustomizations,
		tally(c.KustomizationsByState, byCount(c.KustomizationsByState)), c.HelmReleases)
	if len(p.Troubled) == 0 {
		return
	}
	p.head("state", "Kustomization", "cluster", "path", "reason")
	for _, k := range p.Troubled {
		why := plain(k.Reason)
		if k.Detail != "" {
			why += ": " + plain(k.Detail)
		}
		p.row(plain(k.State), code(k.Namespace+"/"+k.Name), code(k.Cluster), code(k.Path), why)
	}
	if more := c.Kustomizations - c.KustomizationsByState["resolved"] + p.InPart - len(p.Troubled); more > 0 {
		p.line("\nand %d more in kustomizations.jsonl.", more)
	}
}

func (p *page) notAnalysed() {
	p.line("\n## Seen, not analysed")
	rows := 0
	for _, pack := range p.Census.Packs {
		if pack.Handled || pack.Objects == 0 {
			continue
		}
		if rows++; rows == 1 {
			p.head("pack", "objects:", "files it would add:", "kinds")
		}
		p.row(code(pack.Name), fmt.Sprint(pack.Objects), fmt.Sprint(pack.Files), tallyCode(pack.Kinds))
	}
	if rows == 0 {
		p.line("\nNothing: every kind that was placed belongs to a pack that is handled.")
	}
}

func (p *page) notes() {
	if len(p.Census.Notes) > 0 {
		p.line("\n## Notes\n")
		for _, n := range p.Census.Notes {
			p.line("- %s", plain(n))
		}
	}
	if len(p.Census.ProposedRoots) > 0 {
		p.line("\n## Roots that may be meant\n\nNothing says which; add the flag of each that is one and take the census again.\n")
		for _, r := range p.Census.ProposedRoots {
			p.line("- %s: %s", code(r.Flag()), plain(r.Reason))
		}
	}
	p.line("\n## Data\n")
	for _, d := range p.Census.Data {
		p.line("- `%s`: %d", d.File, d.Lines)
	}
}

// byCount lists the keys of counts, the largest first, equal ones by name.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// tally writes counts in the order of keys, leaving zeros out.
func tally(counts map[string]int, keys []string) string {
	var out []string
	for _, k := range keys {
		if counts[k] != 0 {
			out = append(out, fmt.Sprintf("%s %d", plain(k), counts[k]))
		}
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

func tallyCode(counts map[string]int) string {
	var out []string
	for _, k := range byCount(counts) {
		out = append(out, fmt.Sprintf("%s %d", code(k), counts[k]))
	}
	return strings.Join(out, ", ")
}

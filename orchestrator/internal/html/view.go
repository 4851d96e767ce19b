package html

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/rules"
)

// view is what the template shows.
type view struct {
	Policy string
	Style  template.CSS
	Header report.Header
	Census *report.Census
	Counts report.Counts
	Stand  []report.Wall
	Fallen []report.Wall
	Roles  []tally
	// Reconciled says whether the hubs reconcile this commit now.
	Reconciled string
	Sets       map[string][]string
	Picture    *picture

	Coverage, Ownership bar
	Rows                []*report.CoverageRow
	MoreRows            int
	Unresolved          []tally
	Packs, Handled      []report.Pack

	Classes  []tally
	Clusters []clusterRow
	States   []tally
	Troubled []*report.Kustomization
	More     int
	Files    []fileRow
	// Defects are rows of the oracle that do not agree.
	Defects     []*report.OracleRow
	MoreDefects int
	LeftOut     leftOut

	// Live is what was seen on clusters, nil when none was asked.
	Live      *liveView
	ByCluster []verdictRow
	Abstained []tally
	Unowned   []*report.Object
	NUnowned  int

	Severities []tally
	Mistakes   []severityGroup
	Questions  []ruleGroup
	NQuestions int
	Quiet      []report.Rule
	MoreFound  int

	// What only a browser without scripts shows.
	Plain plain
}

// plain are the rows after those that every browser shows, and how many are in
// the data files alone.
type plain struct {
	Files                             []fileRow
	Objects                           []*report.Object
	Findings                          []*report.Finding
	MoreFiles, MoreObjects, MoreFound int
	// Files and Objects as they are written, several at once.
	FileItems, ObjectRows <-chan template.HTML
}

// leftOut counts what the page's search does not hold.
type leftOut struct{ Files, Placements, Objects, Findings int }

type tally struct {
	Word  string
	Count int
}

// bar is a share of a whole, drawn as segments on a line of 1000 units.
type bar struct {
	Label    string
	Segments []segment
}

type segment struct {
	Word     string
	Count    int
	X, Width int
}

type clusterRow struct {
	report.Cluster
	Roots                        []report.Root
	Local, Direct, Render, Other int
}

type verdictRow struct {
	Cluster          string
	In, Out, Abstain int
}

type fileRow struct {
	*report.File
	Lands      []string
	More       int
	Placements []*report.Placement
}

type severityGroup struct {
	Severity string
	Count    int
	Rules    []ruleGroup
}

type ruleGroup struct {
	Rule     rules.Rule
	Doc      string
	Findings []*report.Finding
}

func (p *page) view() *view {
	c := p.Census.Counts
	v := &view{
		Policy: policy(), Style: template.CSS(style), Header: p.Header, Census: p.Census, Counts: c,
		Sets: p.sets.sorted(), Picture: draw(&p.topology.Topology, p.Landed),
		Rows:       p.Rows[:min(len(p.Rows), shownRows)],
		MoreRows:   max(len(p.Rows)-shownRows, 0),
		Unresolved: tallies(p.UnresolvedFor, nil),
		Classes:    tallies(c.PlacementsByClass, classes),
		States:     tallies(c.KustomizationsByState, nil),
		Troubled:   p.Troubled, More: c.Kustomizations - c.KustomizationsByState["resolved"] + p.InPart - len(p.Troubled),
		Defects: p.Defects, MoreDefects: max(p.Header.Oracle.Kustomizations-p.Header.Oracle.Agree-len(p.Defects), 0),
		Abstained: tallies(p.AbstainedFor, nil), Unowned: p.unowned, NUnowned: p.nUnowned,
		Severities: tallies(c.FindingsBySeverity, worstFirst()),
		MoreFound:  p.tables.nFindings - len(p.findings[:min(len(p.findings), shownFindings)]),
		LeftOut: leftOut{
			Files: c.Files - len(p.tables.file)/3, Placements: c.Placements - len(p.tables.placements),
			Objects: p.tables.nObjects - len(p.tables.object)/5, Findings: p.tables.nFindings - len(p.tables.finding)/findingWidth,
		},
	}
	v.Reconciled = reconciled(p.Census)
	v.Coverage = newBar("Files by state of analysis", []tally{
		{"analysable", c.Analysable}, {"seen_not_analysed", c.SeenNotAnalysed}, {"unresolved", c.Unresolved}, {"uncovered", c.Uncovered},
	})
	v.Ownership = newBar("Objects by verdict", []tally{
		{"in_inventory", c.ObjectsByVerdict["in_inventory"]},
		{"not_in_inventory", c.ObjectsByVerdict["not_in_inventory"]},
		{"abstain", c.ObjectsByVerdict["abstain"]},
	})
	for _, w := range p.Header.Walls {
		if w.Stands {
			v.Stand = append(v.Stand, w)
		} else {
			v.Fallen = append(v.Fallen, w)
		}
	}
	p.clusters(v)
	for _, pack := range p.Census.Packs {
		switch {
		case pack.Handled:
			v.Handled = append(v.Handled, pack)
		case pack.Objects > 0:
			v.Packs = append(v.Packs, pack)
		}
	}
	slices.SortStableFunc(v.Packs, func(a, b report.Pack) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(b.Objects, a.Objects))
	})
	for _, f := range p.files {
		row := fileRow{File: f, Placements: p.placed[f.Path], More: f.Placements - len(p.placed[f.Path])}
		for _, at := range row.Placements {
			land := landing(at)
			if land != words(f.Analysis) && !slices.Contains(row.Lands, land) {
				row.Lands = append(row.Lands, land)
			}
		}
		if len(v.Files) < shownFiles {
			v.Files = append(v.Files, row)
		} else {
			v.Plain.Files = append(v.Plain.Files, row)
		}
	}
	v.Plain.MoreFiles = c.Files - len(p.files)
	v.Plain.Objects, v.Plain.MoreObjects = p.objects, c.Objects-len(p.objects)
	v.Plain.Findings = p.findings[min(len(p.findings), shownFindings):]
	v.Plain.MoreFound = p.tables.nFindings - len(p.findings)
	v.Live = p.live()
	for _, name := range slices.Sorted(maps.Keys(p.verdicts)) {
		by := p.verdicts[name]
		v.ByCluster = append(v.ByCluster, verdictRow{name, by["in_inventory"], by["not_in_inventory"], by["abstain"]})
	}
	p.groups(v)
	return v
}

func (p *page) clusters(v *view) {
	roles := map[string]int{}
	for _, c := range p.Census.Clusters {
		roles[c.Role]++
		by := p.Landed[c.Name]
		row := clusterRow{Cluster: c, Local: by["local"], Direct: by["remote_direct"], Render: by["remote_hub_render"], Other: by["unresolved"]}
		for _, r := range p.Census.Roots {
			if r.Cluster == c.Name {
				row.Roots = append(row.Roots, r)
			}
		}
		v.Clusters = append(v.Clusters, row)
	}
	v.Roles = tallies(roles, []string{"hub", "spoke", "cluster"})
}

// groups puts findings under their severity and rule, questions apart.
func (p *page) groups(v *view) {
	docs := map[string]string{}
	for _, r := range p.Census.Rules {
		docs[r.Rule] = r.Doc
		switch {
		case r.Count == 0 && r.Hidden > 0:
		case r.Count == 0:
			v.Quiet = append(v.Quiet, r)
		case rules.Find(r.Rule, r.Doc).Question:
			v.NQuestions += r.Count
		}
	}
	for _, f := range p.findings[:min(len(p.findings), shownFindings)] {
		rule := rules.Find(f.Rule, docs[f.Rule])
		if rule.Question {
			v.Questions = add(v.Questions, rule, docs[f.Rule], f)
			continue
		}
		i := slices.IndexFunc(v.Mistakes, func(g severityGroup) bool { return g.Severity == f.Severity })
		if i < 0 {
			i = len(v.Mistakes)
			v.Mistakes = append(v.Mistakes, severityGroup{Severity: f.Severity})
		}
		g := &v.Mistakes[i]
		g.Count++
		g.Rules = add(g.Rules, rule, docs[f.Rule], f)
	}
	slices.SortStableFunc(v.Mistakes, func(a, b severityGroup) int {
		return cmp.Compare(report.SeverityRank(b.Severity), report.SeverityRank(a.Severity))
	})
}

func add(groups []ruleGroup, rule rules.Rule, doc string, f *report.Finding) []ruleGroup {
	i := slices.IndexFunc(groups, func(g ruleGroup) bool { return g.Rule.Rule == rule.Rule })
	if i < 0 {
		i = len(groups)
		groups = append(groups, ruleGroup{Rule: rule, Doc: cmp.Or(doc, rule.What)})
	}
	groups[i].Findings = append(groups[i].Findings, f)
	return groups
}

var classes = []string{"local", "remote_direct", "remote_hub_render", "uncovered", "unresolved"}

func worstFirst() []string {
	out := report.Severities()
	slices.Reverse(out)
	return out
}

// tallies lists counts that are not zero: in the order given, then the rest by
// size.
func tallies(counts map[string]int, order []string) []tally {
	out := []tally{}
	for word, n := range counts {
		if n != 0 {
			out = append(out, tally{word, n})
		}
	}
	rank := func(word string) int {
		if i := slices.Index(order, word); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(out, func(a, b tally) int {
		return cmp.Or(cmp.Compare(rank(a.Word), rank(b.Word)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	return out
}

// newBar shares 1000 units among the counts; what is there at all is visible.
func newBar(label string, counts []tally) bar {
	sum := 0
	for _, t := range counts {
		sum += t.Count
	}
	b := bar{Label: label}
	done, x := 0, 0
	for _, t := range counts {
		if t.Count == 0 {
			continue
		}
		done += t.Count
		end := max(done*1000/sum, x+4)
		b.Segments = append(b.Segments, segment{t.Word, t.Count, x, end - x})
		x = end
	}
	// Thin segments may have pushed the last ones out.
	for i := range b.Segments {
		if x > 1000 {
			b.Segments[i].X = b.Segments[i].X * 1000 / x
			b.Segments[i].Width = max(b.Segments[i].Width*1000/x, 2)
		}
	}
	return b
}

func landing(p *report.Placement) string {
	if p.Cluster == "" {
		return words(p.Class)
	}
	return words(p.Class) + " " + p.Cluster
}

// sets are the values that a filter offers.
type sets struct{ class, cluster, analysis, verdict, owner, severity, rule set }

type set map[string]bool

func (s set) add(v string) {
	if v != "" {
		s[v] = true
	}
}

func newSets() sets { return sets{set{}, set{}, set{}, set{}, set{}, set{}, set{}} }

func (s sets) sorted() map[string][]string {
	return map[string][]string{
		"class": ordered(s.class, classes), "cluster": ordered(s.cluster, nil),
		"analysis": ordered(s.analysis, []string{"analysable", "seen_not_analysed", "unresolved", "uncovered"}),
		"verdict":  ordered(s.verdict, []string{"in_inventory", "not_in_inventory", "abstain"}), "owner": ordered(s.owner, nil),
		"severity": ordered(s.severity, worstFirst()), "rule": ordered(s.rule, nil),
	}
}

func ordered(s set, order []string) []string {
	counts := map[string]int{}
	for word := range s {
		counts[word] = 1
	}
	out := []string{}
	for _, t := range tallies(counts, order) {
		out = append(out, t.Word)
	}
	return out
}

// functions of the templates.
var functions = template.FuncMap{
	"show":    report.Printable,
	"trace":   traceRow,
	"file":    fileItem,
	"object":  objectRow,
	"finding": findingItem,
	"n":       number,
	"pct":     report.Percent,
	"explain": explain,
	"short":   func(commit string) string { return commit[:min(12, len(commit))] },
	"place":   place,
	"steps":   steps,
	"lines":   func(s string) []string { return strings.Split(s, "\n") },
	"kinds":   func(m map[string]int) []tally { return tallies(m, nil) },
	"join":    func(s []string) string { return strings.Join(s, ", ") },
	"many":    many,
	"words":   words,
	"utc":     utc,
	"platform": func(c clusterRow) string {
		if c.Flavour == c.Platform {
			return report.Printable(c.Flavour)
		}
		return report.Printable(c.Flavour + ", " + c.Platform)
	},
	"sub":     func(a, b int) int { return a - b },
	"options": func(sets map[string][]string, name string) []string { return sets[name] },
	"below":   func(line int) int { return 35 + lineHeight*(line+1) },
	"scroll": func(rows int) string {
		// A long table scrolls in a window of its own.
		if rows > 50 {
			return "scroll long"
		}
		return "scroll"
	},
}

// words is a word of the contract as people write it.
func words(s string) string { return strings.ReplaceAll(report.Printable(s), "_", " ") }

// utc is a time of the contract for people.
func utc(s string) string { return strings.NewReplacer("T", " ", "Z", " UTC").Replace(s) }

// place is "path:line", "path" when the line is not known.
func place(path string, line int) string {
	if line == 0 || path == "" {
		return report.Printable(path)
	}
	return report.Printable(path) + ":" + strconv.Itoa(line)
}

// steps is a place that may break after each slash, for the cells of tables.
func steps(path string, line int) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(place(path, line)), "/", "/<wbr>"))
}

// number groups digits by thousands.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// many is a number with its noun, which takes a plain s.
func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", number(n), noun)
}

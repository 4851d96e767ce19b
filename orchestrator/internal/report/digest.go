package report

import (
	"cmp"
	"slices"
)

// How much of a census a digest keeps.
const (
	keptTroubled = 200
	keptExamples = 10
	keptForeign  = 200
)

// Digest is a handler that keeps what a summary shows: the whole of census.json
// and the coverage table, the Kustomizations in trouble, examples of findings,
// and counts of what has no count elsewhere. Its size does not grow with the
// repository, but for the number of roots and clusters.
type Digest struct {
	Ignore
	Header Header
	Census *Census
	// Rows are the coverage table.
	Rows []*CoverageRow
	// Troubled are the first Kustomizations whose state is not resolved, or that are
	// resolved in part; InPart counts the latter.
	Troubled []*Kustomization
	InPart   int
	// Examples are findings of each rule, the worst first and then in the order
	// of the census.
	Examples map[string][]*Finding
	// Found counts findings by rule, then severity: a rule may find things of
	// several.
	Found map[string]map[string]int
	// Defects are rows of the oracle that do not agree, the telling ones first:
	// those that differ, that only one side has, on which the other side failed.
	Defects []*OracleRow
	// Landed counts placements by cluster, then class.
	Landed map[string]map[string]int
	// Foreign are the first live objects that nothing of Flux made and that are no
	// part of the system.
	Foreign []*LiveObject
	// UnresolvedFor counts unresolved files by reason, AbstainedFor objects.
	UnresolvedFor, AbstainedFor map[string]int
	// defects are by result until End.
	defects map[string][]*OracleRow
}

// The methods of Handler.
func (d *Digest) Begin(h *Header) error {
	*d = Digest{
		Header: *h, Examples: map[string][]*Finding{}, Found: map[string]map[string]int{}, Landed: map[string]map[string]int{},
		UnresolvedFor: map[string]int{}, AbstainedFor: map[string]int{}, defects: map[string][]*OracleRow{},
	}
	return nil
}

func (d *Digest) Kustomization(k *Kustomization) error {
	inPart := k.State == "resolved" && k.Reason != ""
	if inPart {
		d.InPart++
	}
	if (k.State != "resolved" || inPart) && len(d.Troubled) < keptTroubled {
		d.Troubled = append(d.Troubled, k)
	}
	return nil
}

func (d *Digest) Placement(p *Placement) error {
	if p.Cluster == "" {
		return nil
	}
	if d.Landed[p.Cluster] == nil {
		d.Landed[p.Cluster] = map[string]int{}
	}
	d.Landed[p.Cluster][p.Class]++
	return nil
}

func (d *Digest) Object(o *Object) error {
	if o.Verdict == "abstain" {
		d.AbstainedFor[o.Reason]++
	}
	return nil
}

func (d *Digest) Live(o *LiveObject) error {
	if !o.Foreign() {
		return nil
	}
	if len(d.Foreign) < keptForeign {
		d.Foreign = append(d.Foreign, o)
	}
	return nil
}

func (d *Digest) File(f *File) error {
	if f.Analysis == "unresolved" {
		d.UnresolvedFor[f.Reason]++
	}
	return nil
}

func (d *Digest) Finding(f *Finding) error {
	if d.Found[f.Rule] == nil {
		d.Found[f.Rule] = map[string]int{}
	}
	d.Found[f.Rule][f.Severity]++
	examples := append(d.Examples[f.Rule], f)
	slices.SortStableFunc(examples, func(a, b *Finding) int {
		return cmp.Compare(SeverityRank(b.Severity), SeverityRank(a.Severity))
	})
	d.Examples[f.Rule] = examples[:min(keptExamples, len(examples))]
	return nil
}

// Worst is the worst severity of a rule's findings, "" when it found nothing.
func (d *Digest) Worst(rule string) string {
	if len(d.Examples[rule]) == 0 {
		return ""
	}
	return d.Examples[rule][0].Severity
}

// results of an oracle other than "agree", the telling ones first.
var results = []string{"differ", "only_theirs", "only_ours", "theirs_failed"}

// Oracle keeps what does not agree, of each result the first.
func (d *Digest) Oracle(r *OracleRow) error {
	if r.Result != "agree" && len(d.defects[r.Result]) < keptTroubled {
		d.defects[r.Result] = append(d.defects[r.Result], r)
	}
	return nil
}

func (d *Digest) Coverage(r *CoverageRow) error { d.Rows = append(d.Rows, r); return nil }

// End puts the row of the files below no root last, and the rows of the oracle in
// order.
func (d *Digest) End(c *Census) error {
	d.Census = c
	for _, result := range results {
		d.Defects = append(d.Defects, d.defects[result]...)
	}
	d.Defects = d.Defects[:min(len(d.Defects), keptTroubled)]
	slices.SortStableFunc(d.Rows, func(a, b *CoverageRow) int {
		return cmp.Compare(btoi(a.Root == ""), btoi(b.Root == ""))
	})
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// SeverityRank orders severities: 0 for info, 3 for fatal, -1 for another word.
func SeverityRank(s string) int { return slices.Index(severities, s) }

// Percent is the share in whole percent, rounded down so that only all is 100.
func Percent(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return part * 100 / whole
}

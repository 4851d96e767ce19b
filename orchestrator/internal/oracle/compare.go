package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Rule is the rule of a finding about a difference.
const Rule = "reach.graph.defect"

// doc is what a census says of the rule.
const doc = "The census and the user's own check disagree on a Kustomization, so one of the two has a wrong picture of what flows where."

// Comparison is the outcome.
type Comparison struct {
	// Oracle sums it up.
	Oracle report.Oracle
	// Rows are sorted by cluster, namespace and name.
	Rows []*report.OracleRow
}

// Compare compares what the other side says with the Kustomizations of a census.
// All names are real ones.
func Compare(f *File, ours []*report.Kustomization) *Comparison {
	c := &Comparison{Oracle: report.Oracle{Format: f.Format, Tool: f.Tool}}
	left := map[[2]string][]*report.Kustomization{}
	asked, anywhere := map[string]bool{}, false
	for _, k := range ours {
		key := [2]string{k.Namespace, k.Name}
		left[key] = append(left[key], k)
	}
	paired := make([]*report.Kustomization, len(f.Rows))
	take := func(i int, match func(*report.Kustomization) bool) {
		key := [2]string{f.Rows[i].Namespace, f.Rows[i].Name}
		at := slices.IndexFunc(left[key], match)
		if paired[i] == nil && at >= 0 {
			paired[i] = left[key][at]
			left[key] = slices.Delete(left[key], at, at+1)
		}
	}
	for i := range f.Rows {
		if cluster := f.Rows[i].Cluster; cluster != "" {
			asked[cluster] = true
			take(i, func(k *report.Kustomization) bool { return k.Cluster == cluster })
		}
	}
	// A row that does not say its cluster takes the one that it is equal to, so
	// that it is never compared with the wrong one of two hubs; then any.
	for _, equal := range []bool{true, false} {
		for i := range f.Rows {
			if r := &f.Rows[i]; r.Cluster == "" {
				anywhere = true
				take(i, func(k *report.Kustomization) bool {
					return !equal || k.Class == r.Class && (k.Target == r.Target || r.Target == "" && k.Class == "local")
				})
			}
		}
	}
	for i := range f.Rows {
		c.Rows = append(c.Rows, compare(&f.Rows[i], paired[i]))
	}
	for _, k := range ours {
		if !slices.Contains(left[[2]string{k.Namespace, k.Name}], k) {
			continue
		}
		if !anywhere && !asked[k.Cluster] || belowUnrendered(f, k) {
			c.Oracle.NotAsked++
			continue
		}
		c.Rows = append(c.Rows, &report.OracleRow{
			Cluster: k.Cluster, Namespace: k.Namespace, Name: k.Name, Result: "only_ours", Differs: []string{}, Ours: side(k), Trace: k.Trace,
		})
	}
	slices.SortStableFunc(c.Rows, func(a, b *report.OracleRow) int {
		return slices.Compare([]string{a.Cluster, a.Namespace, a.Name}, []string{b.Cluster, b.Namespace, b.Name})
	})
	c.count()
	return c
}

// belowUnrendered reports whether our trace of a Kustomization goes over one that
// the other side has and did not render: it cannot know what lies below.
func belowUnrendered(f *File, k *report.Kustomization) bool {
	for _, h := range k.Trace {
		for i := range f.Rows {
			r := &f.Rows[i]
			if h.Kind == "kustomization" && r.State != Rendered && h.Name == r.Namespace+"/"+r.Name && (h.Cluster == r.Cluster || r.Cluster == "") {
				return true
			}
		}
	}
	return false
}

func side(k *report.Kustomization) report.Side {
	return report.Side{
		Class: k.Class, Target: k.Target, State: k.State, Reason: k.Reason,
		// Of one that is not built, 0 is no count.
		Objects: k.Objects, ObjectsKnown: k.State == "resolved",
	}
}

// compare compares a row with the Kustomization of the same name, nil for none.
func compare(r *Row, k *report.Kustomization) *report.OracleRow {
	out := &report.OracleRow{
		Cluster: r.Cluster, Namespace: r.Namespace, Name: r.Name, Line: r.Line, Differs: []string{}, Trace: []report.Hop{},
		Theirs: report.Side{Class: r.Class, Target: r.Target, State: r.State, Reason: r.Reason},
	}
	if r.Objects != nil && r.State == Rendered {
		out.Theirs.Objects, out.Theirs.ObjectsKnown = *r.Objects, true
	}
	if k != nil {
		out.Cluster, out.Ours, out.Trace = k.Cluster, side(k), k.Trace
		if out.Theirs.Class == "local" && out.Theirs.Target == "" {
			out.Theirs.Target = k.Cluster
		}
	}
	switch {
	case r.State == Failed:
		out.Result = "theirs_failed"
		return out
	case k == nil:
		out.Result = "only_theirs"
		return out
	}
	if out.Ours.Class != out.Theirs.Class {
		out.Differs = append(out.Differs, "class")
	}
	if out.Ours.Target != out.Theirs.Target && out.Theirs.Target != "" {
		out.Differs = append(out.Differs, "target")
	}
	if out.Ours.ObjectsKnown && out.Theirs.ObjectsKnown && out.Ours.Objects != out.Theirs.Objects {
		out.Differs = append(out.Differs, "objects")
	}
	out.Result = "agree"
	if len(out.Differs) > 0 {
		out.Result = "differ"
	}
	return out
}

func (c *Comparison) count() {
	o := &c.Oracle
	o.Kustomizations = len(c.Rows)
	for _, r := range c.Rows {
		switch r.Result {
		case "agree":
			o.Agree++
		case "differ":
			o.Differ++
		case "only_theirs":
			o.OnlyTheirs++
		case "only_ours":
			o.OnlyOurs++
		case "theirs_failed":
			o.TheirsFailed++
		}
	}
}

// Result is the rule, which ran.
func (c *Comparison) Result() report.Rule {
	return report.Rule{Rule: Rule, Severity: "error", Count: c.Oracle.Differ + c.Oracle.OnlyTheirs + c.Oracle.OnlyOurs, Doc: doc}
}

// Findings are the graph defects: a finding for each difference.
func (c *Comparison) Findings() []*report.Finding {
	var out []*report.Finding
	for _, r := range c.Rows {
		f := &report.Finding{
			Rule: Rule, Severity: "error", Cluster: r.Cluster, Kind: "Kustomization", Namespace: r.Namespace, Name: r.Name,
			Count: 1, Trace: r.Trace,
		}
		for _, h := range r.Trace {
			if h.Path != "" {
				f.Path, f.Line = h.Path, h.Line
				break
			}
		}
		name := "Kustomization " + r.Namespace + "/" + r.Name
		at := ""
		if r.Line > 0 {
			at = fmt.Sprintf(" (line %d of the oracle file)", r.Line)
		}
		switch r.Result {
		case "differ":
			f.Message = fmt.Sprintf("%s on %s: the census says %s, the oracle says %s%s; they differ in %s",
				name, r.Cluster, r.Ours.Words(), r.Theirs.Words(), at, strings.Join(r.Differs, " and "))
			if r.Ours.Class == "unresolved" {
				// Not wrong: the census says that it does not know.
				f.Severity = "warning"
			}
			f.Remedy = "Follow the trace, and see on the cluster which of the two is right. A cluster that the two call by different names gets one name under spokes in the configuration. If the census is wrong, that is a mistake in reach: please report it."
		case "only_theirs":
			f.Message = fmt.Sprintf("%s: the oracle says %s%s, and the census knows no such Kustomization", strings.TrimSuffix(name+" on "+r.Cluster, " on "), r.Theirs.Words(), at)
			f.Remedy = "A root or a source that the census does not know may lead to it: declare it with --root, or under sources in the configuration."
		case "only_ours":
			// Their list may simply be shorter.
			f.Severity = "warning"
			f.Message = fmt.Sprintf("%s on %s: the census says %s, and the oracle, which knows the cluster, does not have it", name, r.Cluster, r.Ours.Words())
			f.Remedy = "See on the cluster whether the Kustomization is there. If it is, the oracle does not look at everything."
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// Clusters are the names of clusters that a file holds: with aliases they must
// not appear.
func (f *File) Clusters() []string {
	var out []string
	for _, r := range f.Rows {
		for _, name := range []string{r.Cluster, r.Target} {
			if name != "" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

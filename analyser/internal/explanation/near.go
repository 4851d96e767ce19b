package explanation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// Candidate is an object that may be meant.
type Candidate struct {
	Ref      object.Ref
	Clusters []cluster.Name
}

// shortName is the length from which a name is looked for inside others.
const shortName = 3

// maxCandidates bounds the near misses that are listed.
const maxCandidates = 10

// Candidates are the objects that a query matches, whatever their namespace and
// group when it names none: more than one is an ambiguous query. all are
// objects with the clusters that they are on, in any order.
func Candidates(q Query, all map[object.Ref][]cluster.Name) []Candidate {
	var out []Candidate
	byKey := map[object.Key]int{}
	for _, r := range sortedRefs(all) {
		var on []cluster.Name
		for _, c := range all[r] {
			if q.Matches(r, c) {
				on = append(on, c)
			}
		}
		if len(on) == 0 {
			continue
		}
		// Versions of one object are one.
		if i, ok := byKey[r.Key()]; ok {
			out[i].Clusters = append(out[i].Clusters, on...)
			continue
		}
		byKey[r.Key()] = len(out)
		out = append(out, Candidate{r, on})
	}
	return tidy(out)
}

// Near are the objects whose names come closest to a query that matches none:
// those of another namespace, group, kind or cluster first, then those that are
// spelled alike.
func Near(q Query, all map[object.Ref][]cluster.Name) []Candidate {
	type scored struct {
		Candidate
		distance int
	}
	limit := max(1, len(q.Name)/3)
	var list []scored
	seen := map[object.Key]bool{}
	for _, r := range sortedRefs(all) {
		if seen[r.Key()] {
			continue
		}
		d := distance(strings.ToLower(q.Name), strings.ToLower(r.Name), limit)
		if len(q.Name) >= shortName && strings.Contains(r.Name, q.Name) {
			d = min(d, limit)
		}
		if d > limit {
			continue
		}
		seen[r.Key()] = true
		if k := distance(strings.ToLower(q.Kind), strings.ToLower(r.Kind), len(q.Kind)); k > 2 {
			d += 3
		} else {
			d += k
		}
		if q.HasNamespace && q.Namespace != r.Namespace {
			d++
		}
		list = append(list, scored{Candidate{r, all[r]}, d})
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	var out []Candidate
	for _, s := range list[:min(len(list), maxCandidates)] {
		out = append(out, s.Candidate)
	}
	return tidy(out)
}

func tidy(list []Candidate) []Candidate {
	for i := range list {
		list[i].Clusters = slices.Compact(slices.Sorted(slices.Values(list[i].Clusters)))
	}
	return list
}

func sortedRefs(all map[object.Ref][]cluster.Name) []object.Ref {
	out := make([]object.Ref, 0, len(all))
	for r := range all {
		out = append(out, r)
	}
	slices.SortFunc(out, object.Ref.Compare)
	return out
}

// distance is the number of letters to change, add or drop, as far as it is at
// most limit; else more than limit.
func distance(a, b string, limit int) int {
	const longest = 300 // names have at most 253 bytes
	if len(a) > longest || len(b) > longest || len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

package finding

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// peerGroup are clusters that are peers.
type peerGroup struct {
	trees []*tree
	// shared and either are of the two peers that agree least.
	shared, either int
	brings         map[broughtBy]int
}

// broughtBy is a Kustomization object on a cluster.
type broughtBy struct {
	cluster cluster.Name
	ref     object.Ref
}

// distinct are the trees that differ, each with its like.
func distinct(all []*tree) [][]*tree {
	index := map[string]int{}
	var out [][]*tree
	for _, t := range all {
		if len(t.objects) < minShared {
			continue
		}
		var keys []string
		for k := range t.objects {
			keys = append(keys, k.Group+"\x00"+k.Kind+"\x00"+k.Namespace+"\x00"+k.Name)
		}
		slices.Sort(keys)
		id := strings.Join(keys, "\x01")
		i, ok := index[id]
		if !ok {
			i = len(out)
			index[id] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], t)
	}
	return out
}

// peers groups trees. Groups whose trees are all the same are left out.
func peers(all []*tree) []peerGroup {
	classes := distinct(all)
	if len(classes) > mostTrees {
		return nil
	}
	ids := map[object.Key]int{}
	sets := make([][]uint64, len(classes))
	for _, class := range classes {
		for k := range class[0].objects {
			if _, ok := ids[k]; !ok {
				ids[k] = len(ids)
			}
		}
	}
	for i, class := range classes {
		sets[i] = make([]uint64, len(ids)/64+1)
		for k := range class[0].objects {
			sets[i][ids[k]/64] |= 1 << (ids[k] % 64)
		}
	}
	group := make([]int, len(classes))
	for i := range group {
		group[i] = i
	}
	type agreement struct{ shared, either int }
	least := map[int]agreement{}
	for i := range classes {
		for j := i + 1; j < len(classes); j++ {
			n, u := len(classes[i][0].objects), len(classes[j][0].objects)
			if 3*min(n, u) < 2*max(n, u) {
				continue
			}
			shared := common(sets[i], sets[j])
			either := n + u - shared
			if shared < minShared || 3*shared < 2*either {
				continue
			}
			a := agreement{shared, either}
			for _, g := range []int{group[i], group[j]} {
				if old, ok := least[g]; ok && old.shared*a.either < a.shared*old.either {
					a = old
				}
			}
			from, to := group[j], group[i]
			for k := range group {
				if group[k] == from {
					group[k] = to
				}
			}
			least[to] = a
		}
	}
	members := map[int][]*tree{}
	for i, class := range classes {
		members[group[i]] = append(members[group[i]], class...)
	}
	var out []peerGroup
	for i := range classes {
		if a, ok := least[i]; ok && group[i] == i {
			out = append(out, peerGroup{trees: members[i], shared: a.shared, either: a.either})
		}
	}
	return out
}

func common(a, b []uint64) int {
	n := 0
	for i := range a {
		n += bits.OnesCount64(a[i] & b[i])
	}
	return n
}

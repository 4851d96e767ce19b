package census

import (
	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// mergeRoots finds roots whose bootstrap document lands on exactly one other
// cluster: a hub that applies a spoke's gotk-sync.yaml makes the spoke the
// cluster of that root. It reports whether it found one that is new.
func (w *worklist) mergeRoots() bool {
	declared := map[position.Pos]*root{}
	for _, r := range w.roots {
		if r.Declared != 0 {
			declared[r.Declared] = r
		}
	}
	if len(declared) == 0 {
		return false
	}
	lands := map[*root]map[cluster.Name]bool{}
	for _, a := range w.applied {
		if a.Blocked != nil || a.Target == a.Cluster {
			continue
		}
		for _, o := range a.Objects {
			r := declared[o.Origin]
			if r == nil || a.Target == r.Cluster {
				continue
			}
			if lands[r] == nil {
				lands[r] = map[cluster.Name]bool{}
			}
			lands[r][a.Target] = true
		}
	}
	found := false
	for _, r := range w.roots {
		if len(lands[r]) != 1 {
			continue
		}
		for spoke := range lands[r] {
			if !w.rooted[spoke] {
				w.merges = append(w.merges, merge{spoke, r.Cluster})
				found = true
			}
		}
	}
	return found
}

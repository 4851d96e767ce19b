package finding

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// peerAsymmetry finds objects that one cluster's path has and its peer's lacks.
//
// The tree of a cluster is the set of objects that the repository says apply
// there: group, kind, namespace and name, without the hash of a generator and
// with the cluster's own name taken out of both. What a hub holds for one spoke
// is left out: Kustomizations and HelmReleases with a kubeConfig, what renders
// them, and namespaces that hold nothing else. So is what a bootstrap of Flux
// makes, which every cluster has: its controllers, the root's Sync, its source.
// Two clusters are peers when at
// least two thirds of the objects that either has, both have (the Jaccard index
// of their trees), and these are at least minShared. Peers of peers are one group.
//
// An object is asked about once, where it is written. Objects that a
// Kustomization brings which the peer lacks altogether are counted with that
// Kustomization. One is not asked about when the cluster that lacks it has a
// Kustomization of the same name, or of the same files, whose build is not known.
var peerAsymmetry = &Rule{
	Name:     "reach.flux.peer_asymmetry",
	Doc:      "An object is on one cluster and absent from a peer, a cluster whose tree mostly agrees: at least two thirds of the objects that either has are the same.",
	Severity: Info,
	Run: func(m *Model) []Finding {
		brings := map[broughtBy]int{}
		for _, a := range m.Applied {
			if a.Object != nil {
				brings[broughtBy{a.Cluster, a.Object.Ref}] += len(a.Objects)
			}
		}
		var out []Finding
		for _, group := range peers(trees(m)) {
			group.brings = brings
			out = append(out, group.differences(m)...)
		}
		return out
	},
	Note: func(m *Model) []string {
		targets := map[cluster.Name]bool{}
		for _, a := range m.Applied {
			targets[a.Target] = true
		}
		if len(targets) <= mostTrees {
			return nil
		}
		if n := len(distinct(trees(m))); n > mostTrees {
			return []string{fmt.Sprintf("There are %d clusters with trees that differ, more than can be compared with each other: reach.flux.peer_asymmetry looked at none.", n)}
		}
		return nil
	},
}

// What makes clusters peers.
const (
	minShared = 4
	// mostTrees bounds how many different trees are compared, each with each.
	mostTrees = 2000
	// mostFiles is from how many files of one difference on they are told
	// together.
	mostFiles = 12
)

// difference is one set of clusters that have what the others lack.
type difference struct {
	on, off []*tree
	objects []peerObject
}

// differences are the findings of a group.
func (g peerGroup) differences(m *Model) []Finding {
	by := map[string]*difference{}
	var order []string
	slices.SortFunc(g.trees, func(a, b *tree) int { return strings.Compare(string(a.cluster), string(b.cluster)) })
	keys := map[object.Key]bool{}
	for _, t := range g.trees {
		for k := range t.objects {
			keys[k] = true
		}
	}
	for k := range keys {
		d := difference{}
		for _, t := range g.trees {
			if _, ok := t.objects[k]; ok {
				d.on = append(d.on, t)
			} else {
				d.off = append(d.off, t)
			}
		}
		if len(d.off) == 0 {
			continue
		}
		o := d.on[0].objects[k]
		if comesOfAnother(d, o) || slices.ContainsFunc(d.off, func(t *tree) bool { return t.mayHave(d.on[0], o) }) {
			continue
		}
		id := joinedNames(d.on) + "\x00" + joinedNames(d.off)
		if by[id] == nil {
			by[id] = &difference{on: d.on, off: d.off}
			order = append(order, id)
		}
		by[id].objects = append(by[id].objects, o)
	}
	slices.Sort(order)
	var out []Finding
	for _, id := range order {
		out = append(out, g.tell(m, by[id])...)
	}
	return out
}

// comesOfAnother reports an object of a Sync that the clusters which lack it
// lack as well: the Sync is what is asked about.
func comesOfAnother(d difference, o peerObject) bool {
	s := o.applied
	if s.Object == nil || s.Cluster != d.on[0].cluster {
		return false
	}
	key := s.Object.Ref.Key()
	key.Namespace, key.Name = d.on[0].own(key.Namespace), d.on[0].own(key.Name)
	if _, ok := d.on[0].objects[key]; !ok {
		return false
	}
	return !slices.ContainsFunc(d.off, func(t *tree) bool { _, has := t.objects[key]; return has })
}

// mayHave reports that a Sync whose build is not known may bring an object that
// another cluster has.
func (t *tree) mayHave(other *tree, o peerObject) bool {
	return slices.ContainsFunc(t.unknown, func(a *placement.Applied) bool {
		if t.own(a.Controller()) == other.own(o.applied.Controller()) {
			return true
		}
		if a.Result == nil {
			return a.HasDirectory && below(o.at.Path, a.Directory)
		}
		for _, u := range a.Uses() {
			if u.Path == o.at.Path {
				return true
			}
		}
		return false
	})
}

func below(p, dir string) bool { return dir == "" || strings.HasPrefix(p, dir+"/") }

// tell makes findings of a difference: one a file, or one for all of them when
// there are many.
func (g peerGroup) tell(m *Model, d *difference) []Finding {
	slices.SortFunc(d.objects, func(a, b peerObject) int {
		if c := earlier(a.at, b.at); c != 0 {
			return c
		}
		return a.ref.Compare(b.ref)
	})
	files := map[string]bool{}
	for _, o := range d.objects {
		files[o.at.Path] = true
	}
	same := func(a, b peerObject) bool { return len(files) >= mostFiles || a.at.Path == b.at.Path }
	var out []Finding
	for i := 0; i < len(d.objects); {
		end := i + 1
		for end < len(d.objects) && same(d.objects[i], d.objects[end]) {
			end++
		}
		out = append(out, g.finding(m, d, d.objects[i:end]))
		i = end
	}
	return out
}

func (g peerGroup) finding(m *Model, d *difference, objects []peerObject) Finding {
	first := objects[0]
	f := aboutSync(m, first.applied)
	f.At, f.Count, f.Cluster = first.at, len(objects), ""
	f.Kind, f.Namespace, f.Name = first.ref.Kind, first.ref.Namespace, first.ref.Name
	switch {
	case len(d.off) == 1:
		f.Cluster = d.off[0].cluster
	case len(d.on) == 1:
		f.Cluster = d.on[0].cluster
	}
	what := first.ref.String() + " is"
	if n := len(objects) - 1; n > 0 {
		what = fmt.Sprintf("%s and %s are", first.ref, plural(n, "object more", "objects more"))
		if dir := commonDir(objects); dir != "" && dir != first.at.Path {
			what = fmt.Sprintf("%s and %s (all below %s) are", first.ref, plural(n, "object more", "objects more"), dir)
		}
	}
	peers := fmt.Sprintf("a peer: of the %d objects that either has, both have %d.", g.either, g.shared)
	if len(g.trees) > 2 {
		peers = fmt.Sprintf("their peers: where these agree least, two have %d of %d objects in common.", g.shared, g.either)
	}
	f.Message = fmt.Sprintf("%s on %s and not on %s, %s", what, some(clusterNames(d.on), 6), some(clusterNames(d.off), 6), peers)
	if n := g.brings[broughtBy{d.on[0].cluster, first.ref}]; n > 0 {
		f.Message += fmt.Sprintf(" It brings %s.", plural(n, "object", "objects"))
	}
	f.Remedy = "If the clusters are meant to be alike, add it where it is missing or take it away where it is too much; else say in the file why it is on one of them only."
	g.facts(m, d, first, &f)
	return f
}

// facts put beside each other what has the object and what lacks it.
func (g peerGroup) facts(m *Model, d *difference, o peerObject, f *Finding) {
	name := d.on[0].own(o.applied.Controller())
	for _, t := range d.on {
		if len(f.Facts) == mostFacts/2 {
			break
		}
		text, at := "has it", o.at
		if s := t.syncs[name]; s != nil {
			text += ", by " + s.Controller() + reads(s)
		}
		f.Facts = append(f.Facts, Fact{t.cluster, text, at})
	}
	for _, t := range d.off {
		if len(f.Facts) == mostFacts {
			break
		}
		fact := Fact{Cluster: t.cluster, Text: "lacks it, and has no Kustomization of that name"}
		if s := t.syncs[name]; s != nil {
			fact.Text, fact.At = "lacks it; "+s.Controller()+" is there"+reads(s), m.Positions.Position(s.Sync.Pos)
		}
		f.Facts = append(f.Facts, fact)
	}
}

// reads says which directory a Sync builds.
func reads(a *placement.Applied) string {
	if !a.HasDirectory {
		return ""
	}
	if a.Directory == "" {
		return ", which reads the whole repository"
	}
	return ", which reads " + a.Directory
}

func commonDir(objects []peerObject) string {
	dir := objects[0].at.Path
	for _, o := range objects {
		for dir != "." && o.at.Path != dir && !strings.HasPrefix(o.at.Path, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return strings.TrimPrefix(dir, ".")
}

func clusterNames(ts []*tree) []cluster.Name {
	var out []cluster.Name
	for _, t := range ts {
		out = append(out, t.cluster)
	}
	return out
}

func joinedNames(ts []*tree) string {
	var out []string
	for _, t := range ts {
		out = append(out, string(t.cluster))
	}
	return strings.Join(out, "\x01")
}

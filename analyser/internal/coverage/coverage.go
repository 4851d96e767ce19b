// Package coverage is the meter: one analysis state for every file, one row
// for every Flux root, and what a pack of kinds would add. An unanalysed
// repository must never read as clean.
package coverage

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// Analysis is the one analysis state of a file.
type Analysis string

// The analysis states of the output contract.
const (
	Analysable      Analysis = "analysable"
	SeenNotAnalysed Analysis = "seen_not_analysed"
	Unresolved      Analysis = "unresolved"
	Uncovered       Analysis = "uncovered"
)

// Considered is a file that the census considers.
type Considered struct {
	Path string
	// Objects written in the file.
	Objects []Written
	// Role by the file's own content, for files that nothing reads.
	Role kustomize.Role
	// Excluded is why the file is in no artifact, when that is known; empty
	// otherwise.
	Excluded string
	// Link is, for a symbolic link, what Flux makes of it; empty otherwise.
	Link string
	// Problem is why the file could not be read as YAML; empty otherwise.
	Problem string
}

// Written is an object as a file holds it.
type Written struct {
	Kind object.GroupKind
	// Placed reports that it lands somewhere, resolved.
	Placed bool
}

// File is a file with its analysis state.
type File struct {
	Path     string
	Role     kustomize.Role
	Analysis Analysis
	// Reason and Detail say why the state is not analysable.
	Reason, Detail string
	Placements     int
	// Root is the row that counts the file.
	Root string
	// Objects that it holds.
	Objects []Written
}

// Files gives every considered file its state. placements must be sorted; both
// results are sorted by path.
func Files(considered []Considered, placements []*placement.Placement, roots []RowRoot, packs *Packs) []File {
	by := map[string][]*placement.Placement{}
	for _, p := range placements {
		by[p.Path] = append(by[p.Path], p)
	}
	rows := make(map[string]bool, len(roots))
	for _, r := range roots {
		rows[r.Path] = true
	}
	out := make([]File, 0, len(considered))
	for _, c := range considered {
		ps := by[c.Path]
		f := File{Path: c.Path, Role: c.Role, Placements: len(ps), Objects: c.Objects, Root: rowOf(c.Path, rows)}
		if len(ps) > 0 {
			f.Role = placement.FileRole(ps)
		}
		f.Analysis, f.Reason, f.Detail = state(c, f.Role, ps, packs)
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func state(c Considered, role kustomize.Role, ps []*placement.Placement, packs *Packs) (Analysis, string, string) {
	if len(ps) == 0 {
		switch {
		case c.Link != "":
			return Uncovered, "symbolic_link", c.Link
		case c.Problem != "":
			return Uncovered, "bad_yaml", c.Problem
		case c.Excluded != "":
			return Uncovered, "excluded_from_source", c.Excluded
		}
		return Uncovered, "uncovered", "no controller reaches the path"
	}
	for _, p := range ps {
		if p.Class == placement.Unresolved {
			return Unresolved, p.Reason, p.Detail
		}
	}
	if role != kustomize.RoleObject {
		return Analysable, "", ""
	}
	for _, o := range c.Objects {
		if !packs.Of(o.Kind).Handled {
			return SeenNotAnalysed, "kind_not_handled", o.Kind.String()
		}
	}
	return Analysable, "", ""
}

// RowRoot is a path that gets a row: a root's, or that of a Kustomization
// which a root applies directly.
type RowRoot struct {
	Path     string
	Clusters []cluster.Name
}

// RowRoots finds the rows: distinct paths, sorted.
func RowRoots(applied []*placement.Applied) []RowRoot {
	by := map[string]map[cluster.Name]bool{}
	for _, a := range applied {
		direct := a.Root != nil || a.Parent != nil && a.Parent.Root != nil
		if !direct || !a.HasDirectory {
			continue
		}
		if by[a.Directory] == nil {
			by[a.Directory] = map[cluster.Name]bool{}
		}
		by[a.Directory][a.Cluster] = true
	}
	out := make([]RowRoot, 0, len(by))
	for _, p := range slices.Sorted(maps.Keys(by)) {
		out = append(out, RowRoot{p, slices.Sorted(maps.Keys(by[p]))})
	}
	return out
}

// Elsewhere is the root of the row that counts the files below no Flux root.
const Elsewhere = ""

// rowOf is the longest row path that a file lies below.
func rowOf(p string, rows map[string]bool) string {
	for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p[:i], '/') {
		if rows[p[:i]] {
			return p[:i]
		}
	}
	return Elsewhere
}

// Row counts the files of one Flux root. The rows of a census add up to its
// files.
type Row struct {
	Root     string
	Clusters []cluster.Name
	Files    int
	// Files = Analysable + SeenNotAnalysed + Unresolved + Uncovered.
	Analysable, SeenNotAnalysed, Unresolved, Uncovered int
	// RenderInputs are the files whose role is not object; they are part of
	// the other counts.
	RenderInputs int
	// Seen counts the objects that land somewhere and whose kind no pack
	// handles, each once where it is written, by "Kind.group".
	Seen map[string]int
}

// Rows counts. Every RowRoot has a row, the files below none have one with the
// root Elsewhere unless there are none.
func Rows(files []File, roots []RowRoot, packs *Packs) []Row {
	by := map[string]*Row{}
	for _, r := range roots {
		by[r.Path] = &Row{Root: r.Path, Clusters: r.Clusters, Seen: map[string]int{}}
	}
	for _, f := range files {
		r := by[f.Root]
		if r == nil {
			r = &Row{Root: f.Root, Seen: map[string]int{}}
			by[f.Root] = r
		}
		r.Files++
		switch f.Analysis {
		case Analysable:
			r.Analysable++
		case SeenNotAnalysed:
			r.SeenNotAnalysed++
		case Unresolved:
			r.Unresolved++
		case Uncovered:
			r.Uncovered++
		}
		if f.Role != kustomize.RoleObject {
			r.RenderInputs++
		}
		for _, o := range f.Objects {
			if o.Placed && !packs.Of(o.Kind).Handled {
				r.Seen[o.Kind.String()]++
			}
		}
	}
	out := make([]Row, 0, len(by))
	for _, k := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[k])
	}
	return out
}

// PackCount is what the census saw of a pack.
type PackCount struct {
	Pack
	Kinds   map[string]int
	Objects int
	// Files would turn analysable if just this pack were handled.
	Files int
}

// CountPacks counts the objects of every pack that land somewhere, packs
// that would add most files first.
func CountPacks(files []File, packs *Packs) []PackCount {
	by := map[string]*PackCount{}
	for _, f := range files {
		missing := map[string]bool{}
		for _, o := range f.Objects {
			if !o.Placed {
				continue
			}
			k := o.Kind
			p := packs.Of(k)
			c := by[p.Name]
			if c == nil {
				c = &PackCount{Pack: p, Kinds: map[string]int{}}
				by[p.Name] = c
			}
			c.Kinds[k.String()]++
			c.Objects++
			if !p.Handled {
				missing[p.Name] = true
			}
		}
		if f.Analysis == SeenNotAnalysed && len(missing) == 1 {
			for name := range missing {
				by[name].Files++
			}
		}
	}
	var out []PackCount
	for _, k := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[k])
	}
	slices.SortStableFunc(out, func(a, b PackCount) int {
		return cmp.Or(b.Files-a.Files, b.Objects-a.Objects)
	})
	return out
}

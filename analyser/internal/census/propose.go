package census

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Proposal is a directory that may be a root, for a user to judge: nothing in the
// repository says that a cluster reconciles itself from it.
type Proposal struct {
	// Cluster is a name made of the path.
	Cluster string
	Path    string
	// Reason is what speaks for it, for people.
	Reason string
}

// maxProposals is how many people will look at.
const maxProposals = 5

// propose finds directories that may be roots, the likeliest first:
//
//   - what `flux bootstrap` prepared: the parent of a directory with a
//     gotk-sync.yaml that holds nothing but comments, as a template repository has
//     it before its first bootstrap;
//   - directories with Flux Kustomizations that nothing else here applies;
//   - where there are neither, directories whose kustomization file no other one
//     names, with the most manifests first.
func (w *worklist) propose() []Proposal {
	p := &proposer{w: w, applied: map[string]bool{}, named: map[string]bool{}, syncs: map[string]int{}, layers: map[string]bool{}}
	for _, e := range w.snap.Entries() {
		if e.IsFile() && isManifest(e.Path) {
			p.look(e)
		}
	}
	out := p.prepared
	out = append(out, p.controlled()...)
	if len(out) == 0 {
		out = p.unnamed()
	}
	out = out[:min(len(out), maxProposals)]
	roots := make([]*root, len(out))
	for i := range out {
		roots[i] = &root{Root: placement.Root{Path: out[i].Path}}
	}
	for i, name := range clusterNames(roots, nil) {
		out[i].Cluster = string(name)
	}
	return out
}

type proposer struct {
	w        *worklist
	prepared []Proposal
	// applied are the directories that Flux Kustomizations point to, other than
	// at themselves, named those that kustomization files do.
	applied, named map[string]bool
	// syncs counts Flux Kustomizations by directory, layers are directories with
	// a kustomization file.
	syncs  map[string]int
	layers map[string]bool
}

func (p *proposer) look(e snapshot.Entry) {
	dir := parentOf(e.Path)
	f := p.w.file(e)
	if f == nil {
		return
	}
	if path.Base(e.Path) == "gotk-sync.yaml" && f.Err == nil && len(objects(f)) == 0 {
		at := dir
		if path.Base(dir) == "flux-system" {
			at = parentOf(dir)
		}
		p.prepared = append(p.prepared, Proposal{Path: at, Reason: e.Path + " holds nothing yet: flux bootstrap fills it"})
		return
	}
	if kustomize.IsKustomizationFile(path.Base(e.Path)) {
		p.layers[dir] = true
		for _, d := range f.Documents {
			for _, key := range []string{"resources", "bases", "components"} {
				p.name(dir, field(d.Node(), key))
			}
		}
		return
	}
	for _, d := range f.Documents {
		if d.Ref.Group != fluxKustomizeGroup || d.Ref.Name == "" {
			continue
		}
		for _, s := range p.w.declared(p.w.raw(d)).Syncs {
			p.syncs[dir]++
			if to := p.w.engine(s.Engine).Directory(s.Path); !below(e.Path, to) {
				p.applied[to] = true
			}
		}
	}
}

// name notes the directories that a list of a kustomization file names.
func (p *proposer) name(dir string, list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for _, n := range list.Content {
		if to, ok := snapshot.Join(dir, n.Value); ok && to != dir {
			p.named[to] = true
		}
	}
}

func parentOf(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// reached reports a directory that something in the repository applies.
func (p *proposer) reached(dir string) bool {
	for d := dir; ; d = parentOf(d) {
		if p.applied[d] || p.named[d] {
			return true
		}
		if d == "" {
			return false
		}
	}
}

// controlled are directories with Flux Kustomizations that nothing applies. One
// below another is left to that one.
func (p *proposer) controlled() []Proposal {
	dirs := slices.Sorted(maps.Keys(p.syncs))
	in := map[string]int{}
	for _, dir := range dirs {
		if p.reached(dir) {
			continue
		}
		top := dir
		for d := dir; d != ""; {
			d = parentOf(d)
			if p.syncs[d] > 0 && !p.reached(d) {
				top = d
			}
		}
		in[top] += p.syncs[dir]
	}
	tops := slices.SortedFunc(maps.Keys(in), func(a, b string) int {
		return cmp.Or(cmp.Compare(in[b], in[a]), strings.Compare(a, b))
	})
	var out []Proposal
	for _, dir := range tops {
		out = append(out, Proposal{Path: dir, Reason: "it holds " + count(in[dir], "Flux Kustomization") + ", which nothing here applies"})
	}
	return slices.DeleteFunc(out, func(o Proposal) bool {
		return slices.ContainsFunc(p.prepared, func(q Proposal) bool { return o.Path == q.Path })
	})
}

// unnamed are directories with a kustomization file that no other one names.
func (p *proposer) unnamed() []Proposal {
	manifests := map[string]int{}
	for _, e := range p.w.snap.Entries() {
		if !e.IsFile() || !isManifest(e.Path) {
			continue
		}
		for d := parentOf(e.Path); ; d = parentOf(d) {
			manifests[d]++
			if d == "" {
				break
			}
		}
	}
	var out []Proposal
	for dir := range p.layers {
		if !p.reached(dir) {
			out = append(out, Proposal{Path: dir, Reason: "its kustomization file is named by no other one; " + count(manifests[dir], "manifest") + " below it"})
		}
	}
	slices.SortFunc(out, func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(manifests[b.Path], manifests[a.Path]), strings.Compare(a.Path, b.Path))
	})
	return out
}

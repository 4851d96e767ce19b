// Package source tells what a source object delivers: whether it means this
// repository (Resolve), and which files its artifact holds (View, Generate).
//
// The artifact view is exact where the repository tells everything: it uses
// the controllers' own ignore patterns (fluxcd/pkg/sourceignore) in their
// order, and copies directories and globs as source-watcher does. What it
// cannot see are other repositories that are grafted in, submodules, archives
// that are extracted and files that are merged: they are named in
// View.Unknown, and a Problem beside a View says that the view is the best that
// is known.
package source

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// Other gives the artifact of another source object, or says why it cannot be
// told; a Problem beside a View is a view that is not certain. It must end
// cycles itself.
type Other func(controller.SourceRef) (*controller.View, *controller.Problem)

// View is the artifact of a source object that delivers this repository, from
// the directory sub of it. A nil View comes with a Problem: the source cannot
// be reconciled, or it is none that has files. A Problem beside a View says
// what makes it uncertain.
func View(repo *snapshot.Snapshot, src controller.Source, sub string, other Other) (*controller.View, *controller.Problem) {
	sub = clean(sub)
	if sub != "" && !repo.IsDir(sub) {
		return nil, &controller.Problem{Code: "subdirectory_missing", Message: fmt.Sprintf("the repository has no directory %q", sub), Pos: src.Pos}
	}
	t := checkout(repo, sub)
	var uncertain *controller.Problem
	var err *controller.Problem
	switch src.Object.Kind {
	case "GitRepository":
		uncertain, err = t.git(src, other)
	case "OCIRepository":
		err = t.oci(src)
	case "Bucket":
		err = t.bucket(src)
	default:
		err = &controller.Problem{Code: "no_artifact", Message: "a " + src.Object.Kind + " has no files of its own"}
	}
	if err != nil {
		if err.Pos == 0 {
			err.Pos = src.Pos
		}
		return nil, err
	}
	v, err := t.view()
	if err != nil {
		return nil, err
	}
	return v, uncertain
}

// git makes the artifact of a GitRepository (upstream: source-controller
// gitrepository_controller: checkout, reconcileInclude, reconcileArtifact).
func (t *tree) git(src controller.Source, other Other) (uncertain, err *controller.Problem) {
	if err := t.sparse(src.SparseCheckout); err != nil {
		return nil, err
	}
	for p, e := range t.files {
		if e.Mode == snapshot.Submodule && src.RecurseSubmodules {
			uncertain = &controller.Problem{Code: "submodule_content", Message: "the content of submodules is not in this repository", Pos: src.Pos}
			t.addUnknown(p, uncertain)
		}
	}
	for _, in := range src.Includes {
		p, err := t.include(in, other)
		if err != nil {
			return nil, err
		}
		if p != nil && uncertain == nil {
			uncertain = p
		}
	}
	own, err := t.fileRules()
	if err != nil {
		return nil, err
	}
	return uncertain, t.archive(archiveRules(slices.Concat(own, specRules(src))))
}

// sparse keeps what spec.sparseCheckout names. The entries are prefixes of
// paths, not directories: "apps" keeps apps.yaml and apps-old/ as well
// (upstream: go-git Index.SkipUnless). Each must exist afterwards.
func (t *tree) sparse(dirs []string) *controller.Problem {
	if len(dirs) == 0 {
		return nil
	}
	kept := newTree(t.read)
	for p, e := range t.files {
		if slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(p, strings.TrimPrefix(d, "./")) }) {
			kept.put(e)
			if t.dirs[p] {
				kept.mkdir(p)
			}
		} else {
			t.excluded[e.Origin] = controller.Exclusion{Reason: "sparse_checkout"}
		}
	}
	t.files, t.dirs = kept.files, kept.dirs
	for _, d := range dirs {
		if !t.exists(clean(d)) {
			return &controller.Problem{Code: "sparse_checkout_missing", Message: fmt.Sprintf("spec.sparseCheckout names %q, which does not exist", d)}
		}
	}
	return nil
}

func (t *tree) exists(p string) bool {
	_, ok := t.files[p]
	return ok || p == "" || t.dirs[p]
}

// include grafts the artifact of another source (upstream: reconcileInclude,
// Storage.CopyToPath: a rename, which fails when the target exists).
func (t *tree) include(in controller.Include, other Other) (uncertain, err *controller.Problem) {
	to, from := clean(in.ToPath), clean(in.FromPath)
	for range 40 { // the controller joins paths through symbolic links
		next := t.throughLinks(to + "/")
		if to+"/" == next {
			break
		}
		to = clean(next)
	}
	v, problem := other(in.Source)
	if v != nil && problem == nil {
		problem = isUnknown(v.Unknown, from)
	}
	if v == nil || isUnknown(v.Unknown, from) != nil {
		if problem == nil {
			problem = &controller.Problem{Code: "include_unknown", Message: "the artifact of " + in.Source.String() + " is not known"}
		}
		code := "include_unknown"
		if problem.Code == "other_repository" || problem.Code == "other_ref" {
			code = problem.Code
		}
		uncertain = &controller.Problem{
			Code: code, Pos: in.Pos,
			Message: fmt.Sprintf("%s is included at %q, and its content is not known: %s", in.Source, to, problem.Message),
		}
		t.addUnknown(to, uncertain)
		return uncertain, nil
	}
	if file, ok := v.Lookup(from); ok {
		if t.dirs[to] || to == "" {
			return nil, t.conflict(in, to)
		}
		if old, ok := t.files[to]; ok {
			t.excluded[old.Origin] = controller.Exclusion{Reason: "replaced", Pos: in.Pos}
		}
		if err := t.graft(in, to, file); err != nil {
			return nil, err
		}
		return problem, nil
	}
	if !v.IsDir(from) {
		return nil, &controller.Problem{Code: "include_missing_path", Pos: in.Pos, Message: fmt.Sprintf("%s has no %q to include", in.Source, from)}
	}
	if t.exists(to) {
		return nil, t.conflict(in, to)
	}
	t.mkdir(to)
	for _, e := range v.Below(from) {
		if err := t.graft(in, to+"/"+strings.TrimPrefix(strings.TrimPrefix(e.Path, from), "/"), e); err != nil {
			return nil, err
		}
	}
	for _, u := range v.Unknown {
		if rest, ok := strings.CutPrefix(u.Path, from); ok {
			t.addUnknown(clean(to+"/"+rest), u.Problem)
		}
	}
	return problem, nil
}

func (t *tree) graft(in controller.Include, to string, e snapshot.Entry) *controller.Problem {
	for d := to; ; {
		i := strings.LastIndexByte(d, '/')
		if i < 0 {
			break
		}
		d = d[:i]
		if _, ok := t.files[d]; ok {
			return t.conflict(in, to)
		}
	}
	e.Path = to
	t.put(e)
	return nil
}

func (t *tree) conflict(in controller.Include, to string) *controller.Problem {
	return &controller.Problem{Code: "include_conflict", Pos: in.Pos, Message: fmt.Sprintf("%s cannot be included at %q: something else is there", in.Source, to)}
}

// oci makes the artifact of an OCIRepository whose layer was pushed from the
// tree with the defaults of `flux push artifact`; the controller then archives
// it with its own ignore rules, unless it keeps the layer as it is.
func (t *tree) oci(src controller.Source) *controller.Problem {
	if err := t.archive(pushRules()); err != nil || src.LayerCopy {
		return err
	}
	own, err := t.fileRules()
	if err != nil {
		return err
	}
	return t.archive(archiveRules(slices.Concat(own, specRules(src))))
}

// bucket makes the artifact of a Bucket that holds the tree: only the
// .sourceignore of the root counts, and nothing is excluded by default
// (upstream: bucket_controller fetchEtagIndex).
func (t *tree) bucket(src controller.Source) *controller.Problem {
	var own rules
	root, hasRoot := t.files[".sourceignore"]
	if hasRoot && root.IsFile() {
		content, origin, err := t.ignoreFile(root)
		if err != nil {
			return err
		}
		own = readRules(content, nil, func(n int) controller.Exclusion {
			return controller.Exclusion{Reason: "sourceignore", File: origin, Line: n}
		})
	}
	for p := range t.files {
		if !strings.HasPrefix(p, src.Prefix) {
			t.exclude(p, controller.Exclusion{Reason: "prefix"})
		}
	}
	err := t.archive(newMatcher(slices.Concat(own, specRules(src))))
	t.dirs = map[string]bool{}
	if hasRoot && root.IsFile() {
		// Fetched for its rules, and part of the archive whatever they say.
		t.put(root)
		delete(t.excluded, root.Origin)
	}
	return err
}

// Views makes views of one repository and keeps them: sources that differ in
// nothing that matters share one View. It is safe for concurrent use.
type Views struct {
	repo *snapshot.Snapshot
	mu   sync.Mutex
	made map[string]*made
}

type made struct {
	once    sync.Once
	view    *controller.View
	problem *controller.Problem
}

// NewViews returns an empty cache of views of a repository.
func NewViews(repo *snapshot.Snapshot) *Views {
	return &Views{repo: repo, made: map[string]*made{}}
}

// View is the function View with a memory. Included artifacts are asked for
// each time and compared by their Key.
func (vs *Views) View(src controller.Source, sub string, other Other) (*controller.View, *controller.Problem) {
	id := fmt.Sprintf("%s\x00%s\x00%q\x00%v\x00%d\x00%q\x00%v\x00%v\x00%s", src.Object.Kind, clean(sub),
		src.Ignore, src.IgnoreSet, src.IgnorePos, src.SparseCheckout, src.RecurseSubmodules, src.LayerCopy, src.Prefix)
	if src.RecurseSubmodules || len(src.Includes) > 0 {
		id += fmt.Sprintf("\x00%d", src.Pos)
	}
	included := map[controller.SourceRef]*made{}
	for _, in := range src.Includes {
		v, p := other(in.Source)
		included[in.Source] = &made{view: v, problem: p}
		id += fmt.Sprintf("\x00%v\x00%q\x00%q\x00%d", in.Source, in.FromPath, in.ToPath, in.Pos)
		if v != nil {
			id += v.Key
		}
		if p != nil {
			id += p.Code + p.Message
		}
	}
	vs.mu.Lock()
	m := vs.made[id]
	if m == nil {
		m = &made{}
		vs.made[id] = m
	}
	vs.mu.Unlock()
	m.once.Do(func() {
		m.view, m.problem = View(vs.repo, src, sub, func(ref controller.SourceRef) (*controller.View, *controller.Problem) {
			i := included[ref]
			return i.view, i.problem
		})
	})
	return m.view, m.problem
}

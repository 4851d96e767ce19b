package census

import (
	"fmt"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

// sourceOf names a source reference on a cluster.
type sourceOf struct {
	on  cluster.Name
	ref controller.SourceRef
}

// seen is what view found out in this round.
type seen struct {
	view *controller.View
	placement.Outcome
}

// view is lookView, once a round.
func (w *worklist) view(on cluster.Name, ref controller.SourceRef, depth int) (*controller.View, placement.Outcome) {
	key := sourceOf{on, ref}
	if s, ok := w.seen[key]; ok && depth == 0 {
		return s.view, s.Outcome
	}
	v, out := w.lookView(on, ref, depth)
	if depth == 0 {
		w.seen[key] = seen{v, out}
	}
	return v, out
}

// lookView is the artifact that a source reference on a cluster means. The
// outcome is resolved when it is this repository at this commit. For another
// ref of this repository the view shows this commit, with an outcome that says
// so: the files may be reached. It is nil when nothing of this repository is.
func (w *worklist) lookView(on cluster.Name, ref controller.SourceRef, depth int) (*controller.View, placement.Outcome) {
	if depth > 8 {
		return nil, unresolved("source_cycle", "the sources behind "+ref.String()+" refer to each other")
	}
	declared, known := w.sourceOn(on, ref)
	src := declared.source
	if declared.artifact != nil {
		return w.generated(on, declared, depth)
	}
	if src == nil {
		src = &controller.Source{Object: sourceObject(ref)}
	}
	res := source.Resolve(*src, string(on), w.homes(), w.req.Sources)
	if !known {
		switch r := w.rootSource(on, ref); {
		case res.Meaning == source.ThisCommit, res.Meaning == source.OtherRepository && w.mapped(*src, on):
			// The configuration speaks of a source that stands in no file.
		case r != nil:
			if r.source != nil {
				src = r.source
			}
			res = r.delivers()
		default:
			out := unresolved("source_not_found", "no "+ref.String()+" is on "+string(on)+" as far as this repository shows; if it delivers this repository, say so under sources in the configuration")
			return w.maybe(on, src, depth), out
		}
	}
	if r := w.rootSource(on, ref); r != nil && src.Problem != nil {
		w.note("%s on %s is the source of a root and is taken to deliver this commit, though it is written wrongly: %s.", ref, on, src.Problem.Message)
		sound := *src
		sound.Problem = nil
		src, res = &sound, r.delivers()
	}
	if p := src.Problem; p != nil {
		return nil, placement.Outcome{State: placement.StateUnresolved, Reason: p.Code, Detail: p.Message, Pos: p.Pos}
	}
	if r := w.rootSource(on, ref); r != nil && res.Meaning != source.ThisCommit && !w.mapped(*src, on) {
		// The source of a root delivers this commit by definition.
		if src.Object.Kind != "GitRepository" {
			w.note("%s on %s is the source of a root and is taken to hold this commit, with the repository's root as its root.", ref, on)
		}
		res = r.delivers()
	}
	switch res.Meaning {
	case source.ThisCommit:
		return w.artifact(on, src, res.Subdirectory, depth)
	case source.OtherRef:
		v, out := w.artifact(on, src, res.Subdirectory, depth)
		if out.State == placement.Resolved {
			out = external("other_ref", ref.String()+" delivers another ref of this repository: "+res.Detail)
		}
		return v, out
	case source.OtherRepository:
		return nil, external("other_repository", ref.String()+": "+res.Detail)
	}
	reason := "source_undecided"
	if src.Object.Kind == "GitRepository" {
		return w.maybe(on, src, depth), unresolved(reason, ref.String()+": "+res.Detail)
	}
	if src.Object.Kind == "OCIRepository" || src.Object.Kind == "Bucket" || src.Object.Kind == "ExternalArtifact" {
		reason = "source_unmapped"
	}
	return nil, unresolved(reason, ref.String()+": "+res.Detail)
}

// maybe is the view of a source that may or may not deliver this repository.
func (w *worklist) maybe(on cluster.Name, src *controller.Source, depth int) *controller.View {
	if src.Object.Kind != "GitRepository" {
		return nil
	}
	v, _ := w.artifact(on, src, "", depth)
	return v
}

// delivers is what the source of a root means by definition.
func (r *root) delivers() source.Resolution {
	return source.Resolution{Meaning: source.ThisCommit, Subdirectory: r.sub}
}

// homes are the URLs and refs of the roots' own sources: a root reconciles
// this repository by definition. The clone's remote stands in where no root
// says a URL.
func (w *worklist) homes() []source.Home {
	if w.home != nil {
		return w.home
	}
	var out []source.Home
	for _, r := range w.roots {
		src := r.source
		if d, ok := w.sourceOn(r.Cluster, r.sync.Source); ok {
			src = d.source
		}
		if src == nil || src.URL == "" || w.mapped(*src, r.Cluster) {
			continue
		}
		out = append(out, source.Home{Kind: src.Object.Kind, URL: src.URL, Ref: src.Ref, Subdirectory: r.sub, Commit: w.req.Commit})
	}
	if len(out) == 0 && w.req.OriginURL != "" {
		out = append(out, source.Home{Kind: "GitRepository", URL: w.req.OriginURL, Commit: w.req.Commit})
	}
	w.home = out
	return out
}

// originURL is the first URL of the roots' sources, without user and password.
func (w *worklist) originURL() string {
	for _, h := range w.homes() {
		scheme, rest, ok := strings.Cut(h.URL, "://")
		if h.Kind != "GitRepository" || !ok {
			continue
		}
		if host, path, ok := strings.Cut(rest, "/"); ok {
			return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
		}
	}
	return ""
}

// mapped reports that the configuration decides about a source.
func (w *worklist) mapped(src controller.Source, on cluster.Name) bool {
	return len(w.req.Sources) > 0 && source.Resolve(src, string(on), nil, w.req.Sources) != source.Resolve(src, string(on), nil, nil)
}

func (w *worklist) sourceOn(on cluster.Name, ref controller.SourceRef) (declaredSource, bool) {
	cf := w.prev.clusters[on]
	if cf == nil {
		return declaredSource{}, false
	}
	d, ok := cf.sources[ref]
	return d, ok
}

// rootSource is the root of a cluster whose own source a reference names.
func (w *worklist) rootSource(on cluster.Name, ref controller.SourceRef) *root {
	for _, r := range w.roots {
		if r.Cluster == on && r.sync.Source == ref {
			return r
		}
	}
	return nil
}

// artifact is the view of a source that delivers this repository.
func (w *worklist) artifact(on cluster.Name, src *controller.Source, sub string, depth int) (*controller.View, placement.Outcome) {
	v, p := w.sources.View(*src, sub, func(ref controller.SourceRef) (*controller.View, *controller.Problem) {
		v, out := w.view(on, ref, depth+1)
		if out.State != placement.Resolved {
			return nil, &controller.Problem{Code: out.Reason, Message: out.Detail, Pos: out.Pos}
		}
		return v, nil
	})
	return w.viewed(v, p)
}

// generated is the view of an artifact that an ArtifactGenerator makes.
func (w *worklist) generated(on cluster.Name, d declaredSource, depth int) (*controller.View, placement.Outcome) {
	var other placement.Outcome
	v, p := source.Generate(*d.artifact, d.source.Generator.Sources, func(ref controller.SourceRef) (*controller.View, *controller.Problem) {
		v, out := w.view(on, ref, depth+1)
		if out.State != placement.Resolved {
			other = out
			return nil, &controller.Problem{Code: out.Reason, Message: out.Detail, Pos: out.Pos}
		}
		return v, nil
	})
	if p != nil && other.State != "" {
		return nil, other
	}
	return w.viewed(v, p)
}

// viewed keeps one view per key, so that equal views share their builds.
// A Problem beside a view is about parts of it, which the view names.
func (w *worklist) viewed(v *controller.View, p *controller.Problem) (*controller.View, placement.Outcome) {
	if p != nil && (v == nil || len(v.Unknown) == 0) {
		return nil, placement.Outcome{State: placement.StateUnresolved, Reason: p.Code, Detail: p.Message, Pos: p.Pos}
	}
	if same, ok := w.views[v.Key]; ok {
		return same, placement.Outcome{State: placement.Resolved}
	}
	w.views[v.Key] = v
	return v, placement.Outcome{State: placement.Resolved}
}

// unknownPart is the outcome for content of an artifact that is not in this
// repository.
func unknownPart(p *controller.Problem) placement.Outcome {
	out := placement.Outcome{State: placement.StateUnresolved, Reason: p.Code, Detail: p.Message, Pos: p.Pos}
	switch p.Code {
	case "other_repository", "other_ref", "submodule_content":
		out.State = placement.External
	}
	return out
}

// denied reports that a controller on a cluster refuses to follow a reference
// into another namespace, and what says so (upstream: the flag
// --no-cross-namespace-refs; the operator sets it for spec.cluster.multitenant).
func (w *worklist) denied(on cluster.Name, controllerName, from string, ref controller.SourceRef) (string, bool) {
	if ref.Namespace == from {
		return "", false
	}
	if seen := w.running(on, controllerName); seen != nil {
		return ref.String() + " is in another namespace than the object that reads it, and " + controllerName + " was seen to run with --no-cross-namespace-refs",
			flagOn(seen.Args, "--no-cross-namespace-refs")
	}
	cf := w.prev.clusters[on]
	if cf == nil {
		return "", false
	}
	why := ""
	if d := cf.controllers[controllerName]; d != nil && hasFlag(d, "--no-cross-namespace-refs") {
		why = controllerName + " runs with --no-cross-namespace-refs"
	}
	if i := cf.instance; i != nil && text(i.Node(), "spec", "cluster", "multitenant") == "true" {
		why = "the FluxInstance is multitenant"
	}
	return ref.String() + " is in another namespace than the object that reads it, and " + why, why != ""
}

func unresolved(reason, detail string) placement.Outcome {
	return placement.Outcome{State: placement.StateUnresolved, Reason: reason, Detail: detail}
}

func external(reason, detail string) placement.Outcome {
	return placement.Outcome{State: placement.External, Reason: reason, Detail: detail}
}

// whyLeftOut is why a file of the repository, or the directory itself, is not
// in an artifact; empty when it is there or nothing says why.
func whyLeftOut(v *controller.View, p string) string {
	x, ok := v.Excluded[p]
	if !ok {
		for path, e := range v.Excluded {
			if strings.HasPrefix(path, p+"/") || strings.HasPrefix(p, path+"/") {
				if !ok || e.Reason < x.Reason {
					x, ok = e, true
				}
			}
		}
	}
	if !ok {
		return ""
	}
	text := leftOutText[x.Reason]
	if text == "" {
		text = x.Reason
	}
	if x.Pattern != "" {
		text += " (" + x.Pattern + ")"
	}
	if x.File != "" {
		text += fmt.Sprintf(" in %s:%d", x.File, x.Line)
	}
	return text
}

var leftOutText = map[string]string{
	"symlink": "a symbolic link, which is not in the artifact", "submodule": "a submodule, which is empty in the artifact",
	"default": "excluded by Flux's default patterns", "vcs": "excluded with version control files",
	"sourceignore": "excluded by a .sourceignore pattern", "spec.ignore": "excluded by spec.ignore of the source",
	"sparse_checkout": "outside the source's sparse checkout", "push": "left out by the tool that pushes the artifact",
	"prefix": "outside the bucket's prefix", "not_copied": "not copied into the generated artifact",
	"replaced": "replaced by an included file",
}

package census

import (
	"cmp"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// absorb records what the objects of a Sync mean to others and queues further
// Syncs.
func (w *worklist) absorb(a *placement.Applied) {
	objects := a.Objects
	for i := 0; i < len(objects); i++ {
		o := objects[i]
		if k := o.Ref.Key(); k.Group == fluxKustomizeGroup || k.Group == fluxHelmGroup {
			w.next.on(a.Target).named[k] = true
		}
		if a.Blocked == nil || a.State == placement.External || a.Blocked == &a.Outcome && a.Arrived[o] {
			w.next.on(a.Target).record(o)
		}
		d := w.declared(o)
		for _, made := range d.Objects {
			if a.Makers == nil {
				a.Makers = map[*kustomize.Object]object.Key{}
			}
			a.Makers[made] = o.Ref.Key()
		}
		objects = append(objects[:len(objects):len(objects)], d.Objects...)
		w.recordSources(a, o, d)
		for _, s := range d.Syncs {
			w.child(a, o, &s)
		}
		for _, r := range d.Roots {
			w.recordSources(a, o, controller.Declared{Sources: []controller.Source{r.Source}})
			w.child(a, o, &r.Sync)
		}
		for _, r := range d.Releases {
			a.Releases = append(a.Releases, w.release(a, o, &r))
		}
		switch p := d.Problem; {
		case p == nil || a.Blocked != nil:
		case p.Code == "template_failed":
			w.note("%s %s/%s fails, and nothing is made of it: %s", o.Ref.Kind, o.Ref.Namespace, o.Ref.Name, p.Message)
		default:
			w.note("%s %s/%s declares more than can be told: %s", o.Ref.Kind, o.Ref.Namespace, o.Ref.Name, p.Message)
		}
	}
	a.Objects = objects
}

func (w *worklist) child(a *placement.Applied, o *kustomize.Object, s *controller.Sync) {
	cf := w.next.on(a.Target)
	if _, ok := cf.syncs[s.Object.Key()]; !ok && a.Blocked == nil {
		cf.syncs[s.Object.Key()] = o
	}
	w.enqueue(&placement.Applied{Cluster: a.Target, Sync: s, Object: o, Parent: a})
}

func (w *worklist) recordSources(a *placement.Applied, o *kustomize.Object, d controller.Declared) {
	cf := w.next.on(a.Target)
	add := func(ref controller.SourceRef, ds declaredSource) {
		if old, ok := cf.sources[ref]; !ok || old.by != nil && ds.by == nil {
			cf.sources[ref] = ds
		}
	}
	var by *blockedFact
	if a.Blocked != nil {
		by = &blockedFact{a.Blocked.Reason}
	}
	for _, s := range d.Sources {
		ref := controller.SourceRef{Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name}
		add(ref, declaredSource{object: o, source: &s, by: by})
		if s.Generator != nil {
			for _, art := range s.Generator.Artifacts {
				ref := controller.SourceRef{Kind: "ExternalArtifact", Namespace: cmp.Or(art.Namespace, s.Object.Namespace), Name: art.Name}
				add(ref, declaredSource{object: o, source: &s, artifact: &art, by: by})
			}
		}
	}
}

// declared is what an object declares, read once.
func (w *worklist) declared(o *kustomize.Object) controller.Declared {
	if d, ok := w.read[o]; ok {
		return d
	}
	for _, e := range w.engines {
		if e.Handles(o.Ref.GroupKind()) {
			d, known := w.memory.declared(o)
			if !known {
				d = e.Read(o)
				for _, made := range d.Objects {
					if made.History == nil { // which knows the nodes
						w.docs.Keep(made.Tree)
					}
				}
			}
			w.read[o] = d
			return d
		}
	}
	return controller.Declared{} // of most objects, and not worth remembering
}

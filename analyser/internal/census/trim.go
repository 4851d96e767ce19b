package census

import (
	"maps"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
)

// What a fleet of a hundred thousand files builds is more than may be kept: here is
// let go of what no later stage looks at.

// trim ends a round: of what was built, and what was read of it, the next round needs
// no more than this one used. What it needs again after all is built again.
func (w *worklist) trim() {
	w.memo, w.used = w.used, make(map[string]*controller.Result, len(w.used))
	results := make(map[*controller.Result]bool, len(w.memo))
	read := make(map[*kustomize.Object]controller.Declared, len(w.read))
	var keep func([]*kustomize.Object)
	keep = func(objects []*kustomize.Object) {
		for _, o := range objects {
			if d, ok := w.read[o]; ok {
				if _, kept := read[o]; !kept {
					read[o] = d
					keep(d.Objects)
				}
			}
		}
	}
	for _, r := range w.memo {
		if !results[r] {
			results[r] = true
			keep(r.Objects)
		}
	}
	for _, o := range w.raws {
		keep([]*kustomize.Object{o})
	}
	w.read = read
	maps.DeleteFunc(w.suspected, func(r *controller.Result, _ []*kustomize.Object) bool { return !results[r] })
}

// letGo ends the rounds: nothing is built any more, unless a Memory keeps the
// builders for the next census.
func (w *worklist) letGo() {
	w.memo, w.used = nil, nil
	if w.memory == nil {
		w.builders, w.suspected = nil, nil
	}
}

package census

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// wave builds what is queued from an index on with all processors, so that
// evaluating it finds the builds in the memo. Builds depend on the facts of the
// round before alone; everything that is decided is decided one by one, in
// order.
func (w *worklist) wave(from int) {
	w.decided = from
	var jobs []func() *controller.Result
	var keys []string
	planned := map[string]bool{}
	for _, a := range w.queue[from:] {
		engine := w.engine(a.Sync.Engine)
		view, _ := w.view(a.Cluster, a.Sync.Source, 0)
		if view == nil || !view.IsDir(engine.Directory(a.Sync.Path)) {
			continue
		}
		key, build := w.plan(a, view, engine)
		if _, done := w.memo[key]; done || planned[key] {
			continue
		}
		planned[key] = true
		keys, jobs = append(keys, key), append(jobs, build)
	}
	results := make([]*controller.Result, len(jobs))
	each(len(jobs), func(i int) {
		if w.ctx.Err() == nil {
			results[i] = jobs[i]()
		}
		w.working()
	})
	for i, r := range results {
		if r != nil {
			w.memo[keys[i]] = r
		}
	}
}

// working tells that builds go on while nothing is decided yet: a wave may take
// minutes, and so may one build.
func (w *worklist) working() {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.progress("building", int64(w.decided), int64(len(w.queue)), "kustomizations")
}

// each calls f with 0 to n-1 on all processors and waits.
func each(n int, f func(int)) {
	if n == 0 {
		return
	}
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range work {
				f(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// plan is the build of a Sync and the key that equal builds have.
func (w *worklist) plan(a *placement.Applied, view *controller.View, engine controller.Engine) (key string, build func() *controller.Result) {
	s, vars, complete, strict := w.inputs(a)
	b := w.builder(view)
	overlay := s.Overlay
	overlay.Patches = nil
	inputs := fmt.Sprintf("%q\x00%#v\x00%q\x00%q %q\x00%t\x00%q\x00%t%t%t%t%q", s.Path, overlay, patches(s),
		sorted(s.CommonLabels), sorted(s.CommonAnnotations), s.Decryption, sorted(vars), complete, strict,
		s.Variables.Declared, s.Variables.Always, s.Variables.Hidden)
	return view.Key + "\x00" + inputs, func() *controller.Result {
		k := b.Build(engine.Target(s))
		return w.memory.result(k, inputs, func() *controller.Result {
			r := engine.Finish(k, s, vars, complete, strict, b.Options().NoShortcuts)
			for _, o := range r.Objects {
				w.docs.Keep(o.Tree)
			}
			return r
		})
	}
}

// builder is the Builder of a view.
func (w *worklist) builder(view *controller.View) *kustomize.Builder {
	b := w.builders[view.Key]
	if b == nil {
		options := w.req.Limits.Build
		options.Working = w.working
		options.Unshared, options.NoShortcuts = w.req.NoShortcuts, w.req.NoShortcuts
		b = w.memory.builder(view, w.docs, options)
		w.builders[view.Key] = b
	}
	return b
}

// build builds a Sync, or returns what an equal one built before.
func (w *worklist) build(a *placement.Applied, view *controller.View, engine controller.Engine) *controller.Result {
	key, build := w.plan(a, view, engine)
	r, ok := w.memo[key]
	if !ok {
		r = build()
		w.memo[key] = r
	}
	w.used[key] = r
	return r
}

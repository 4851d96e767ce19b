package kustomize

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// layer is what a kustomization file yields before the steps that run once, at
// the top of a build (upstream: KustTarget.AccumulateTarget). It is immutable
// and shared by all that build on it.
type layer struct {
	entries []*entry
	config  *fieldConfig
	vars    types.VarSet
	varsAt  map[string]position.Pos
	// closure are the directories of the layers below, each once.
	closure []string
	outside outside
	err     *Failure
	// cost is what the layer takes from a run's budget and height how many levels
	// of layers are below it: a layer that was built before counts as if it were
	// built again, so that a limit does not depend on what was built before.
	cost, height int
	secrets      secrets
	record       *record
}

// outside is what a layer has from outside the snapshot, and what cannot be
// told because of it.
type outside struct {
	external   []External
	unresolved *Failure
}

func (o *outside) add(p outside) {
	o.external = append(o.external, p.external...)
	if o.unresolved == nil {
		o.unresolved = p.unresolved
	}
}

// layerKey is everything that decides what a layer yields. Namespaces, patches
// and the like of upper layers do not reach down; only build metadata does.
type layerKey struct {
	dir    string
	origin string // path from the target, "" without build metadata
	traced bool
	// noRemoteBases: the controller refuses bases from elsewhere, here and below.
	noRemoteBases bool
}

// run is one build.
type run struct {
	b       *Builder
	overlay *Overlay
	// isolated builds neither use nor fill the cache of layers, because they
	// run under an OpenAPI schema of their own.
	isolated bool
	// budget of objects that all layers together may hold, counted once for each
	// layer that they pass through, the layers counted as well.
	budget int
	// metadataAt is the line that asks for build metadata.
	metadataAt position.Pos
}

// target is a kustomization file at work (upstream: KustTarget).
type target struct {
	*run
	file *kfile
	k    *types.Kustomization
	// chain are the directories from the top of the build to this one.
	chain []string
	// origin is nil unless the build keeps origin annotations.
	origin   *resource.Origin
	metadata []string

	outside outside
	closure map[string]bool
	order   []string // of closure
	height  int      // levels of layers and components below
	// secrets are those of this target and of all below.
	secrets secrets
}

// accumulation is what a target works on (upstream: ResAccumulator). A
// component works on that of its parent.
type accumulation struct {
	resources
	config *fieldConfig
	vars   types.VarSet
	// varsAt are the lines of vars, by name.
	varsAt map[string]position.Pos
}

func (r *run) newAccumulation() *accumulation {
	return &accumulation{
		resources: resources{long: r.b.options.NoShortcuts},
		config:    &fieldConfig{}, vars: types.NewVarSet(), varsAt: map[string]position.Pos{},
	}
}

func (r *run) newTarget(f *kfile, chain []string, origin *resource.Origin, metadata []string) *target {
	return &target{
		run: r, file: f, k: f.k, chain: append(chain[:len(chain):len(chain)], f.dir),
		origin: origin, metadata: metadata, closure: map[string]bool{},
	}
}

// layer builds the layer of a directory, or takes what was built before.
func (r *run) layer(dir string, chain []string, origin *resource.Origin, metadata []string) *layer {
	key := layerKey{dir: dir, traced: origin != nil, noRemoteBases: r.overlay != nil && r.overlay.NoRemoteBases}
	if origin != nil {
		key.origin = origin.Path
	}
	if !r.isolated {
		if l := r.b.cachedLayer(key); l != nil {
			r.b.view.asked.add(l.record)
			if dir := cycle(chain, l.closure); dir != "" {
				return &layer{err: fail(codeCycle, 0, cycleMessage(dir))}
			}
			if len(chain)+l.height < r.b.options.MaxDepth && l.cost <= r.budget {
				r.budget -= l.cost
				return l
			}
			// Built again, to fail at the line where the limit is reached.
		}
	}
	outer, record := r.b, r.b.newRecord()
	r.b = outer.under(record)
	defer func() { // also when kustomize panics
		r.b = outer
		record.done()
		outer.view.asked.add(record)
	}()
	f := r.b.kfile(dir)
	if f.failure != nil {
		return &layer{err: f.failure}
	}
	if failure := r.setSchema(f, false); failure != nil {
		return &layer{err: failure}
	}
	if f.k.Kind == types.ComponentKind {
		return &layer{err: fail(codeComponentKind, f.field("kind"), shown(dir)+" is a Component: it belongs in components, not in resources")}
	}
	if failure := r.nest(len(chain), f.base); failure != nil {
		return &layer{err: failure}
	}
	r.b.options.Working()
	budget := r.budget
	l := r.newTarget(f, chain, origin, metadata).build()
	l.cost, l.record = budget-r.budget, record
	if r.isolated || l.err != nil && (l.err.Code == codeCycle || l.err.Code == codeLimit) {
		// Whether a chain of layers is a cycle depends on where it starts.
		return l
	}
	return r.b.cacheLayer(key, l)
}

// build accumulates the target into a layer.
func (t *target) build() *layer {
	acc, err := t.accumulate(t.newAccumulation())
	l := &layer{outside: t.outside, closure: t.order, height: t.height, secrets: t.secrets}
	if err != nil {
		l.err = wrap(err, codeUnsupported, t.file.base, "kustomize cannot build this layer")
		return l
	}
	l.entries, l.config, l.vars, l.varsAt = acc.list, acc.config, acc.vars, acc.varsAt
	for _, e := range l.entries {
		e.settle()
		e.shared = true
	}
	return l
}

// cycle returns a directory of the list that is or contains one of the chain,
// or "".
func cycle(chain, dirs []string) string {
	for _, d := range dirs {
		for _, c := range chain {
			if contains(d, c) {
				return shown(d)
			}
		}
	}
	return ""
}

func cycleMessage(dir string) string {
	return "a cycle of layers: " + dir + " is or contains a directory that uses it"
}

// accumulate runs the target on an accumulation: resources, configurations,
// generators, components, transformers, validators, vars.
func (t *target) accumulate(acc *accumulation) (*accumulation, error) {
	if err := t.accumulateResources(acc, t.k.Resources, t.file.resourceAt, RoleObject); err != nil {
		return nil, err
	}
	if err := t.mergeConfigurations(acc); err != nil {
		return nil, err
	}
	if err := t.tolerate(t.runGenerators(acc)); err != nil {
		return nil, err
	}
	acc, err := t.accumulateComponents(acc)
	if err != nil {
		return nil, err
	}
	if err := t.runTransformers(acc); err != nil {
		return nil, err
	}
	if err := t.tolerate(t.runValidators(acc)); err != nil {
		return nil, err
	}
	if err := t.tolerate(t.mergeVars(acc)); err != nil {
		return nil, err
	}
	return acc, nil
}

// tolerate turns a failure that objects from outside the snapshot could
// prevent into something that cannot be told.
func (t *target) tolerate(err error) error {
	if err == nil || len(t.outside.external) == 0 {
		return err
	}
	f := wrap(err, codeUnsupported, t.file.base, "kustomize cannot build this layer")
	if !undecidable[f.Code] {
		return err
	}
	if t.outside.unresolved == nil {
		t.outside.unresolved = f
	}
	return nil
}

// accumulateResources adds files and layers in order. at tells where entry i is
// written.
func (t *target) accumulateResources(acc *accumulation, paths []string, at func(int) position.Pos, role Role) error {
	ids := acc.ids()
	for i, p := range paths {
		pos := at(i)
		if isRemoteFile(p) {
			t.outside.external = append(t.outside.external, External{Kind: remoteKind(p), URL: p, Pos: pos})
			if role != RoleObject {
				t.undecided(pos)
			}
			if err := t.remoteForbidden(p, pos); err != nil {
				return err
			}
			continue
		}
		entries, errF := t.fileEntries(p, pos)
		if errF == nil {
			if f := t.spend(len(entries), pos); f != nil {
				return f
			}
			if err := acc.addTo(ids, entries...); err != nil {
				return err
			}
			continue
		}
		if isRemoteBase(p) {
			t.outside.external = append(t.outside.external, External{Kind: externalBase, URL: p, Pos: pos})
			if role != RoleObject {
				t.undecided(pos)
			}
			if err := t.remoteForbidden(p, pos); err != nil {
				return err
			}
			continue
		}
		dir, errD := resolveDir(t.b.view, t.file.dir, p, pos)
		if errD != nil {
			// A file that is there and wrong says more than a directory
			// that is not.
			if errF.Code != codeNotFound || errD.Code == codeOutside {
				if errD.Code == codeOutside && errF.Code == codeNotFound {
					return errD
				}
				return errF
			}
			return errD
		}
		if err := t.accumulateLayer(acc, ids, dir, p, pos); err != nil {
			return err
		}
	}
	return nil
}

// undecided records that an input from elsewhere changes objects in ways that
// cannot be told.
func (t *target) undecided(pos position.Pos) {
	if t.outside.unresolved == nil {
		t.outside.unresolved = fail(codeRemoteInput, pos, "the build changes objects with an input that is not in the repository")
	}
}

func (t *target) remoteForbidden(p string, pos position.Pos) error {
	if t.overlay != nil && t.overlay.NoRemoteBases && remoteKind(p) == externalBase {
		return fail(codeRemote, pos, "the controller does not allow remote bases")
	}
	return nil
}

// spend takes n objects from the budget.
func (r *run) spend(n int, pos position.Pos) *Failure {
	if r.budget -= n; r.budget < 0 {
		return fail(codeLimit, pos, fmt.Sprintf("the build handles more than %d objects and layers (--max-build-objects)", r.b.options.MaxObjects))
	}
	return nil
}

// nest checks that a layer may stand below depth others.
func (r *run) nest(depth int, pos position.Pos) *Failure {
	if depth >= r.b.options.MaxDepth {
		return fail(codeLimit, pos, fmt.Sprintf("layers nest deeper than %d (--max-layer-depth)", r.b.options.MaxDepth))
	}
	return nil
}

// enter checks and records the step into a layer.
func (t *target) enter(dir string, pos position.Pos) error {
	if d := cycle(t.chain, []string{dir}); d != "" {
		return fail(codeCycle, pos, cycleMessage(d))
	}
	t.visit(dir)
	return nil
}

func (t *target) visit(dirs ...string) {
	for _, d := range dirs {
		if !t.closure[d] {
			t.closure[d] = true
			t.order = append(t.order, d)
		}
	}
}

// accumulateLayer adds what a directory yields.
func (t *target) accumulateLayer(acc *accumulation, ids map[idKey]bool, dir, written string, pos position.Pos) error {
	if err := t.enter(dir, pos); err != nil {
		return err
	}
	var origin *resource.Origin
	if t.origin != nil {
		origin = t.origin.Append(written)
	}
	if f := t.spend(1, pos); f != nil {
		return f
	}
	l := t.layer(dir, t.chain, origin, t.metadata)
	t.visit(l.closure...)
	t.height = max(t.height, l.height+1)
	t.secrets.add(slices.Collect(maps.Keys(l.secrets))...)
	t.outside.add(l.outside)
	if l.err != nil {
		return wrap(l.err, codeUnsupported, pos, "the layer cannot be built")
	}
	if f := t.spend(len(l.entries), pos); f != nil {
		return f
	}
	entries := make([]*entry, len(l.entries))
	for i, e := range l.entries {
		entries[i] = e.share()
		entries[i].step(StepLayer, pos)
	}
	if err := acc.addTo(ids, entries...); err != nil {
		f := wrap(err, codeDuplicateID, pos, "")
		if pos == 0 {
			return f
		}
		return fail(f.Code, pos, f.Message)
	}
	config, err := acc.config.merge(l.config)
	if err != nil {
		return fail(codeBadConfiguration, pos, "the configurations of two layers contradict each other")
	}
	acc.config = config
	maps.Copy(acc.varsAt, l.varsAt)
	if err := acc.vars.MergeSet(l.vars); err != nil {
		return fail(codeVariable, pos, "two layers declare the same variable")
	}
	return nil
}

// fileEntries reads the objects of a file.
func (t *target) fileEntries(p string, pos position.Pos) ([]*entry, *Failure) {
	e, f := resolveFile(t.b.view, t.file.dir, p, pos)
	if f != nil {
		return nil, f
	}
	docs := t.b.templates(e)
	if docs.err != nil {
		if docs.err.Pos == 0 {
			return nil, fail(docs.err.Code, pos, docs.err.Message)
		}
		return nil, docs.err
	}
	entries := make([]*entry, len(docs.list))
	for i := range docs.list {
		entries[i] = docs.list[i].entry()
		entries[i].step(StepLayer, pos)
		if t.b.options.Trace {
			entries[i].trace()
		}
	}
	if t.origin != nil {
		if err := annotateOrigin(entries, t.origin.Append(p)); err != nil {
			return nil, fail(codeBadTransformer, pos, "the origin cannot be written to an object")
		}
		noteAll(entries, t.metadataCause())
	}
	return entries, nil
}

// metadataCause is the cause of what build metadata writes.
func (t *target) metadataCause() Cause {
	return Cause{Kind: StepTransformer, What: "buildMetadata", Pos: t.metadataAt}
}

// annotateOrigin writes the origin annotation of build metadata.
func annotateOrigin(entries []*entry, origin *resource.Origin) error {
	text, err := origin.String()
	if err != nil {
		return err
	}
	m := &resources{list: entries}
	return m.AnnotateAll(originAnnotation, text)
}

// mergeVars adds the vars of the file and marks the objects they read.
func (t *target) mergeVars(acc *accumulation) error {
	for i, v := range t.k.Vars {
		pos := t.file.at("vars", i)
		matches, n := varTarget(acc, v)
		if n > 1 {
			return fail(codeVariable, pos, fmt.Sprintf("the variable %s can mean %d objects", quoteShort(v.Name), n))
		}
		if n == 1 {
			matches.own().AppendRefVarName(v)
		}
		acc.varsAt[v.Name] = pos
	}
	if err := acc.vars.MergeSlice(t.k.Vars); err != nil {
		return fail(codeVariable, t.file.field("vars"), "a variable is declared twice")
	}
	return nil
}

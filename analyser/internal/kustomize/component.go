package kustomize

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// accumulateComponents runs components on what is there.
func (t *target) accumulateComponents(acc *accumulation) (*accumulation, error) {
	for i, p := range t.k.Components {
		pos := t.file.setBy(fmt.Sprintf("components/%d", i), t.file.at("components", i))
		if isRemoteBase(p) {
			t.outside.external = append(t.outside.external, External{Kind: externalBase, URL: p, Pos: pos})
			t.undecided(pos)
			if err := t.remoteForbidden(p, pos); err != nil {
				return nil, err
			}
			continue
		}
		dir, f := resolveDir(t.b.view, t.file.dir, p, pos)
		if f != nil {
			return nil, f
		}
		if err := t.enter(dir, pos); err != nil {
			return nil, err
		}
		if acc, f = t.component(acc, dir, p, pos); f != nil {
			return nil, f
		}
	}
	return acc, nil
}

// component runs the component at a directory.
func (t *target) component(acc *accumulation, dir, written string, pos position.Pos) (*accumulation, *Failure) {
	f := t.b.kfile(dir)
	if f.failure != nil {
		return nil, wrap(f.failure, f.failure.Code, pos, "")
	}
	if failure := t.setSchema(f, false); failure != nil {
		return nil, failure
	}
	if f.k.Kind != types.ComponentKind {
		return nil, fail(codeComponentKind, pos, shown(dir)+" is not a Component: it belongs in resources, not in components")
	}
	if failure := cmp.Or(t.nest(len(t.chain), pos), t.spend(1, pos)); failure != nil {
		return nil, failure
	}
	origin := t.origin
	if origin != nil {
		origin = origin.Append(written)
	}
	c := t.newTarget(f, t.chain, origin, t.metadata)
	c.outside = t.outside
	before := make(map[*entry]int, len(acc.list))
	for _, e := range acc.list {
		before[e] = len(e.steps)
	}
	out, err := c.accumulate(acc)
	t.outside = c.outside
	t.height = max(t.height, c.height+1)
	t.secrets.add(slices.Collect(maps.Keys(c.secrets))...)
	t.visit(c.order...)
	if err != nil {
		return nil, wrap(err, codeUnsupported, pos, "the component cannot be run")
	}
	// Upstream merges the result into an empty accumulator, which checks ids.
	merged := t.newAccumulation()
	if err := merged.add(out.list...); err != nil {
		return nil, wrap(err, codeDuplicateID, pos, "")
	}
	merged.config, merged.vars, merged.varsAt = out.config, out.vars, out.varsAt
	c.componentSteps(merged.list, before, pos)
	return merged, nil
}

// componentSteps puts the component as a layer before what it contributed to
// the objects of its parent, all of which pass through it, and the line that
// names it after what it brought itself.
func (t *target) componentSteps(list []*entry, before map[*entry]int, named position.Pos) {
	through := t.file.field("kind")
	for _, e := range list {
		n, was := before[e]
		if !was {
			e.steps = append(e.steps[:len(e.steps):len(e.steps)], Step{StepLayer, named})
			continue
		}
		steps := append(e.steps[:n:n], Step{StepLayer, through})
		e.steps = append(steps, e.steps[n:]...)
	}
}

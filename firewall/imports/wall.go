package imports

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Files of the wall, relative to the root of the module.
const (
	PolicyFile = "firewall/policy/policy.txt"
	DepsFile   = "firewall/policy/analyser.deps"
	// Analyser is the pattern whose closure is judged: the program and
	// every package that it may come to use.
	Analyser = "./analyser/..."
)

// Result is what the wall found.
type Result struct {
	Violations []Violation
	// Packages is the size of the largest closure.
	Packages int
	// Committed and Real are the two sides of the comparison.
	Committed, Real *Deps

	policy []Violation
}

// Wall judges the analyser of the module in directory root. An error means
// that it could not tell.
func Wall(ctx context.Context, root string) (*Result, error) {
	rules, committed, err := read(root)
	if err != nil {
		return nil, err
	}
	graphs, dead, err := load(ctx, root, rules)
	if err != nil {
		return nil, err
	}
	r := &Result{policy: dead, Committed: committed, Real: Closure(rules, graphs)}
	seen := map[string]bool{}
	for _, g := range graphs {
		r.Packages = max(r.Packages, len(g.Packages))
		for _, v := range rules.Check(g) {
			if !seen[v.String()] {
				seen[v.String()] = true
				r.policy = append(r.policy, v)
			}
		}
	}
	r.policy = append(r.policy, rules.Unused(graphs)...)
	r.Replace(committed)
	return r, nil
}

// Replace compares with another committed list.
func (r *Result) Replace(committed *Deps) {
	r.Committed = committed
	r.Violations = append(slices.Clone(r.policy), committed.Compare(r.Real)...)
}

func read(root string) (*Rules, *Deps, error) {
	p, err := os.Open(filepath.Join(root, PolicyFile))
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	rules, err := ParseRules(PolicyFile, p)
	if err != nil {
		return nil, nil, err
	}
	d, err := os.Open(filepath.Join(root, DepsFile))
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	deps, err := ParseDeps(DepsFile, d)
	return rules, deps, err
}

// load loads every build's closure, and looks for dead rules at the same time.
func load(ctx context.Context, root string, rules *Rules) (graphs []*Graph, dead []Violation, err error) {
	graphs = make([]*Graph, len(Builds))
	errs := make([]error, len(Builds)+1)
	var wg sync.WaitGroup
	for i, b := range Builds {
		wg.Go(func() { graphs[i], errs[i] = Load(ctx, root, b, Analyser) })
	}
	wg.Go(func() { dead, errs[len(Builds)] = rules.Dead(ctx, root) })
	wg.Wait()
	// What fails for one build mostly fails for all: one error is enough.
	return graphs, dead, cmp.Or(errs...)
}

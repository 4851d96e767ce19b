package imports

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/gitops-reach/reach/firewall/policy"
)

// Rules is what the policy says about imports.
type Rules struct {
	// Bans convict a package anywhere in the closure.
	Bans []Ban
	// Own convict a direct import by a package of our own module.
	Own []Own
	// Capabilities are patterns of standard library packages that can do
	// something to the world outside; each importer needs a reason.
	Capabilities []Capability
}

// Ban says that packages must not be reached at all.
type Ban struct {
	policy.Line
	// Category names the rule in a conviction.
	Category string
	Pattern  policy.Pattern
	// Except are patterns that the ban leaves alone.
	Except []string
	// Example is a package that the pattern is about, where no module of
	// ours has one.
	Example string
}

// Match reports whether the ban is about a package.
func (b Ban) Match(path string) bool { return b.Pattern.Match(path) && !policy.Match(b.Except, path) }

// Own says that our packages must not import a package themselves, except
// where a permit says so.
type Own struct {
	policy.Line
	Category string
	Pattern  policy.Pattern
	Permits  []Permit
}

// Permit opens an Own rule for some of our packages.
type Permit struct {
	policy.Line
	// In is the folders that may, relative to the module.
	In policy.Pattern
}

// Capability marks standard library packages.
type Capability struct {
	policy.Line
	Pattern policy.Pattern
}

var verbs = map[string]policy.Verb{
	"ban":        {Fields: 2, Options: []string{"except", "example"}},
	"own":        {Fields: 2},
	"permit":     {Fields: 2},
	"capability": {Fields: 1},
}

// ParseRules reads the rules of a policy file.
func ParseRules(file string, r io.Reader) (*Rules, error) {
	lines, err := policy.Parse(file, r, verbs)
	if err != nil {
		return nil, err
	}
	rules := &Rules{}
	for _, l := range lines {
		switch l.Verb {
		case "ban":
			b := Ban{
				Line: l, Category: l.Fields[0], Pattern: policy.Pattern(l.Fields[1]),
				Except: l.List("except"), Example: l.Options["example"],
			}
			if b.Example != "" && !b.Match(b.Example) {
				return nil, l.Errorf("the example %s does not match the ban", b.Example)
			}
			rules.Bans = append(rules.Bans, b)
		case "own":
			rules.Own = append(rules.Own, Own{
				Line: l, Category: l.Fields[0], Pattern: policy.Pattern(l.Fields[1]),
			})
		case "permit":
			i := slices.IndexFunc(rules.Own, func(o Own) bool { return o.Fields[1] == l.Fields[0] })
			if i < 0 {
				return nil, l.Errorf("no own rule above says anything about %s", l.Fields[0])
			}
			o := &rules.Own[i]
			o.Permits = append(o.Permits, Permit{Line: l, In: policy.Pattern(l.Fields[1])})
		case "capability":
			rules.Capabilities = append(rules.Capabilities, Capability{Line: l, Pattern: policy.Pattern(l.Fields[0])})
		}
	}
	return rules, nil
}

// Categories returns the categories of all rules that convict, sorted.
func (r *Rules) Categories() []string {
	set := map[string]bool{}
	for _, b := range r.Bans {
		set[b.Category] = true
	}
	for _, o := range r.Own {
		set[o.Category] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// capability returns the rule that makes a standard library package worth a
// reason.
func (r *Rules) capability(path string) (Capability, bool) {
	for _, c := range r.Capabilities {
		if c.Pattern.Match(path) {
			return c, true
		}
	}
	return Capability{}, false
}

// Dead returns a violation for each rule that is about nothing: a ban or an
// exception of a ban whose pattern matches no package of the modules that we
// require and that gives no example, and a capability or own rule that names
// no package. A rule that can no longer convict anything is worse than none.
func (r *Rules) Dead(ctx context.Context, dir string) ([]Violation, error) {
	var patterns []string
	owner := map[string]policy.Line{}
	want := func(l policy.Line, pattern string) {
		if _, twice := owner[pattern]; !twice {
			patterns = append(patterns, pattern)
		}
		owner[pattern] = l
	}
	for _, b := range r.Bans {
		if b.Example == "" {
			want(b.Line, string(b.Pattern))
			for _, e := range b.Except {
				want(b.Line, e)
			}
		}
	}
	for _, o := range r.Own {
		want(o.Line, string(o.Pattern))
	}
	for _, c := range r.Capabilities {
		want(c.Line, string(c.Pattern))
	}
	known, err := known(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	var dead []Violation
	for _, p := range patterns {
		if !slices.ContainsFunc(known, policy.Pattern(p).Match) {
			dead = append(dead, Violation{
				Rule: DeadRule, Subject: p,
				Why: owner[p].Errorf("no package of a required module matches; correct the pattern, remove it, or give an example=").Error(),
			})
		}
	}
	return dead, nil
}

// known returns the packages of the build list that match the patterns.
func known(ctx context.Context, dir string, patterns []string) ([]string, error) {
	found, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Mode: packages.NeedName | packages.NeedFiles,
		Env: append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPACKAGESDRIVER=off"),
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", strings.Join(patterns, " "), err)
	}
	var paths []string
	for _, p := range found {
		// A pattern without dots that resolves to nothing comes back
		// as a package without files.
		if len(p.GoFiles)+len(p.OtherFiles)+len(p.IgnoredFiles) > 0 || p.PkgPath == "unsafe" {
			paths = append(paths, p.PkgPath)
		}
	}
	return paths, nil
}

package imports

import (
	"fmt"
	"slices"
	"strings"
)

// Rules that are not a category of the policy.
const (
	DeadRule      = "dead-rule"      // a rule of the policy is about nothing
	NotListed     = "not-listed"     // the closure holds more than the committed list
	NotReached    = "not-reached"    // the committed list holds more than the closure
	ReasonMissing = "reason-missing" // an entry of the list has no reason
	ForeignSource = "foreign-source" // assembly or C in a package of ours
)

// Violation is something that the wall does not let through.
type Violation struct {
	// Rule is a category of the policy or one of the constants above.
	Rule string
	// Subject is the package that is convicted.
	Subject string
	// Why says what is wrong and what to do about it.
	Why string
	// Path leads from one of our packages to the subject; it may be nil.
	Path []string
}

// String is one line, followed by the path on a second when there is one.
func (v Violation) String() string {
	s := fmt.Sprintf("%s: %s: %s", v.Rule, v.Subject, v.Why)
	if len(v.Path) > 1 {
		s += "\n    " + strings.Join(v.Path, " > ")
	}
	return s
}

// Check applies bans and own rules to a closure. A package that is reached
// only through a banned one is a consequence and not reported.
func (r *Rules) Check(g *Graph) []Violation {
	var vs []Violation
	banned := func(path string) *Ban {
		i := slices.IndexFunc(r.Bans, func(b Ban) bool { return b.Match(path) })
		if i < 0 {
			return nil
		}
		return &r.Bans[i]
	}
	from := g.reach(g.Roots, func(path string) bool { return banned(path) == nil })
	for _, path := range g.Sorted() {
		if _, reached := from[path]; !reached {
			continue
		}
		if b := banned(path); b != nil {
			vs = append(vs, Violation{Rule: b.Category, Subject: path, Why: b.Reason, Path: trail(from, path)})
		} else if p := g.Packages[path]; p.Module == g.Module && g.Module != "" {
			vs = append(vs, r.own(g, p)...)
		}
	}
	return vs
}

func (r *Rules) own(g *Graph, p *Package) []Violation {
	var vs []Violation
	here := g.folder(p)
	if len(p.Foreign) > 0 {
		vs = append(vs, Violation{
			Rule: ForeignSource, Subject: p.Path,
			Why: "holds " + strings.Join(p.Foreign, ", ") + ", which no import rule can judge; write it in Go",
		})
	}
	for _, i := range p.Imports {
		for _, o := range r.Own {
			permitted := slices.ContainsFunc(o.Permits, func(p Permit) bool { return p.In.Match(here) })
			if o.Pattern.Match(i) && !permitted {
				vs = append(vs, Violation{
					Rule: o.Category, Subject: p.Path, Why: "imports " + i + ": " + o.Reason, Path: []string{p.Path, i},
				})
			}
		}
	}
	return vs
}

// Unused returns a violation for each permit that no closure makes use of.
func (r *Rules) Unused(graphs []*Graph) []Violation {
	var vs []Violation
	for _, o := range r.Own {
		for _, p := range o.Permits {
			if !slices.ContainsFunc(graphs, func(g *Graph) bool { return uses(g, o, p) }) {
				vs = append(vs, Violation{
					Rule: DeadRule, Subject: string(p.In),
					Why: p.Errorf("nothing there imports %s any more; remove the permit", o.Pattern).Error(),
				})
			}
		}
	}
	return vs
}

func uses(g *Graph, o Own, permit Permit) bool {
	for _, p := range g.Packages {
		if p.Module == g.Module && permit.In.Match(g.folder(p)) && slices.ContainsFunc(p.Imports, o.Pattern.Match) {
			return true
		}
	}
	return false
}

// folder is where one of our packages lies, relative to the module.
func (g *Graph) folder(p *Package) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.Path, g.Module), "/")
}

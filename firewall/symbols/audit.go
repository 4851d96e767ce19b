package symbols

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/firewall/policy"
)

// PolicyFile is relative to the root of the module.
const PolicyFile = "firewall/policy/symbols.txt"

// Rules is what the policy says about a binary.
type Rules struct {
	Forbids   []Forbid
	Allows    []Allow
	Requires  []policy.Line
	Readonlys []Readonly
}

// Forbid convicts functions by name.
type Forbid struct {
	policy.Line
	Category string
	Pattern  *regexp.Regexp
}

// Allow is a function that a rule forbids and that is left nevertheless, with
// its closures.
type Allow struct {
	policy.Line
	Function string
}

var verbs = map[string]policy.Verb{
	"forbid":   {Fields: 2},
	"allow":    {Fields: 1},
	"require":  {Fields: 1},
	"readonly": {Fields: 1, Options: []string{"word", "except"}},
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
		case "forbid":
			pattern, err := regexp.Compile(l.Fields[1])
			if err != nil {
				return nil, l.Errorf("%v", err)
			}
			rules.Forbids = append(rules.Forbids, Forbid{Line: l, Category: l.Fields[0], Pattern: pattern})
		case "allow":
			rules.Allows = append(rules.Allows, Allow{Line: l, Function: l.Fields[0]})
		case "require":
			rules.Requires = append(rules.Requires, l)
		case "readonly":
			if err := rules.addReadonly(l); err != nil {
				return nil, err
			}
		}
	}
	return rules, rules.checkReadonlys()
}

// Rules that are not a category of the policy.
const (
	DeadRule = "dead-rule" // the policy allows what is not there
	Linkage  = "linkage"   // the program is not pure Go, or was built otherwise
)

// Violation is a function that must not be there, or a rule about nothing.
type Violation struct {
	Rule, Subject, Why string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Subject, v.Why) }

// Remainder is a function that stays although a rule forbids it.
type Remainder struct {
	Function, Category, Why string
}

// Verdict is what was found in a binary.
type Verdict struct {
	Violations []Violation
	// Left are in the order of their names, Opens in that of the rules.
	Left  []Remainder
	Opens []Open
}

// Audit judges a binary. An error means that it could not tell: something that
// the analyser consists of is missing, so that this is not the analyser, or
// the names or the code were not understood.
func (r *Rules) Audit(b *Binary) (*Verdict, error) {
	for _, l := range r.Requires {
		if _, found := slices.BinarySearch(b.Functions, l.Fields[0]); !found {
			return nil, l.Errorf("%s is not in the binary: %s", l.Fields[0], l.Reason)
		}
	}
	v := &Verdict{}
	if len(b.Dynamic) > 0 {
		v.add(Linkage, strings.Join(b.Dynamic, ", "), "a program in pure Go is linked statically")
	}
	if b.Build["CGO_ENABLED"] != "0" {
		v.add(Linkage, "CGO_ENABLED="+b.Build["CGO_ENABLED"], "C code can do anything, and no table here lists it")
	}
	r.names(b, v)
	for _, rule := range r.Readonlys {
		opens, violations, err := b.opens(rule)
		if err != nil {
			return nil, err
		}
		v.Opens = append(v.Opens, opens...)
		v.Violations = append(v.Violations, violations...)
	}
	return v, nil
}

// names judges the names of the functions.
func (r *Rules) names(b *Binary, v *Verdict) {
	used := map[string]bool{}
	for _, name := range b.Functions {
		i := slices.IndexFunc(r.Forbids, func(f Forbid) bool { return f.Pattern.MatchString(name) })
		if i < 0 {
			continue
		}
		a := slices.IndexFunc(r.Allows, func(a Allow) bool { return name == a.Function || strings.HasPrefix(name, a.Function+".") })
		if a < 0 {
			v.add(r.Forbids[i].Category, name, r.Forbids[i].Reason)
			continue
		}
		used[r.Allows[a].Function] = true
		v.Left = append(v.Left, Remainder{name, r.Forbids[i].Category, r.Allows[a].Reason})
	}
	for _, a := range r.Allows {
		if !used[a.Function] {
			v.add(DeadRule, a.Function, a.Errorf("it is not in the binary any more, or nothing forbids it; remove the line").Error())
		}
	}
}

func (v *Verdict) add(rule, subject, why string) {
	v.Violations = append(v.Violations, Violation{rule, subject, why})
}

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
const PolicyFile = "firewall/symbols.txt"

// Rules is what the policy says about a binary.
type Rules struct {
	Forbids  []Forbid
	Allows   []Allow
	Requires []policy.Line
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
	"forbid":  {Fields: 2},
	"allow":   {Fields: 1},
	"require": {Fields: 1},
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
		}
	}
	return rules, nil
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

// Audit judges a binary. An error means that it could not tell: something that
// the analyser consists of is missing, so that this is not the analyser, or
// the names were not read.
func (r *Rules) Audit(b *Binary) (vs []Violation, left []Remainder, err error) {
	for _, l := range r.Requires {
		if _, found := slices.BinarySearch(b.Functions, l.Fields[0]); !found {
			return nil, nil, l.Errorf("%s is not in the binary: %s", l.Fields[0], l.Reason)
		}
	}
	if len(b.Dynamic) > 0 {
		vs = append(vs, Violation{Linkage, strings.Join(b.Dynamic, ", "), "a program in pure Go is linked statically"})
	}
	if b.Build["CGO_ENABLED"] != "0" {
		vs = append(vs, Violation{Linkage, "CGO_ENABLED=" + b.Build["CGO_ENABLED"], "C code can do anything, and no table here lists it"})
	}
	used := map[string]bool{}
	for _, name := range b.Functions {
		i := slices.IndexFunc(r.Forbids, func(f Forbid) bool { return f.Pattern.MatchString(name) })
		if i < 0 {
			continue
		}
		a := slices.IndexFunc(r.Allows, func(a Allow) bool { return name == a.Function || strings.HasPrefix(name, a.Function+".") })
		if a < 0 {
			vs = append(vs, Violation{r.Forbids[i].Category, name, r.Forbids[i].Reason})
			continue
		}
		used[r.Allows[a].Function] = true
		left = append(left, Remainder{name, r.Forbids[i].Category, r.Allows[a].Reason})
	}
	for _, a := range r.Allows {
		if !used[a.Function] {
			vs = append(vs, Violation{DeadRule, a.Function, a.Errorf("it is not in the binary any more, or nothing forbids it; remove the line").Error()})
		}
	}
	return vs, left, nil
}

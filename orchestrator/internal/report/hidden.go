package report

import (
	"fmt"
	"strings"
)

// HiddenWords says how many findings are not shown, and by whom: "3 known to the
// baseline, 1 suppressed"; empty when none is.
func (c *Census) HiddenWords() string {
	var out []string
	if n := c.Counts.FindingsKnown; n > 0 {
		out = append(out, fmt.Sprintf("%d known to the baseline", n))
	}
	if n := c.Counts.FindingsSuppressed; n > 0 {
		out = append(out, fmt.Sprintf("%d suppressed", n))
	}
	return strings.Join(out, ", ")
}

// Asked reports whether there was an oracle to compare with.
func (o Oracle) Asked() bool { return o.Format != "" }

// Words say how far the oracle agrees: "23 of 24 Kustomizations agree, 1
// differs".
func (o Oracle) Words() string {
	if !o.Asked() {
		return "not asked"
	}
	out := fmt.Sprintf("%d of %d Kustomizations agree", o.Agree, o.Kustomizations)
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{o.Differ, "1 differs", "%d differ"},
		{o.OnlyTheirs, "1 only theirs", "%d only theirs"},
		{o.OnlyOurs, "1 only ours", "%d only ours"},
		{o.TheirsFailed, "1 failed on their side", "%d failed on their side"},
		{o.NotAsked, "1 more not looked at by them", "%d more not looked at by them"},
	} {
		switch {
		case c.n == 1:
			out += ", " + c.one
		case c.n > 1:
			out += ", " + fmt.Sprintf(c.many, c.n)
		}
	}
	return out
}

// Words say what a side says of a Kustomization: "local to hub-1, 7 objects";
// "nothing" when it does not have it.
func (s Side) Words() string {
	var out []string
	switch {
	case s.Class != "" && s.Target != "":
		out = append(out, s.Class+" to "+s.Target)
	case s.Class != "":
		out = append(out, s.Class)
	}
	switch {
	case s.ObjectsKnown && s.Objects == 1:
		out = append(out, "1 object")
	case s.ObjectsKnown:
		out = append(out, fmt.Sprintf("%d objects", s.Objects))
	case s.State != "" && s.State != "rendered":
		state := strings.ReplaceAll(s.State, "_", " ")
		if s.Reason != "" && s.Reason != s.State {
			state += " (" + strings.ReplaceAll(s.Reason, "_", " ") + ")"
		}
		out = append(out, state)
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

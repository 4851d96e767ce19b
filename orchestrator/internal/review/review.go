// Package review decides which findings of a census are open. A suppression of
// the configuration hides what the team has accepted until a day, a baseline
// what an earlier census knew. Nothing disappears: what is hidden is counted,
// and stands in a file of its own with who hid it and why.
//
// The day on which expiry dates are judged is an input, never the clock: the
// same input gives the same bytes.
package review

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Expired is the rule of a finding about a suppression that holds no more. It
// cannot be suppressed.
const Expired = "reach.config.suppression_expired"

const expiredDoc = "A suppression of the configuration has expired: what it hid is open again."

// By says who hid a finding.
const (
	bySuppression = "suppression"
	byBaseline    = "baseline"
)

// Suppression is an entry of the configuration. Patterns are on real names.
type Suppression struct {
	Rule, Path, Object, Cluster, Reason string
	// Expires is the last day on which it holds, YYYY-MM-DD.
	Expires string
	// Line of the configuration file.
	Line int
}

// Review decides on the findings of one census. It is used once.
type Review struct {
	asOf         string
	suppressions []Suppression
	baseline     *Baseline

	matched         []int
	hidden          map[string]int // by rule
	by              map[string]int
	open            map[string]int // by rule
	severities      map[string]int
	gone, expiredNo int
}

// Day is the day of a time as suppressions count days, in UTC.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// New starts a review as of a day, YYYY-MM-DD. baseline may be nil.
func New(asOf string, suppressions []Suppression, baseline *Baseline) *Review {
	return &Review{
		asOf: asOf, suppressions: suppressions, baseline: baseline, matched: make([]int, len(suppressions)),
		hidden: map[string]int{}, by: map[string]int{}, open: map[string]int{}, severities: map[string]int{},
	}
}

// Settle gives what is open and what is hidden among the findings of a census,
// both in its order. found bear real names; rename replaces them, and every
// finding gets its fingerprint after that. What Settle adds, a finding for each
// suppression that has expired, is among the result.
func (r *Review) Settle(found []*report.Finding, rename func(*report.Finding)) (open []*report.Finding, hidden []*report.Hidden) {
	hiders := map[*report.Finding]*Suppression{}
	for _, f := range found {
		if s := r.suppressed(f); s != nil {
			hiders[f] = s
		}
	}
	found = append(slices.Clip(found), r.expired()...)
	slices.SortStableFunc(found, report.CompareFindings)
	var known report.Fingerprints
	for _, f := range found {
		rename(f)
		f.Fingerprint = known.Of(f)
		s := hiders[f]
		switch {
		case s != nil:
			hidden = append(hidden, &report.Hidden{By: bySuppression, Reason: s.Reason, Expires: s.Expires, Finding: *f})
		case r.baseline.knows(f):
			hidden = append(hidden, &report.Hidden{By: byBaseline, Finding: *f})
		default:
			open = append(open, f)
			r.open[f.Rule]++
			r.severities[f.Severity]++
			continue
		}
		r.hidden[f.Rule]++
		r.by[hidden[len(hidden)-1].By]++
	}
	r.gone = r.baseline.gone(found)
	return open, hidden
}

// suppressed returns the first suppression that hides a finding, and counts all
// that match it.
func (r *Review) suppressed(f *report.Finding) *Suppression {
	var by *Suppression
	if f.Rule == Expired {
		return nil
	}
	for i := range r.suppressions {
		s := &r.suppressions[i]
		if !s.matches(f) {
			continue
		}
		r.matched[i]++
		if by == nil && !s.expired(r.asOf) {
			by = s
		}
	}
	return by
}

func (s *Suppression) expired(asOf string) bool { return asOf > s.Expires }

// matches reports whether all patterns that are given match.
func (s *Suppression) matches(f *report.Finding) bool {
	return glob(s.Rule, f.Rule) &&
		(s.Path == "" || inPath(s.Path, f.Path)) &&
		(s.Object == "" || glob(s.Object, object(f))) &&
		(s.Cluster == "" || glob(s.Cluster, f.Cluster))
}

// object is a finding's object as a pattern names it: kind/namespace/name, or
// kind/name when it has no namespace.
func object(f *report.Finding) string {
	if f.Namespace == "" {
		return f.Kind + "/" + f.Name
	}
	return f.Kind + "/" + f.Namespace + "/" + f.Name
}

func glob(pattern, s string) bool { return doublestar.MatchUnvalidated(pattern, s) }

// inPath reports whether a pattern matches a path or a directory above it.
func inPath(pattern, p string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	return glob(pattern, p) || p != "" && glob(pattern+"/**", p)
}

// target is what a suppression is about, for people.
func (s *Suppression) target() string {
	parts := []string{s.Rule}
	for _, p := range []struct{ word, pattern string }{{"at", s.Path}, {"for", s.Object}, {"on", s.Cluster}} {
		if p.pattern != "" {
			parts = append(parts, p.word+" "+p.pattern)
		}
	}
	return strings.Join(parts, " ")
}

// expired are the findings about suppressions that hold no more.
func (r *Review) expired() []*report.Finding {
	var out []*report.Finding
	for i := range r.suppressions {
		s := &r.suppressions[i]
		if !s.expired(r.asOf) {
			continue
		}
		r.expiredNo++
		follows := "nothing matches it any more"
		switch n := r.matched[i]; {
		case n == 1:
			follows = "the finding that it hid is open again"
		case n > 1:
			follows = fmt.Sprintf("the %d findings that it hid are open again", n)
		}
		out = append(out, &report.Finding{
			Rule: Expired, Severity: "warning", Kind: "Suppression", Name: s.target(), Count: max(r.matched[i], 1), Trace: []report.Hop{},
			Message: fmt.Sprintf("the suppression of %s (line %d of the configuration) expired on %s, so %s; its reason was: %s", s.target(), s.Line, s.Expires, follows, s.Reason),
			Remedy:  "Mend what it hid and take the suppression out, or decide again and give it a new date.",
		})
	}
	return out
}

// Amend writes the outcome into the census: counts, rules, notes. rename
// replaces the real names that this brings in. further are rules that ran beside
// the analyser's.
func (r *Review) Amend(c *report.Census, rename func(any), further ...report.Rule) {
	own := &report.Census{Review: report.Review{AsOf: r.asOf, Suppressions: []report.Suppression{}}}
	for i := range r.suppressions {
		s := &r.suppressions[i]
		own.Review.Suppressions = append(own.Review.Suppressions, report.Suppression{
			Rule: s.Rule, Path: s.Path, Object: s.Object, Cluster: s.Cluster, Reason: s.Reason, Expires: s.Expires,
			Expired: s.expired(r.asOf), Findings: r.matched[i],
		})
		if r.matched[i] == 0 && !s.expired(r.asOf) {
			own.Notes = append(own.Notes, fmt.Sprintf("the suppression of %s (line %d of the configuration) matches no finding", s.target(), s.Line))
		}
	}
	if b := r.baseline; b != nil {
		own.Review.Baseline = report.Baseline{Format: b.Format, Commit: b.Commit, Findings: len(b.findings), Gone: r.gone}
	}
	rename(own)
	c.Review = own.Review
	c.Notes = append(c.Notes, own.Notes...)
	if len(r.suppressions) > 0 {
		further = append(slices.Clip(further), report.Rule{Rule: Expired, Severity: "warning", Doc: expiredDoc})
	}
	for _, f := range further {
		if !slices.ContainsFunc(c.Rules, func(known report.Rule) bool { return known.Rule == f.Rule }) {
			c.Rules = append(c.Rules, f)
		}
	}
	slices.SortStableFunc(c.Rules, func(a, b report.Rule) int { return strings.Compare(a.Rule, b.Rule) })
	total := 0
	for i := range c.Rules {
		rule := &c.Rules[i]
		rule.Count, rule.Hidden = r.open[rule.Rule], r.hidden[rule.Rule]
		total += rule.Count
	}
	c.Counts.Findings, c.Counts.FindingsBySeverity = total, r.severities
	c.Counts.FindingsSuppressed, c.Counts.FindingsKnown = r.by[bySuppression], r.by[byBaseline]
}

// Names are those in patterns without wildcards that may be names of clusters.
func Names(suppressions []Suppression) []string {
	var out []string
	for _, s := range suppressions {
		if s.Cluster != "" && !strings.ContainsAny(s.Cluster, "*?[{\\") {
			out = append(out, s.Cluster)
		}
	}
	return out
}

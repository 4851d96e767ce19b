package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/gitops-reach/reach/orchestrator/internal/config"
	"github.com/gitops-reach/reach/orchestrator/internal/oracle"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/review"
	"github.com/gitops-reach/reach/orchestrator/internal/stream"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// adoption is what a census is held against beside the repository: a second
// opinion, an earlier census, and what the team has accepted.
type adoption struct {
	oracle       *oracle.File
	baseline     *review.Baseline
	suppressions []review.Suppression
	// asOf is the day of --as-of; empty is that of the commit.
	asOf string

	comparison *oracle.Comparison
	review     *review.Review
}

// newAdoption reads the files that the flags name.
func newAdoption(f censusFlags, c *config.Config) (adoption, error) {
	a := adoption{asOf: f.asOf}
	if f.asOf != "" {
		if _, err := time.Parse(time.DateOnly, f.asOf); err != nil {
			return a, usagef("--as-of %q is no day, for example 2027-06-30", f.asOf)
		}
	}
	for _, s := range c.Suppressions {
		a.suppressions = append(a.suppressions, review.Suppression{
			Rule: s.Rule, Path: s.Path, Object: s.Object, Cluster: s.Cluster, Reason: s.Reason,
			Expires: string(s.Expires), Line: s.Line(),
		})
	}
	var err error
	if f.baseline != "" {
		if a.baseline, err = review.LoadBaseline(f.baseline); err != nil {
			return a, usageError{err}
		}
		if names := a.baseline.Names; names != "" && names != f.names {
			return a, usagef("the baseline was written with --names %s and this census is with --names %s: findings are told by names as they are written, so take both with the same", names, f.names)
		}
	}
	if f.oracle != "" {
		if a.oracle, err = oracle.Load(f.oracle, spokeNames(c)); err != nil {
			return a, usageError{err}
		}
	}
	return a, nil
}

// spokeNames names the clusters behind kubeConfig references as a census does:
// by the configuration, else after the reference.
func spokeNames(c *config.Config) oracle.Spokes {
	mappings := c.Request().GetSpokes()
	return func(controller, kind, namespace, name, key string) string {
		if kind == "Secret" && key == "value" {
			key = ""
		}
		for _, m := range mappings {
			if m.GetControllerCluster() == controller && m.GetKind() == kind && m.GetNamespace() == namespace && m.GetName() == name &&
				(m.GetKey() == "" || m.GetKey() == key || m.GetKey() == "value" && key == "") {
				return m.GetCluster()
			}
		}
		out := controller + "/" + namespace + "/" + name
		if key != "" {
			out += "#" + key
		}
		return out
	}
}

// judge compares the Kustomizations of a recording with the oracle, and opens
// the review of its findings.
func (a *adoption) judge(r *stream.Recording) error {
	day := a.asOf
	if day == "" {
		day = review.Day(r.Header.GetCommitTime().AsTime())
	}
	a.review = review.New(day, a.suppressions, a.baseline)
	if a.oracle == nil {
		return nil
	}
	if of := a.oracle.Commit; of != "" && of != r.Header.GetCommit() {
		return usagef("the oracle is about commit %s and the census about %s: take both of one commit", of, r.Header.GetCommit())
	}
	var ours []*report.Kustomization
	err := r.Each(func(m *reachv1.CensusResponse) error {
		switch record := report.FromProto(m).(type) {
		case *report.Kustomization:
			ours = append(ours, record)
		case nil:
		default:
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	a.comparison = oracle.Compare(a.oracle, ours)
	return nil
}

var errEnough = errors.New("all Kustomizations are known")

// clusters are the names that the oracle and the suppressions bring in.
func (a *adoption) clusters() []string {
	out := review.Names(a.suppressions)
	if a.oracle != nil {
		out = append(out, a.oracle.Clusters()...)
	}
	return out
}

// settler collects the findings of a stream and gives them on, with what the
// comparison adds, once all are there.
type settler struct {
	*adoption
	rename func(any)
	found  []*report.Finding
	done   bool
}

// next takes a record, with real names, and calls give with what is to be
// written now, renamed. A nil record ends the stream.
func (s *settler) next(record any, give func(any) error) error {
	if f, ok := record.(*report.Finding); ok {
		s.found = append(s.found, f)
		return nil
	}
	_, coverage := record.(*report.CoverageRow)
	if (coverage || record == nil) && !s.done {
		s.done = true
		if s.comparison != nil {
			s.found = append(s.found, s.comparison.Findings()...)
		}
		open, hidden := s.review.Settle(s.found, func(f *report.Finding) { s.rename(f) })
		for _, f := range open {
			if err := give(f); err != nil {
				return err
			}
		}
		for _, h := range hidden {
			reason := &report.Suppression{Reason: h.Reason}
			s.rename(reason)
			h.Reason = reason.Reason
			if err := give(h); err != nil {
				return err
			}
		}
		s.found = nil
	}
	if record != nil {
		s.rename(record)
		return give(record)
	}
	if s.comparison != nil {
		for _, row := range s.comparison.Rows {
			s.rename(row)
			if err := give(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// amend writes what came of it into the census.
func (s *settler) amend(c *report.Census) {
	var further []report.Rule
	if s.comparison != nil {
		further = append(further, s.comparison.Result())
	}
	s.review.Amend(c, s.rename, further...)
}

// failing is the error for --fail-on.
func failing(severity string, c *report.Census) error {
	err := failOn(severity, c.Counts.FindingsBySeverity)
	var found findingsError
	if errors.As(err, &found) {
		found.hidden = c.HiddenWords()
		return found
	}
	return err
}

func (e findingsError) withHidden(text string) string {
	if e.hidden == "" {
		return text
	}
	return fmt.Sprintf("%s (not counted: %s)", text, e.hidden)
}

package stream

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// check is what is known about the stream so far.
type check struct {
	header  *reachv1.Header
	rules   []*reachv1.RuleResult
	summary *reachv1.Summary

	place int
	seen  map[string]int32
	files map[reachv1.Analysis]int32
	// rulesFound counts findings by rule.
	rulesFound map[string]int32
	// clusters are the names in use.
	clusters    map[string]bool
	lastCluster string
	// held is about what rules and names take in memory, in bytes.
	held int
}

var commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// next checks that m may follow, and counts it.
func (c *check) next(m *reachv1.CensusResponse) error {
	place, name := position(m)
	switch {
	case place == 0:
		// A kind of record that a newer analyser sends.
		return nil
	case c.summary != nil:
		return fmt.Errorf("%w: a %s follows the summary", ErrNonsense, name)
	case c.header == nil && place != 1:
		return fmt.Errorf("%w: it begins with a %s", ErrNonsense, name)
	case c.header != nil && place == 1:
		return fmt.Errorf("%w: it has two headers", ErrNonsense)
	case place < c.place:
		return fmt.Errorf("%w: a %s comes too late", ErrNonsense, name)
	}
	c.place = place
	if c.seen == nil {
		c.seen, c.files = map[string]int32{}, map[reachv1.Analysis]int32{}
		c.rulesFound, c.clusters = map[string]int32{}, map[string]bool{}
	}
	c.seen[name]++
	c.collect(m)
	switch e := m.GetEvent().(type) {
	case *reachv1.CensusResponse_Header:
		if !commitID().MatchString(e.Header.GetCommit()) || e.Header.GetCommitTime().CheckValid() != nil {
			return fmt.Errorf("%w: its header names no commit", ErrNonsense)
		}
		c.header = e.Header
	case *reachv1.CensusResponse_Finding:
		rule := e.Finding.GetRule()
		if c.rulesFound[rule] == 0 {
			c.held += len(rule) + 64
		}
		c.rulesFound[rule]++
	case *reachv1.CensusResponse_File:
		c.files[e.File.GetAnalysis()]++
	case *reachv1.CensusResponse_Rule:
		c.rules = append(c.rules, e.Rule)
		c.held += proto.Size(e.Rule) + 256
	case *reachv1.CensusResponse_Summary:
		c.summary = e.Summary
		for _, cluster := range e.Summary.GetClusters() {
			if cluster.GetName() == "" {
				return fmt.Errorf("%w: its summary has a cluster without a name", ErrNonsense)
			}
		}
	}
	if c.held > maxHeld {
		return fmt.Errorf("%w: its rules and the names of its clusters are larger than %d bytes", ErrNonsense, maxHeld)
	}
	return nil
}

// maxHeld bounds what is kept in memory of a stream: everything else goes to a file.
const maxHeld = 256 << 20

// position is the place of a message in the order of the stream, from 1; 0 for
// one that this version does not know.
func position(m *reachv1.CensusResponse) (int, string) {
	switch m.GetEvent().(type) {
	case *reachv1.CensusResponse_Header:
		return 1, "header"
	case *reachv1.CensusResponse_Sync:
		return 2, "sync"
	case *reachv1.CensusResponse_Release:
		return 3, "release"
	case *reachv1.CensusResponse_Placement:
		return 4, "placement"
	case *reachv1.CensusResponse_Object:
		return 5, "object"
	case *reachv1.CensusResponse_Live:
		return 6, "live object"
	case *reachv1.CensusResponse_File:
		return 7, "file"
	case *reachv1.CensusResponse_Finding:
		return 8, "finding"
	case *reachv1.CensusResponse_Rule:
		return 9, "rule"
	case *reachv1.CensusResponse_Coverage:
		return 10, "coverage row"
	case *reachv1.CensusResponse_Summary:
		return 11, "summary"
	}
	return 0, ""
}

// finish checks that the stream is whole and that its counts agree with it.
func (c *check) finish() error {
	if c.summary == nil {
		return fmt.Errorf("%w: it breaks off before its summary", ErrNonsense)
	}
	counts := c.summary.GetCounts()
	for _, n := range []struct {
		what         string
		told, counts int32
	}{
		{"Kustomizations", counts.GetSyncs(), c.seen["sync"]},
		{"HelmReleases", counts.GetReleases(), c.seen["release"]},
		{"placements", counts.GetPlacements(), c.seen["placement"]},
		{"objects", counts.GetObjects(), c.seen["object"]},
		{"live objects", counts.GetLiveRecords(), c.seen["live object"]},
		{"files", counts.GetFiles(), c.seen["file"]},
		{"analysable files", counts.GetAnalysable(), c.files[reachv1.Analysis_ANALYSIS_ANALYSABLE]},
		{"seen, not analysed files", counts.GetSeenNotAnalysed(), c.files[reachv1.Analysis_ANALYSIS_SEEN_NOT_ANALYSED]},
		{"unresolved files", counts.GetUnresolved(), c.files[reachv1.Analysis_ANALYSIS_UNRESOLVED]},
		{"uncovered files", counts.GetUncovered(), c.files[reachv1.Analysis_ANALYSIS_UNCOVERED]},
		{"findings", counts.GetFindings(), c.seen["finding"]},
	} {
		if n.told != n.counts {
			return fmt.Errorf("%w: it says %d %s and holds %d", ErrNonsense, n.told, n.what, n.counts)
		}
	}
	return c.finishRules()
}

// finishRules checks that every finding belongs to a rule that ran.
func (c *check) finishRules() error {
	for _, r := range c.rules {
		if found := c.rulesFound[r.GetRule()]; found != r.GetCount() {
			return fmt.Errorf("%w: it says %d findings of %s and holds %d", ErrNonsense, r.GetCount(), r.GetRule(), found)
		}
		delete(c.rulesFound, r.GetRule())
	}
	if left := slices.Sorted(maps.Keys(c.rulesFound)); len(left) > 0 {
		return fmt.Errorf("%w: it holds findings of %s, a rule that it does not list", ErrNonsense, left[0])
	}
	return nil
}

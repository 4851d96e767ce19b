package launch

import (
	"fmt"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// order checks that the messages of a census come in the order that the
// protocol fixes, and knows how far the stream has come.
type order struct {
	last     kind
	messages int64
}

// kind is the kind of a message, in the order in which kinds follow.
type kind int

const (
	nothing kind = iota
	header
	syncs
	releases
	placements
	objects
	live
	files
	findings
	rules
	coverage
	summary
	progress // anywhere before the summary
	unknown
)

var kindNames = [...]string{
	"nothing", "the header", "syncs", "releases", "placements", "objects", "live objects", "files",
	"findings", "rules", "coverage", "the summary", "progress", "a message of an unknown kind",
}

func (k kind) String() string { return kindNames[k] }

func kindOf(msg *reachv1.CensusResponse) kind {
	switch msg.GetEvent().(type) {
	case *reachv1.CensusResponse_Header:
		return header
	case *reachv1.CensusResponse_Sync:
		return syncs
	case *reachv1.CensusResponse_Release:
		return releases
	case *reachv1.CensusResponse_Placement:
		return placements
	case *reachv1.CensusResponse_Object:
		return objects
	case *reachv1.CensusResponse_Live:
		return live
	case *reachv1.CensusResponse_File:
		return files
	case *reachv1.CensusResponse_Finding:
		return findings
	case *reachv1.CensusResponse_Rule:
		return rules
	case *reachv1.CensusResponse_Coverage:
		return coverage
	case *reachv1.CensusResponse_Summary:
		return summary
	case *reachv1.CensusResponse_Progress:
		return progress
	}
	return unknown
}

// next takes the next message and reports whether its kind is known. An error
// is a *ProtocolError.
func (o *order) next(msg *reachv1.CensusResponse) (known bool, err error) {
	defer func() { o.messages++ }()
	k := kindOf(msg)
	broken := func(format string, args ...any) error {
		return &ProtocolError{Stage: o.stage(), Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case o.last == summary:
		return false, broken("%v came after the summary, which must be the last message", k)
	case k == unknown:
		return false, nil
	case k == progress:
		return true, nil
	case o.last == nothing && k != header:
		return false, broken("%v came before the header", k)
	case k < o.last, k == o.last && k == header:
		return false, broken("%v came after %v", k, o.last)
	}
	o.last = k
	return true, nil
}

func (o *order) complete() bool { return o.last == summary }

// stage says how far the stream has come, as the end of a sentence.
func (o *order) stage() string {
	switch o.last {
	case nothing:
		return "before it sent the header"
	case summary:
		return "after the summary"
	}
	return fmt.Sprintf("after %d messages, while sending %v", o.messages, o.last)
}

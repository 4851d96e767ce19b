package serve

import (
	"maps"
	"slices"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// sender sends one message of the stream.
type sender func(*reachv1.CensusResponse) error

// stream sends a census in the order of the protocol and counts on the way, so
// that the summary is true of what was sent.
func stream(c *census.Census, send sender) error {
	s := &streamer{c: c, send: send, counts: &reachv1.Counts{
		FilesInCommit: int32(c.FilesInCommit), BytesRead: c.BytesRead,
		PlacementsByClass: map[string]int32{}, SyncsByState: map[string]int32{},
		ObjectsByVerdict: map[string]int32{}, FindingsBySeverity: map[string]int32{}, NotConsidered: map[string]int32{},
		LiveObjectsByMaker: map[string]int32{}, Abstentions: map[string]int32{},
	}}
	for k, n := range c.NotConsidered {
		s.counts.NotConsidered[clean(k)] = int32(n)
	}
	for _, step := range []func() error{s.syncs, s.releases, s.placements, s.objects, s.live, s.files, s.findings, s.rules, s.coverage, s.summary} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type streamer struct {
	c      *census.Census
	send   sender
	counts *reachv1.Counts
}

func (s *streamer) syncs() error {
	for _, a := range s.c.Applied {
		m := &reachv1.Sync{
			Cluster: string(a.Cluster), Engine: a.Sync.Engine, Kind: a.Sync.Object.Kind,
			Namespace: clean(a.Sync.Object.Namespace), Name: clean(a.Sync.Object.Name), Path: clean(a.Path),
			Source: clean(a.Sync.Source.String()), Class: classes[a.Class()], Target: string(a.Target),
			State: states[a.State], Reason: a.Reason, Detail: clean(a.Detail), Trace: hops(a.Trace(s.c.Positions)),
			Directory: clean(a.Directory), Prune: a.Sync.Prune, Live: liveState(s.c.Ownership.Syncs[a]),
		}
		if a.Blocked == nil {
			m.Objects = int32(len(a.Objects))
		}
		s.counts.Syncs++
		s.counts.SyncsByState[string(a.State)]++
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Sync{Sync: m}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *streamer) releases() error {
	for _, a := range s.c.Applied {
		for _, r := range a.Releases {
			m := &reachv1.Release{
				Cluster: string(r.Cluster), Namespace: clean(r.Release.Object.Namespace), Name: clean(r.Release.Object.Name),
				Class: classes[r.Class], Target: string(r.Target), ReleaseName: clean(r.Release.ReleaseName),
				ReleaseNamespace: clean(r.Release.ReleaseNamespace), StorageNamespace: clean(r.Release.StorageNamespace),
				Chart: clean(chartText(r)), Trace: hops(r.Trace(s.c.Positions)), State: states[r.State], Reason: r.Reason,
				Controller: clean(a.Controller()), Live: liveState(s.c.Ownership.Releases[r]),
			}
			s.counts.Releases++
			if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Release{Release: m}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// chartText is the chart for people: "podinfo 6.x from HelmRepository/a/b".
func chartText(r *placement.Release) string {
	c := r.Release.Chart
	if c == nil {
		return ""
	}
	text := c.Name
	if c.Version != "" {
		text += " " + c.Version
	}
	if text != "" {
		text += " from "
	}
	return text + c.Source.String()
}

func (s *streamer) placements() error {
	seen := map[string]int{}
	ways := map[*placement.Applied][]*reachv1.Hop{}
	for _, p := range s.c.Placements {
		m := &reachv1.Placement{
			Path: clean(p.Path), Role: roles[p.Role], Class: classes[p.Class], Cluster: string(p.Cluster),
			ControllerCluster: string(p.ControllerCluster), Controller: clean(p.Controller), ControllerKind: p.ControllerKind,
			State: states[p.State], Reason: p.Reason, Detail: clean(p.Detail), Trace: s.way(p, ways),
		}
		s.counts.Placements++
		s.counts.PlacementsByClass[string(p.Class)]++
		if seen[p.Path]++; seen[p.Path] == 2 {
			s.counts.MultiPlacement++
		}
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Placement{Placement: m}}); err != nil {
			return err
		}
	}
	return nil
}

// way is the trace of a placement; ways remembers the parts that are shared.
func (s *streamer) way(p *placement.Placement, ways map[*placement.Applied][]*reachv1.Hop) []*reachv1.Hop {
	from, applied, to := p.Way(s.c.Positions)
	if applied == nil {
		return hops(from)
	}
	shared, ok := ways[applied]
	if !ok {
		shared = hops(applied.Trace(s.c.Positions))
		ways[applied] = shared
	}
	return slices.Concat(hops(from), shared, hops(to))
}

func (s *streamer) objects() error {
	for i, o := range s.c.Objects {
		v := s.c.Ownership.Verdicts[i]
		m := &reachv1.Object{
			Cluster: string(o.Cluster), ControllerCluster: string(o.ControllerCluster),
			Controller: clean(o.Applied.Controller()), ControllerKind: o.Applied.Sync.Object.Kind,
			Group: clean(o.Ref.Group), Version: clean(o.Ref.Version), Kind: clean(o.Ref.Kind), Namespace: clean(o.Ref.Namespace), Name: clean(o.Ref.Name),
			Origin:  s.origin(o.Object),
			Verdict: verdicts[v.Kind], Reason: v.Reason, Detail: clean(v.Detail), Class: classes[o.Class],
		}
		s.counts.Objects++
		s.verdict(v)
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Object{Object: m}}); err != nil {
			return err
		}
	}
	return nil
}

// origin is where an object is written, then each generator, input and patch
// that contributed to it.
func (s *streamer) origin(o *kustomize.Object) []*reachv1.Location {
	at := s.c.Positions.Position(o.Origin)
	out := []*reachv1.Location{{Path: clean(at.Path), Line: int32(at.Line)}}
	for _, step := range o.Steps {
		if step.Kind == kustomize.StepLayer {
			continue
		}
		if at := s.c.Positions.Position(step.Pos); !at.IsZero() {
			out = append(out, &reachv1.Location{Path: clean(at.Path), Line: int32(at.Line)})
		}
	}
	return out
}

func (s *streamer) files() error {
	for _, f := range s.c.Files {
		s.counts.Files++
		switch analyses[f.Analysis] {
		case reachv1.Analysis_ANALYSIS_ANALYSABLE:
			s.counts.Analysable++
		case reachv1.Analysis_ANALYSIS_SEEN_NOT_ANALYSED:
			s.counts.SeenNotAnalysed++
		case reachv1.Analysis_ANALYSIS_UNRESOLVED:
			s.counts.Unresolved++
		case reachv1.Analysis_ANALYSIS_UNCOVERED:
			s.counts.Uncovered++
		}
		if f.Role != kustomize.RoleObject {
			s.counts.RenderInputs++
		}
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_File{File: &reachv1.File{
			Path: clean(f.Path), Role: roles[f.Role], Analysis: analyses[f.Analysis], Reason: f.Reason, Detail: clean(f.Detail),
			Placements: int32(f.Placements), Root: clean(f.Root),
		}}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *streamer) findings() error {
	for _, f := range s.c.Findings {
		s.counts.Findings++
		s.counts.FindingsBySeverity[f.Severity.String()]++
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Finding{Finding: &reachv1.Finding{
			Rule: f.Rule, Severity: severities[f.Severity], Path: clean(f.At.Path), Line: int32(f.At.Line), Cluster: string(f.Cluster),
			Kind: clean(f.Kind), Namespace: clean(f.Namespace), Name: clean(f.Name), Var: clean(f.Var), Count: int32(f.Count),
			Message: clean(f.Message), Remedy: clean(f.Remedy), Trace: hops(f.Trace), Facts: facts(f.Facts),
		}}}); err != nil {
			return err
		}
	}
	return nil
}

func facts(in []finding.Fact) []*reachv1.FindingFact {
	var out []*reachv1.FindingFact
	for _, f := range in {
		out = append(out, &reachv1.FindingFact{Cluster: string(f.Cluster), Text: clean(f.Text), Path: clean(f.At.Path), Line: int32(f.At.Line)})
	}
	return out
}

func (s *streamer) rules() error {
	for _, r := range s.c.Rules {
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Rule{Rule: &reachv1.RuleResult{
			Rule: r.Rule.Name, Doc: r.Rule.Doc, Count: int32(r.Count), Severity: severities[r.Rule.Severity],
		}}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *streamer) coverage() error {
	for _, r := range s.c.Rows {
		m := &reachv1.CoverageRow{
			Root: clean(r.Root), Files: int32(r.Files), Analysable: int32(r.Analysable), Unresolved: int32(r.Unresolved),
			Uncovered: int32(r.Uncovered), RenderInputs: int32(r.RenderInputs),
			SeenNotAnalysedFiles: int32(r.SeenNotAnalysed), SeenNotAnalysed: counts(r.Seen),
		}
		for _, c := range r.Clusters {
			m.Clusters = append(m.Clusters, string(c))
		}
		if err := s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Coverage{Coverage: m}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *streamer) summary() error {
	m := &reachv1.Summary{Counts: s.counts, Notes: s.c.Notes}
	for i := range m.Notes {
		m.Notes[i] = clean(m.Notes[i])
	}
	m.Clusters = clusters(s.c.Clusters)
	for _, r := range s.c.Roots {
		at := s.c.Positions.Position(r.Declared)
		m.Roots = append(m.Roots, &reachv1.Root{
			Cluster: string(r.Cluster), Path: clean(r.Path), Namespace: clean(r.Namespace), Name: clean(r.Name),
			DeclaredBy: r.DeclaredBy, DeclaredPath: clean(at.Path), DeclaredLine: int32(at.Line),
		})
	}
	for _, p := range s.c.Proposals {
		m.Proposals = append(m.Proposals, &reachv1.RootProposal{Cluster: clean(p.Cluster), Path: clean(p.Path), Reason: clean(p.Reason)})
	}
	for _, p := range s.c.Packs {
		m.Packs = append(m.Packs, &reachv1.Pack{
			Name: p.Name, Handled: p.Handled, Kinds: counts(p.Kinds), Objects: int32(p.Objects), Files: int32(p.Files),
		})
	}
	return s.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Summary{Summary: m}})
}

func counts(in map[string]int) map[string]int32 {
	out := make(map[string]int32, len(in))
	for _, k := range slices.Sorted(maps.Keys(in)) {
		out[clean(k)] += int32(in[k])
	}
	return out
}

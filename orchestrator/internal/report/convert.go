package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/gitops-reach/reach/orchestrator/internal/stream"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// enum is a generated protobuf enum.
type enum interface {
	Descriptor() protoreflect.EnumDescriptor
	Number() protoreflect.EnumNumber
}

// word is the word of the contract for an enum value: the value's name without
// the prefix of its type, in lower case. Unspecified is ""; a value that a newer
// analyser added is "unknown_<number>", which no word equals.
func word(e enum) string {
	if e.Number() == 0 {
		return ""
	}
	value := e.Descriptor().Values().ByNumber(e.Number())
	if value == nil {
		return fmt.Sprintf("unknown_%d", e.Number())
	}
	zero := string(e.Descriptor().Values().ByNumber(0).Name())
	prefix := strings.TrimSuffix(zero, "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
}

// severities, mildest first.
var severities = []string{"info", "warning", "error", "fatal"}

// Severities lists the severities of findings, mildest first.
func Severities() []string { return append([]string(nil), severities...) }

// FromProto translates one message of the stream. The record is a pointer to a
// struct of the contract, or nil for messages that are no record of their own:
// the header and the rule results, which end up in Census, the summary and the
// progress.
func FromProto(m *reachv1.CensusResponse) any {
	switch e := m.GetEvent().(type) {
	case *reachv1.CensusResponse_Sync:
		return kustomization(e.Sync)
	case *reachv1.CensusResponse_Release:
		return helmRelease(e.Release)
	case *reachv1.CensusResponse_Placement:
		return placement(e.Placement)
	case *reachv1.CensusResponse_Object:
		return object(e.Object)
	case *reachv1.CensusResponse_Live:
		return liveObject(e.Live)
	case *reachv1.CensusResponse_File:
		return file(e.File)
	case *reachv1.CensusResponse_Finding:
		return finding(e.Finding)
	case *reachv1.CensusResponse_Coverage:
		return coverage(e.Coverage)
	}
	return nil
}

// HeaderFromProto translates the header. Tool, Names and Repository are the
// caller's to fill in.
func HeaderFromProto(h *reachv1.Header) Header {
	revision := h.GetRevision()
	if revision == "" {
		revision = "HEAD"
	}
	out := Header{
		SchemaFile: SchemaFile,
		Schema:     Schema,
		Revision:   revision,
		Commit:     h.GetCommit(),
		CommitTime: h.GetCommitTime().AsTime().UTC().Format(time.RFC3339),
		Shallow:    h.GetShallow(),
		Partial:    h.GetPartial(),
		Walls:      []Wall{},
	}
	for _, w := range h.GetWalls() {
		out.Walls = append(out.Walls, Wall{Name: w.GetName(), Stands: w.GetStands(), Detail: w.GetDetail()})
	}
	for _, name := range wallNames {
		named := slices.ContainsFunc(out.Walls, func(w Wall) bool { return w.Name == name })
		if !named {
			out.Walls = append(out.Walls, Wall{Name: name, Detail: "the analyser does not speak of it"})
		}
	}
	return out
}

// wallNames are the walls of the seal. One that an analyser does not speak of
// does not stand.
var wallNames = []string{"imports", "symbols", "landlock", "seccomp"}

// CensusFromProto translates the summary and the rule results. Data is the
// caller's to fill in.
func CensusFromProto(h Header, rules []*reachv1.RuleResult, s *reachv1.Summary) *Census {
	out := &Census{
		Header:   h,
		Clusters: clusters(s.GetClusters()),
		Roots:    []Root{},
		Counts:   counts(s.GetCounts()),
		Rules:    []Rule{},
		Review:   Review{Suppressions: []Suppression{}},
		Packs:    []Pack{},
		Notes:    append([]string{}, s.GetNotes()...),
		Data:     []DataFile{},
	}
	for _, r := range s.GetRoots() {
		out.Roots = append(out.Roots, Root{
			Cluster: r.GetCluster(), Path: r.GetPath(), Namespace: r.GetNamespace(), Name: r.GetName(),
			DeclaredBy: r.GetDeclaredBy(), DeclaredPath: r.GetDeclaredPath(), DeclaredLine: int(r.GetDeclaredLine()),
		})
	}
	for _, p := range s.GetProposals() {
		out.ProposedRoots = append(out.ProposedRoots, ProposedRoot{Cluster: p.GetCluster(), Path: p.GetPath(), Reason: p.GetReason()})
	}
	for _, r := range rules {
		out.Rules = append(out.Rules, Rule{
			Rule: r.GetRule(), Severity: word(r.GetSeverity()), Count: int(r.GetCount()), Doc: r.GetDoc(),
		})
	}
	for _, p := range s.GetPacks() {
		out.Packs = append(out.Packs, Pack{
			Name: p.GetName(), Handled: p.GetHandled(), Objects: int(p.GetObjects()), Files: int(p.GetFiles()),
			Kinds: ints(p.GetKinds()),
		})
	}
	return out
}

func clusters(in []*reachv1.Cluster) []Cluster {
	controls := map[string]bool{}
	for _, c := range in {
		for _, hub := range stream.ControllerClusters(c) {
			controls[hub] = true
		}
	}
	out := []Cluster{}
	for _, c := range in {
		role := "cluster"
		switch {
		case controls[c.GetName()]:
			role = "hub"
		case c.GetKubeconfig() != "":
			role = "spoke"
		}
		out = append(out, Cluster{
			Name: c.GetName(), Role: role, KubeConfig: c.GetKubeconfig(), ControllerCluster: c.GetControllerCluster(),
			RunsFlux: c.GetRunsFlux(), Flavour: c.GetFlavour(), Platform: c.GetPlatform(), Evidence: c.GetEvidence(),
			Controllers: append([]string{}, c.GetControllers()...),
		})
		for _, r := range c.GetReferences() {
			out[len(out)-1].References = append(out[len(out)-1].References, ClusterReference{r.GetControllerCluster(), r.GetKubeconfig()})
		}
		seen(&out[len(out)-1], c)
	}
	return out
}

func counts(c *reachv1.Counts) Counts {
	return Counts{
		FilesInCommit:         int(c.GetFilesInCommit()),
		Files:                 int(c.GetFiles()),
		Analysable:            int(c.GetAnalysable()),
		SeenNotAnalysed:       int(c.GetSeenNotAnalysed()),
		Unresolved:            int(c.GetUnresolved()),
		Uncovered:             int(c.GetUncovered()),
		RenderInputs:          int(c.GetRenderInputs()),
		MultiPlacement:        int(c.GetMultiPlacement()),
		Placements:            int(c.GetPlacements()),
		PlacementsByClass:     ints(c.GetPlacementsByClass()),
		Kustomizations:        int(c.GetSyncs()),
		KustomizationsByState: ints(c.GetSyncsByState()),
		HelmReleases:          int(c.GetReleases()),
		Objects:               int(c.GetObjects()),
		ObjectsByVerdict:      ints(c.GetObjectsByVerdict()),
		Findings:              int(c.GetFindings()),
		FindingsBySeverity:    ints(c.GetFindingsBySeverity()),
		NotConsidered:         ints(c.GetNotConsidered()),
		BytesRead:             c.GetBytesRead(),
		LiveRecords:           int(c.GetLiveRecords()),
		LiveObjectsByMaker:    ints(c.GetLiveObjectsByMaker()),
		Abstentions:           ints(c.GetAbstentions()),
	}
}

func ints(in map[string]int32) map[string]int {
	out := make(map[string]int, len(in))
	for k, v := range in {
		out[k] = int(v)
	}
	return out
}

func joined(names []string) string { return strings.Join(names, ",") }

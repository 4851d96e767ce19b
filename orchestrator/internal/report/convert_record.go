package report

import reachv1 "github.com/gitops-reach/reach/proto/reach/v1"

func trace(in []*reachv1.Hop) []Hop {
	out := make([]Hop, 0, len(in))
	for _, h := range in {
		out = append(out, Hop{
			Kind: h.GetKind(), Path: h.GetPath(), Line: int(h.GetLine()), Name: h.GetName(), Cluster: h.GetCluster(),
		})
	}
	return out
}

func kustomization(s *reachv1.Sync) *Kustomization {
	return &Kustomization{
		Cluster: s.GetCluster(), Engine: s.GetEngine(), Kind: s.GetKind(),
		Namespace: s.GetNamespace(), Name: s.GetName(),
		Path: s.GetPath(), Directory: s.GetDirectory(), Source: s.GetSource(),
		Class: word(s.GetClass()), Target: s.GetTarget(),
		State: word(s.GetState()), Reason: s.GetReason(), Detail: s.GetDetail(),
		Prune: s.GetPrune(), Objects: int(s.GetObjects()), Trace: trace(s.GetTrace()), Live: liveState(s.GetLive()),
	}
}

func helmRelease(r *reachv1.Release) *HelmRelease {
	return &HelmRelease{
		Cluster: r.GetCluster(), Namespace: r.GetNamespace(), Name: r.GetName(),
		Class: word(r.GetClass()), Target: r.GetTarget(),
		ReleaseName: r.GetReleaseName(), ReleaseNamespace: r.GetReleaseNamespace(),
		StorageNamespace: r.GetStorageNamespace(), Chart: r.GetChart(), Controller: r.GetController(),
		State: word(r.GetState()), Reason: r.GetReason(), Trace: trace(r.GetTrace()), Live: liveState(r.GetLive()),
	}
}

func placement(p *reachv1.Placement) *Placement {
	return &Placement{
		Path: p.GetPath(), Role: word(p.GetRole()), Class: word(p.GetClass()),
		Cluster: p.GetCluster(), ControllerCluster: p.GetControllerCluster(),
		Controller: p.GetController(), ControllerKind: p.GetControllerKind(),
		State: word(p.GetState()), Reason: p.GetReason(), Detail: p.GetDetail(), Trace: trace(p.GetTrace()),
	}
}

func object(o *reachv1.Object) *Object {
	out := &Object{
		Cluster: o.GetCluster(), ControllerCluster: o.GetControllerCluster(),
		Controller: o.GetController(), ControllerKind: o.GetControllerKind(),
		Group: o.GetGroup(), Version: o.GetVersion(), Kind: o.GetKind(),
		Namespace: o.GetNamespace(), Name: o.GetName(), Class: word(o.GetClass()),
		Origin: make([]Location, 0, len(o.GetOrigin())), Verdict: word(o.GetVerdict()), Reason: o.GetReason(), Detail: o.GetDetail(),
	}
	for _, l := range o.GetOrigin() {
		out.Origin = append(out.Origin, Location{Path: l.GetPath(), Line: int(l.GetLine())})
	}
	return out
}

func file(f *reachv1.File) *File {
	return &File{
		Path: f.GetPath(), Role: word(f.GetRole()), Analysis: word(f.GetAnalysis()),
		Reason: f.GetReason(), Detail: f.GetDetail(), Placements: int(f.GetPlacements()), Root: f.GetRoot(),
	}
}

func finding(f *reachv1.Finding) *Finding {
	return &Finding{
		Rule: f.GetRule(), Severity: word(f.GetSeverity()), Path: f.GetPath(), Line: int(f.GetLine()),
		Cluster: f.GetCluster(), Kind: f.GetKind(), Namespace: f.GetNamespace(), Name: f.GetName(),
		Var: f.GetVar(), Count: int(f.GetCount()), Message: f.GetMessage(), Remedy: f.GetRemedy(),
		Trace: trace(f.GetTrace()), Facts: facts(f.GetFacts()),
	}
}

func facts(in []*reachv1.FindingFact) []Fact {
	var out []Fact
	for _, f := range in {
		out = append(out, Fact{Cluster: f.GetCluster(), Text: f.GetText(), Path: f.GetPath(), Line: int(f.GetLine())})
	}
	return out
}

func coverage(r *reachv1.CoverageRow) *CoverageRow {
	return &CoverageRow{
		Root: r.GetRoot(), Clusters: append([]string{}, r.GetClusters()...), Cluster: joined(r.GetClusters()),
		Files: int(r.GetFiles()), Analysable: int(r.GetAnalysable()), Unresolved: int(r.GetUnresolved()),
		Uncovered: int(r.GetUncovered()), RenderInputs: int(r.GetRenderInputs()),
		SeenNotAnalysedFiles: int(r.GetSeenNotAnalysedFiles()), SeenNotAnalysed: ints(r.GetSeenNotAnalysed()),
	}
}

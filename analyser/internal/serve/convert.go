package serve

import (
	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/coverage"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/source"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// request turns the message into what the census wants. Missing roots' names
// get their defaults in the census.
func request(m *reachv1.CensusRequest) census.Request {
	r := census.Request{Limits: census.Limits{Document: document.Limits{
		Bytes: m.GetLimits().GetMaxBlobBytes(), Nodes: int(m.GetLimits().GetMaxDocumentNodes()),
		Documents: int(m.GetLimits().GetMaxDocuments()),
	}, Build: kustomize.Options{
		MaxDepth: int(m.GetLimits().GetMaxLayerDepth()), MaxObjects: int(m.GetLimits().GetMaxBuildObjects()),
	}}}
	r.NoShortcuts = m.GetNoShortcuts()
	for _, x := range m.GetRoots() {
		r.Roots = append(r.Roots, placement.Root{
			Cluster: cluster.Name(x.GetCluster()), Path: x.GetPath(), Namespace: x.GetNamespace(), Name: x.GetName(),
			DeclaredBy: orDefault(x.GetDeclaredBy(), "flag"),
		})
	}
	for _, x := range m.GetSources() {
		r.Sources = append(r.Sources, source.Mapping{
			Kind: x.GetKind(), Namespace: x.GetNamespace(), Name: x.GetName(), URL: x.GetUrl(), Ref: x.GetRef(),
			Subdirectory: x.GetSubdirectory(), Cluster: x.GetCluster(), External: x.GetExternal(),
		})
	}
	for _, x := range m.GetSpokes() {
		r.Spokes = append(r.Spokes, cluster.Mapping{
			Controller: cluster.Name(x.GetControllerCluster()), Namespace: x.GetNamespace(), Kind: x.GetKind(),
			Reference: x.GetName(), Key: x.GetKey(), Cluster: cluster.Name(x.GetCluster()),
		})
	}
	for _, x := range m.GetClusters() {
		r.Clusters = append(r.Clusters, census.Statement{
			Cluster: cluster.Name(x.GetCluster()), Controllers: x.GetControllers(),
			KustomizeControllerVersion: x.GetKustomizeControllerVersion(), FeatureGates: x.GetFeatureGates(),
		})
	}
	for _, x := range m.GetFacts() {
		r.Clusters = append(r.Clusters, census.Statement{Cluster: cluster.Name(x.GetCluster()), Controllers: x.GetControllers()})
	}
	return r
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

// clean makes bytes a proto3 string can hold. The codec does so with what it
// was forgotten for.
func clean(s string) string { return reachv1.Text(s) }

var classes = map[placement.Class]reachv1.Class{
	placement.Local: reachv1.Class_CLASS_LOCAL, placement.RemoteDirect: reachv1.Class_CLASS_REMOTE_DIRECT,
	placement.RemoteHubRender: reachv1.Class_CLASS_REMOTE_HUB_RENDER,
	placement.Uncovered:       reachv1.Class_CLASS_UNCOVERED, placement.Unresolved: reachv1.Class_CLASS_UNRESOLVED,
}

var states = map[placement.State]reachv1.State{
	placement.Resolved: reachv1.State_STATE_RESOLVED, placement.Suspended: reachv1.State_STATE_SUSPENDED,
	placement.Failed: reachv1.State_STATE_FAILED, placement.PathMissing: reachv1.State_STATE_PATH_MISSING,
	placement.External: reachv1.State_STATE_EXTERNAL, placement.StateUnresolved: reachv1.State_STATE_UNRESOLVED,
	placement.SpokeApplied: reachv1.State_STATE_SPOKE_APPLIED,
}

var roles = map[kustomize.Role]reachv1.Role{
	kustomize.RoleObject: reachv1.Role_ROLE_OBJECT, kustomize.RoleKustomization: reachv1.Role_ROLE_KUSTOMIZATION,
	kustomize.RolePatch: reachv1.Role_ROLE_PATCH, kustomize.RoleComponent: reachv1.Role_ROLE_COMPONENT,
	kustomize.RoleGeneratorInput: reachv1.Role_ROLE_GENERATOR_INPUT, kustomize.RoleValues: reachv1.Role_ROLE_VALUES,
	kustomize.RoleTransformer: reachv1.Role_ROLE_TRANSFORMER, kustomize.RoleOther: reachv1.Role_ROLE_OTHER,
}

var analyses = map[coverage.Analysis]reachv1.Analysis{
	coverage.Analysable: reachv1.Analysis_ANALYSIS_ANALYSABLE, coverage.SeenNotAnalysed: reachv1.Analysis_ANALYSIS_SEEN_NOT_ANALYSED,
	coverage.Unresolved: reachv1.Analysis_ANALYSIS_UNRESOLVED, coverage.Uncovered: reachv1.Analysis_ANALYSIS_UNCOVERED,
}

var severities = map[finding.Severity]reachv1.Severity{
	finding.Info: reachv1.Severity_SEVERITY_INFO, finding.Warning: reachv1.Severity_SEVERITY_WARNING,
	finding.Error: reachv1.Severity_SEVERITY_ERROR, finding.Fatal: reachv1.Severity_SEVERITY_FATAL,
}

func hops(in []placement.Hop) []*reachv1.Hop {
	out := make([]*reachv1.Hop, len(in))
	for i, h := range in {
		out[i] = &reachv1.Hop{
			Kind: h.Kind, Path: clean(h.At.Path), Line: int32(h.At.Line),
			Name: clean(h.Name), Cluster: string(h.Cluster),
		}
	}
	return out
}

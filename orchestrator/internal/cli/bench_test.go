package cli

import (
	"fmt"
	"os/exec"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// wide is a census of files with a placement on one of two hundred clusters
// each.
func wide(files int) []*reachv1.CensusResponse { return fleet(files, 200) }

// fleet is a census of files with a placement on one of the clusters each.
func fleet(files, number int) []*reachv1.CensusResponse {
	clusters := make([]*reachv1.Cluster, number)
	for i := range clusters {
		clusters[i] = &reachv1.Cluster{Name: fmt.Sprintf("prod-eu-%03d", i), Kubeconfig: "Secret a/b#c", ControllerCluster: "prod-eu-000"}
	}
	name := func(i int) string { return clusters[i%len(clusters)].GetName() }
	path := func(i int) string { return fmt.Sprintf("clusters/%s/apps/team-%d/app-%d.yaml", name(i), i%1000, i) }
	out := []*reachv1.CensusResponse{{Event: &reachv1.CensusResponse_Header{Header: &reachv1.Header{
		Commit: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", CommitTime: &timestamppb.Timestamp{Seconds: 1764500000},
		OriginUrl: "ssh://git@git.acme.example/acme/acme-platform.git",
	}}}}
	for i := range files {
		out = append(out, &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Placement{Placement: &reachv1.Placement{
			Path: path(i), Class: reachv1.Class_CLASS_REMOTE_DIRECT, Cluster: name(i), ControllerCluster: "prod-eu-000",
			Controller: "flux-system/apps", ControllerKind: "Kustomization", State: reachv1.State_STATE_RESOLVED,
			Trace: []*reachv1.Hop{
				{Kind: "file", Path: path(i), Line: 1},
				{Kind: "layer", Path: fmt.Sprintf("clusters/%s/apps/kustomization.yaml", name(i)), Line: 4},
				{Kind: "kustomization", Path: fmt.Sprintf("clusters/%s/apps.yaml", name(i)), Line: 1, Name: "flux-system/apps", Cluster: "prod-eu-000"},
				{Kind: "cluster", Name: name(i), Cluster: name(i)},
			},
		}}})
	}
	for i := range files {
		out = append(out, &reachv1.CensusResponse{Event: &reachv1.CensusResponse_File{File: &reachv1.File{
			Path: path(i), Role: reachv1.Role_ROLE_OBJECT, Analysis: reachv1.Analysis_ANALYSIS_ANALYSABLE, Placements: 1, Root: "clusters",
		}}})
	}
	return append(out, &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Summary{Summary: &reachv1.Summary{
		Clusters: clusters, Counts: &reachv1.Counts{Placements: int32(files), Files: int32(files), Analysable: int32(files)},
	}}})
}

// BenchmarkCensus is all that the orchestrator does with a stream: keeping it,
// replacing names, writing, searching for names, putting in place.
func BenchmarkCensus(b *testing.B) {
	for _, size := range []struct{ files, clusters int }{{1_000, 200}, {100_000, 200}, {100_000, 15_000}} {
		messages := fleet(size.files, size.clusters)
		for _, names := range []string{"alias", "real"} {
			b.Run(fmt.Sprintf("%s/%d/%d", names, size.files, size.clusters), func(b *testing.B) {
				b.Chdir(b.TempDir())
				if out, err := exec.Command("git", "init", "-q", "clone").CombinedOutput(); err != nil {
					b.Fatalf("git init: %v\n%s", err, out)
				}
				for b.Loop() {
					if _, _, err := take(b.Context(), &fakeAnalyser{messages: messages}, "--out", "out", "--names", names); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

package serve

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// discard is a client that reads everything and keeps nothing.
type discard struct {
	reachv1.AnalyserService_CensusServer
	ctx   context.Context
	bytes int
}

func (d *discard) Context() context.Context     { return d.ctx }
func (d *discard) SetHeader(metadata.MD) error  { return nil }
func (d *discard) SendHeader(metadata.MD) error { return nil }
func (d *discard) Send(m *reachv1.CensusResponse) error {
	d.bytes++
	return nil
}

// BenchmarkCensus answers census requests about REACH_BENCH_REPO.
func BenchmarkCensus(b *testing.B) {
	repo := os.Getenv("REACH_BENCH_REPO")
	if repo == "" {
		b.Skip("REACH_BENCH_REPO names no repository")
	}
	out, err := exec.Command("git", "-C", repo, "rev-parse", "HEAD").Output()
	if err != nil {
		b.Fatal(err)
	}
	head := strings.TrimSpace(string(out))
	for b.Loop() {
		s := &Service{Engines: []controller.Engine{flux.Engine()}, Open: func(*reachv1.Limits) (Repository, error) {
			return commit.Open(repo, commit.Limits{})
		}}
		if err := s.Census(&reachv1.CensusRequest{Revision: head, NoProgress: true}, &discard{ctx: b.Context()}); err != nil {
			b.Fatal(err)
		}
	}
}

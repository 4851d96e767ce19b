package serve

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// marshals is a client that takes every message as bytes and keeps none.
type marshals struct {
	reachv1.AnalyserService_CensusServer
	ctx    context.Context
	buffer []byte
}

func (d *marshals) Context() context.Context { return d.ctx }

func (d *marshals) Send(m *reachv1.CensusResponse) (err error) {
	d.buffer, err = proto.MarshalOptions{}.MarshalAppend(d.buffer[:0], m)
	return err
}

// BenchmarkCensus answers requests about the clone REACH_BENCH_REPO: a first census of
// HEAD, and one of HEAD~1 or HEAD by a process that took the other.
func BenchmarkCensus(b *testing.B) {
	repo := os.Getenv("REACH_BENCH_REPO")
	if repo == "" {
		b.Skip("REACH_BENCH_REPO names no repository")
	}
	out, err := exec.Command("git", "-C", repo, "rev-parse", "HEAD", "HEAD~1").Output()
	if err != nil {
		b.Fatal(err)
	}
	ids := strings.Fields(string(out))
	take := func(s *Service, id string, remember bool) {
		m := &reachv1.CensusRequest{Revision: id, NoProgress: true, Remember: remember}
		if err := s.Census(m, &marshals{ctx: b.Context()}); err != nil {
			b.Fatal(err)
		}
	}
	service := func() *Service {
		return &Service{Engines: []controller.Engine{flux.Engine()}, Open: func(*reachv1.Limits) (Repository, error) {
			return commit.Open(repo, commit.Limits{})
		}}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			take(service(), ids[0], false)
		}
	})
	b.Run("remembers", func(b *testing.B) {
		for b.Loop() {
			take(service(), ids[0], true)
		}
	})
	b.Run("next", func(b *testing.B) {
		s := service()
		take(s, ids[0], true)
		for i := 1; b.Loop(); i++ {
			take(s, ids[i%2], true)
		}
	})
}

// Package serve answers the protocol of proto/reach/v1: protobuf on one side,
// the stages' values on the other. It and its stdio subpackage are the only
// code of the analyser that knows gRPC.
package serve

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Version of the analyser program; set by the linker.
var Version = "0.1.0-dev"

// Repository is an opened clone.
type Repository interface {
	Resolve(revision string) (commit.Commit, error)
	Snapshot(ctx context.Context, c commit.Commit, progress func(done int)) (*snapshot.Snapshot, error)
	Info() commit.Info
}

// Service answers for one repository.
type Service struct {
	reachv1.UnimplementedAnalyserServiceServer
	// Open opens the repository for one census.
	Open func(*reachv1.Limits) (Repository, error)
	// Walls are the walls of the seal of this process.
	Walls []*reachv1.SealWall
	// Engines are the reconciliation engines that the census looks for.
	Engines []controller.Engine

	facts collector
	// memory belongs to the census that holds it.
	memory  *census.Memory
	holding sync.Mutex
}

// Hello agrees on the protocol version.
func (s *Service) Hello(_ context.Context, m *reachv1.HelloRequest) (*reachv1.HelloResponse, error) {
	if !slices.Contains(m.GetProtocolVersions(), reachv1.ProtocolVersion) {
		return nil, status.Errorf(codes.FailedPrecondition, "this analyser speaks protocol version %d, the client offers %v", reachv1.ProtocolVersion, m.GetProtocolVersions())
	}
	return &reachv1.HelloResponse{ProtocolVersion: reachv1.ProtocolVersion, AnalyserVersion: Version, Walls: s.Walls}, nil
}

// Census takes a census and streams it.
func (s *Service) Census(m *reachv1.CensusRequest, out reachv1.AnalyserService_CensusServer) error {
	ctx := out.Context()
	progress := &reporter{send: out.Send, quiet: m.GetNoProgress()}
	o, err := s.open(ctx, m, func(done int) { progress.report("listing", int64(done), 0, "files") })
	if err != nil {
		return statusOf(err)
	}
	if m.GetRemember() && s.holding.TryLock() {
		defer s.holding.Unlock()
		if s.memory == nil {
			s.memory = &census.Memory{}
		}
		o.request.Memory = s.memory
	}
	o.request.Progress = func(p census.Progress) { progress.report(p.Phase, p.Done, p.Total, p.Unit) }
	result, err := census.Take(ctx, o.snapshot, o.request)
	if err != nil {
		return statusOf(err)
	}
	if o.header.OriginUrl == "" {
		// A clone without a remote still has a name: that of the roots' source.
		o.header.OriginUrl = clean(result.OriginURL)
	}
	if err := out.Send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Header{Header: o.header}}); err != nil {
		return err
	}
	return stream(result, out.Send)
}

// opened is a commit that was asked about.
type opened struct {
	snapshot *snapshot.Snapshot
	request  census.Request
	header   *reachv1.Header
}

// open opens the commit of a request. listed is called while its files are
// listed.
func (s *Service) open(ctx context.Context, m *reachv1.CensusRequest, listed func(done int)) (*opened, error) {
	if err := checkLimits(m.GetLimits()); err != nil {
		return nil, err
	}
	repo, err := s.Open(m.GetLimits())
	if err != nil {
		return nil, err
	}
	// No name of a ref holds a backslash.
	revision := orDefault(reachv1.Bytes(m.GetRevision()), "HEAD")
	c, err := repo.Resolve(revision)
	if err != nil {
		return nil, err
	}
	o := &opened{request: request(m)}
	o.request.Observed = s.facts.take()
	if o.snapshot, err = repo.Snapshot(ctx, c, listed); err != nil {
		return nil, err
	}
	for i := range o.request.Roots {
		p := &o.request.Roots[i].Path
		if !o.snapshot.IsDir(strings.Trim(path.Clean("/"+*p), "/")) {
			*p = reachv1.Bytes(*p)
		}
	}
	info := repo.Info()
	o.request.Engines = s.Engines
	o.request.OriginURL, o.request.Commit = info.OriginURL, c.ID
	o.header = &reachv1.Header{
		Commit: c.ID, CommitTime: timestamppb.New(c.Time), Revision: clean(revision),
		OriginUrl: clean(info.OriginURL), Walls: s.Walls, Shallow: info.Shallow, Partial: info.Partial,
	}
	return o, nil
}

// reporter sends progress at most a few times a second: it is for eyes. The
// beginning of a phase is always told.
type reporter struct {
	mu    sync.Mutex
	send  sender
	quiet bool
	last  time.Time
	phase string
}

func (r *reporter) report(phase string, done, total int64, unit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet || phase == r.phase && time.Since(r.last) < 100*time.Millisecond {
		return
	}
	r.last, r.phase = time.Now(), phase
	// A peer that is gone is noticed by the result's own messages.
	_ = r.send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Progress{Progress: &reachv1.Progress{
		Phase: phase, Done: done, Total: total, Unit: unit,
	}}})
}

// statusOf gives an error the code that the protocol documents for it.
func statusOf(err error) error {
	code, message := codes.Internal, fmt.Sprint(err)
	var root *census.RootNotFoundError
	var limit *badLimitError
	switch {
	case errors.As(err, &root), errors.As(err, &limit), errors.Is(err, commit.ErrAmbiguous):
		code = codes.InvalidArgument
	case errors.Is(err, commit.ErrUnknownRevision):
		code = codes.NotFound
	case errors.Is(err, commit.ErrAbsent), errors.Is(err, commit.ErrCorrupt):
		code = codes.DataLoss
	case errors.Is(err, commit.ErrUnsupported), errors.Is(err, commit.ErrNotRepository):
		code = codes.FailedPrecondition
	case errors.Is(err, commit.ErrLimit):
		code = codes.ResourceExhausted
		if strings.Contains(message, "(--") {
			message += "; give a higher one if you trust this repository"
		}
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	return status.Error(code, clean(message))
}

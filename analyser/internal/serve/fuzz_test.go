package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/tools/txtar"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/serve/stdio"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// fixed is a repository with one commit.
type fixed struct{ snap *snapshot.Snapshot }

func (f fixed) Resolve(revision string) (commit.Commit, error) {
	if revision != "HEAD" {
		return commit.Commit{}, commit.ErrUnknownRevision
	}
	return commit.Commit{ID: "0123456789012345678901234567890123456789"}, nil
}

func (f fixed) Snapshot(context.Context, commit.Commit, func(int)) (*snapshot.Snapshot, error) {
	return f.snap, nil
}

func (f fixed) Info() commit.Info {
	return commit.Info{OriginURL: "https://git.example.com/acme/platform"}
}

// sent takes what a census sends, as gRPC would: a message that cannot be put on
// the wire is an error.
type sent struct {
	grpc.ServerStream
	ctx  context.Context
	last *reachv1.CensusResponse
	bad  error
}

func (s *sent) Context() context.Context { return s.ctx }

func (s *sent) Send(m *reachv1.CensusResponse) error {
	b, err := proto.Marshal(m)
	if err == nil && len(b) > reachv1.MaxResponseBytes {
		err = errors.New("a message larger than the protocol allows")
	}
	s.last, s.bad = m, errors.Join(s.bad, err)
	return err
}

func fuzzService(f *testing.F) *Service {
	a, err := txtar.ParseFile("testdata/small.txtar")
	if err != nil {
		f.Fatal(err)
	}
	return &Service{
		Engines: []controller.Engine{flux.Engine()},
		Open:    func(*reachv1.Limits) (Repository, error) { return fixed{snapshot.FromTxtar(a, "")}, nil },
	}
}

// What a fuzzed input asks for.
const (
	asCensus = iota
	asExplain
	asHello
	asConnection
	asFrames
	ways
)

// FuzzRequest gives any request, and any bytes in place of a connection, to the
// service: each ends soon, with an answer that can be sent or with an error whose code
// the protocol documents.
func FuzzRequest(f *testing.F) {
	full := &reachv1.CensusRequest{
		Roots:   []*reachv1.Root{{Cluster: "hub", Path: "clusters/hub", Namespace: "flux-system", Name: "flux-system", DeclaredBy: "flag"}},
		Sources: []*reachv1.SourceMapping{{Kind: "GitRepository", Name: "flux-system", Namespace: "flux-system", Ref: "branch:main", Subdirectory: "apps"}},
		Spokes:  []*reachv1.SpokeMapping{{ControllerCluster: "hub", Namespace: "flux-system", Kind: "Secret", Name: "spoke", Cluster: "edge"}},
		Clusters: []*reachv1.ClusterStatement{{
			Cluster: "edge", Controllers: []string{"kustomize-controller"}, KustomizeControllerVersion: "1.9.6",
			FeatureGates: map[string]bool{"StrictPostBuildSubstitutions": true},
		}},
		Limits: &reachv1.Limits{MaxDocuments: 3, MaxDocumentNodes: 50, MaxLayerDepth: 2, MaxBuildObjects: 4},
	}
	group := "apps"
	question := &reachv1.ExplainRequest{
		Census: &reachv1.CensusRequest{}, Object: &reachv1.ObjectQuery{Kind: "Deployment", Name: "web", Group: &group}, Field: "spec.replicas",
	}
	hello := &reachv1.HelloRequest{ProtocolVersions: []uint32{reachv1.ProtocolVersion}, Client: "fuzz"}
	for way, m := range map[byte]proto.Message{asCensus: full, asExplain: question, asHello: hello} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(way, b)
	}
	f.Add(byte(asCensus), []byte{})
	f.Add(byte(asConnection), []byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(byte(asConnection), []byte(http2.ClientPreface))
	f.Add(byte(asFrames), []byte{0, 0, 4, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41})
	f.Add(byte(asFrames), []byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	service := fuzzService(f)
	f.Fuzz(func(t *testing.T, way byte, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		switch way % ways {
		case asCensus:
			m := &reachv1.CensusRequest{}
			if proto.Unmarshal(data, m) != nil {
				return
			}
			out := &sent{ctx: ctx}
			if err = service.Census(m, out); err == nil && out.last.GetSummary() == nil {
				t.Error("the stream ends without a summary")
			}
			if out.bad != nil {
				t.Error(out.bad)
			}
		case asExplain:
			m := &reachv1.ExplainRequest{}
			if proto.Unmarshal(data, m) != nil {
				return
			}
			var answer *reachv1.ExplainResponse
			if answer, err = service.Explain(ctx, m); err == nil {
				if _, err := proto.Marshal(answer); err != nil {
					t.Error(err)
				}
			}
		case asHello:
			m := &reachv1.HelloRequest{}
			if proto.Unmarshal(data, m) != nil {
				return
			}
			_, err = service.Hello(ctx, m)
		case asConnection:
			converse(t, service, data)
		case asFrames:
			converse(t, service, append([]byte(http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"), data...))
		}
		switch s := status.Convert(err); s.Code() {
		case codes.OK, codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted:
		default:
			t.Errorf("the status %v: %s", s.Code(), s.Message())
		}
	})
}

// converse sends bytes to a served connection, closes it, and waits until the server has
// given it up.
func converse(t *testing.T, service *Service, data []byte) {
	t.Helper()
	requests, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer fromServer.Close()
	go func() {
		_, _ = toServer.Write(data)
		toServer.Close()
	}()
	go func() { _, _ = io.Copy(io.Discard, fromServer) }()
	server := grpc.NewServer(stdio.ServerOptions()...)
	reachv1.RegisterAnalyserServiceServer(server, service)
	done := make(chan error, 1)
	go func() { done <- stdio.Serve(server, stdio.New(requests, answers)) }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not end when its peer is gone")
	}
}

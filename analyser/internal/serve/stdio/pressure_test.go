package stdio

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// eager sends as fast as it is let, and counts.
type eager struct {
	reachv1.UnimplementedAnalyserServiceServer
	sent atomic.Int64
}

const (
	eagerMessages = 40_000
	eagerSize     = 1 << 10
)

func (e *eager) Census(_ *reachv1.CensusRequest, stream grpc.ServerStreamingServer[reachv1.CensusResponse]) error {
	m := &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Progress{Progress: &reachv1.Progress{Phase: strings.Repeat("x", eagerSize)}}}
	for range eagerMessages {
		if err := stream.Send(m); err != nil {
			return err
		}
		e.sent.Add(1)
	}
	return nil
}

// A peer that does not read holds the census up instead of having it pile up in
// memory: what is under way stays within the peer's window and what a pipe and the
// transport hold.
func TestBackPressure(t *testing.T) {
	const window = 1 << 20 // that of reach
	for _, c := range []struct {
		name    string
		window  int32
		piledUp bool
	}{
		{"the window of reach", window, false},
		// A peer that asks for everything gets everything: the count sees it.
		{"a window without end", 1 << 30, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r0, w0 := pipe(t)
			r1, w1 := pipe(t)
			e := &eager{}
			s := grpc.NewServer(ServerOptions()...)
			reachv1.RegisterAnalyserServiceServer(s, e)
			done := make(chan error, 1)
			go func() { done <- Serve(s, New(r0, w1)) }()
			client := dial(t, New(r1, w0), grpc.WithStaticStreamWindowSize(c.window), grpc.WithStaticConnWindowSize(c.window))
			stream, err := client.Census(t.Context(), &reachv1.CensusRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
			const most = 4 * window / eagerSize
			// Long enough for a sender that nothing holds up; a slow machine sees
			// less of it, never more.
			for deadline := time.Now().Add(time.Second); (c.piledUp || time.Now().Before(deadline)) && e.sent.Load() <= most; {
				time.Sleep(5 * time.Millisecond)
			}
			if n := e.sent.Load(); n > most && !c.piledUp {
				t.Errorf("%d messages of %d bytes are under way", n, eagerSize)
			}
			n := 1
			for ; err == nil; n++ {
				_, err = stream.Recv()
			}
			if err != io.EOF || n-1 != eagerMessages {
				t.Errorf("%d messages came, and then %v", n-1, err)
			}
			w0.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

//go:build unix

package launch

import (
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// What a fuzzed input is.
const (
	wire     = iota // all that the child writes
	frames          // what follows the first frame
	messages        // what a census answers
	fuzzed
)

// FuzzChild gives any bytes in place of what a child writes: a census of it ends soon,
// in order or with an error that says what happened, and holds no more than it may.
func FuzzChild(f *testing.F) {
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	ack := []byte{0, 0, 0, 4, 1, 0, 0, 0, 0}
	headers := []byte{0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88}
	f.Add(byte(wire), []byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add(byte(wire), settings)
	f.Add(byte(frames), slices.Concat(ack, headers))
	f.Add(byte(frames), []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(byte(frames), []byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1})
	m, err := proto.Marshal(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Header{Header: &reachv1.Header{Commit: "a"}}})
	if err != nil {
		f.Fatal(err)
	}
	end, err := proto.Marshal(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Summary{Summary: &reachv1.Summary{}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(messages), slices.Concat(length(len(m)), m, length(len(end)), end))
	f.Add(byte(messages), slices.Concat(length(len(end)), end))
	f.Add(byte(messages), []byte{1, 0, 0, 0, 5, 1, 2, 3, 4, 5})
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		f.Fatal(err)
	}
	succeeded := false
	f.Fuzz(func(t *testing.T, what byte, data []byte) {
		var first, out []byte
		switch what % fuzzed {
		case wire:
			first = data
		case frames:
			first, out = settings, data
		case messages:
			first, out = settings, slices.Concat(ack, grpcHeaders)
			for len(data) > 0 {
				n := min(len(data), 16<<10)
				out = append(out, byte(n>>16), byte(n>>8), byte(n), byte(http2.FrameData), 0, 0, 0, 0, 1)
				out = append(out, data[:n]...)
				data = data[n:]
			}
			out = append(out, grpcTrailers...)
		}
		succeeded = census(t, first, out, ended.ProcessState) == nil || succeeded
	})
	// While it fuzzes the seeds run in another process.
	if fuzzing := flag.Lookup("test.fuzz"); !succeeded && fuzzing.Value.String() == "" {
		f.Error("no seed is a census: nothing was tried but refusals")
	}
}

// grpcHeaders begin the answer to the first call: :status 200 (index 8 of HPACK's static
// table) and content-type (31) application/grpc, which is none of the table.
var grpcHeaders = func() []byte {
	block := append([]byte{0x88, 0x5f, 16}, "application/grpc"...)
	return append([]byte{0, 0, byte(len(block)), byte(http2.FrameHeaders), byte(http2.FlagHeadersEndHeaders), 0, 0, 0, 1}, block...)
}()

// grpcTrailers end it: grpc-status 0.
var grpcTrailers = func() []byte {
	block := slices.Concat([]byte{0, 11}, []byte("grpc-status"), []byte{1, '0'})
	flags := http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream
	return append([]byte{0, 0, byte(len(block)), byte(http2.FrameHeaders), byte(flags), 0, 0, 0, 1}, block...)
}()

// length is the prefix of a gRPC message.
func length(n int) []byte { return []byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }

// census asks a child for a census that writes first, then out once it was asked, and ends
// as state says.
func census(t *testing.T, first, out []byte, state *os.ProcessState) error {
	t.Helper()
	pipes, err := openPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer pipes.stderr.r.Close()
	defer pipes.stderr.w.Close()
	go func() {
		defer pipes.stdout.w.Close()
		_, _ = pipes.stdout.w.Write(first)
		if len(out) > 0 {
			asked(pipes.stdin.r)
			_, _ = pipes.stdout.w.Write(out)
		}
		pipes.stdout.w.Close()
		_, _ = io.Copy(io.Discard, pipes.stdin.r)
	}()
	defer pipes.stdin.r.Close()

	o := Options{Deadlines: Deadlines{Start: 5 * time.Second}}
	o.setDefaults()
	o.Limits.Bytes = 1 << 20
	p := &process{exited: make(chan struct{}), logged: make(chan struct{}), log: &stderr{}, state: state}
	close(p.exited)
	close(p.logged)
	p.conn = newConn(pipes.stdout.r, pipes.stdin.w, o.Limits.Bytes)
	defer p.conn.Close()
	options := append(dialOptions(p, o), grpc.WithTransportCredentials(insecure.NewCredentials()))
	client, err := grpc.NewClient("passthrough:///child", options...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	a := &Analyser{deadlines: o.Deadlines, limits: o.Limits, proc: p, service: reachv1.NewAnalyserServiceClient(client)}
	a.life, a.end = context.WithCancelCause(t.Context())
	defer a.end(nil)

	began := time.Now()
	held := 0
	err = a.census(t.Context(), &reachv1.CensusRequest{}, func(m *reachv1.CensusResponse) error {
		held += proto.Size(m)
		return nil
	})
	if err == nil && held == 0 {
		t.Error("a census of nothing")
	}
	// An empty entry of a map has two bytes on the wire and six as a value.
	if n := len(first) + len(out); held > 4*n {
		t.Errorf("%d bytes of messages out of %d", held, n)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	return err
}

// asked reads until a call has begun, or the other side is gone.
func asked(r io.Reader) {
	if _, err := io.ReadFull(r, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	for f := http2.NewFramer(io.Discard, r); ; {
		frame, err := f.ReadFrame()
		if _, ok := frame.(*http2.HeadersFrame); ok || err != nil {
			return
		}
	}
}

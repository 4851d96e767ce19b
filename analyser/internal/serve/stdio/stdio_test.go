package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// childMode makes the test binary serve instead of testing.
const childMode = "REACH_STDIO_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(m.Run())
}

// child serves on its standard input and output, with code around it that
// does not know that they are taken.
func child(mode string) int {
	conn, err := Take()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := Take(); err == nil {
		fmt.Fprintln(os.Stderr, "the second Take succeeded")
		return 1
	}
	if mode == "write" {
		// Writes to a peer that stops reading, until an error comes back.
		for {
			if _, err := conn.Write(make([]byte, 4096)); err != nil {
				fmt.Fprintln(os.Stderr, "write:", err)
				return 7
			}
		}
	}
	s := grpc.NewServer(ServerOptions()...)
	reachv1.RegisterAnalyserServiceServer(s, &noisy{})
	if err := Serve(s, conn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "served")
	return 0
}

// noisy prints to standard output in every way there is and reads standard
// input, while it answers.
type noisy struct {
	reachv1.UnimplementedAnalyserServiceServer
}

func (*noisy) Hello(context.Context, *reachv1.HelloRequest) (*reachv1.HelloResponse, error) {
	fmt.Println("noise by fmt")
	_, _ = syscall.Write(1, []byte("noise by system call\n"))
	b, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	var raw [1]byte
	n, err := syscall.Read(0, raw[:])
	return &reachv1.HelloResponse{ProtocolVersion: 1, AnalyserVersion: fmt.Sprint(len(b), n, err)}, nil
}

func (*noisy) Census(_ *reachv1.CensusRequest, stream grpc.ServerStreamingServer[reachv1.CensusResponse]) error {
	for i := range int64(1000) {
		fmt.Println("noise", i)
		if err := stream.Send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Progress{
			Progress: &reachv1.Progress{Done: i},
		}}); err != nil {
			return err
		}
	}
	// Waits for the peer to go away.
	<-stream.Context().Done()
	return stream.Context().Err()
}

func dial(t *testing.T, c net.Conn, opts ...grpc.DialOption) reachv1.AnalyserServiceClient {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///stdio", append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return c, nil }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return reachv1.NewAnalyserServiceClient(cc)
}

func start(t *testing.T, mode string) (cmd *exec.Cmd, c *Conn, stderr *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r0, w0 := pipe(t)
	r1, w1 := pipe(t)
	stderr = &bytes.Buffer{}
	cmd = exec.Command(exe)
	cmd.Env = []string{childMode + "=" + mode}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r0, w1, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r0.Close()
	w1.Close()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd, New(r1, w0), stderr
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// Nothing but the connection reaches standard output, and closing standard
// input in the middle of a call ends the process with success.
func TestServeKeepsTheStreamClean(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file descriptors cannot be moved on Windows")
	}
	cmd, conn, stderr := start(t, "serve")
	client := dial(t, conn)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	hello, err := client.Hello(ctx, &reachv1.HelloRequest{ProtocolVersions: []uint32{1}})
	if err != nil {
		t.Fatalf("Hello: %v\n%s", err, stderr)
	}
	if got, want := hello.AnalyserVersion, "0 0 <nil>"; got != want {
		t.Errorf("bytes on standard input beside the connection: %s, want %s", got, want)
	}
	stream, err := client.Census(ctx, &reachv1.CensusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1000) {
		msg, err := stream.Recv()
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if got := msg.GetProgress().GetDone(); got != i {
			t.Fatalf("message %d says %d", i, got)
		}
	}

	conn.out.Close() // the child's standard input
	if err := cmd.Wait(); err != nil {
		t.Errorf("after standard input was closed: %v", err)
	}
	if _, err := stream.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the cut stream ended with %v, want an error", err)
	}
	for _, want := range []string{"noise by fmt\n", "noise by system call\n", "noise 999\n", "served\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("standard error lacks %q", want)
		}
	}
}

// A peer that stops reading is an error of Write, not the signal that kills a
// process that writes to file descriptor 1.
func TestWriteToAPeerThatIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGPIPE on Windows")
	}
	cmd, conn, stderr := start(t, "write")
	conn.Close()
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(stderr.String(), "broken pipe") {
		t.Errorf("child ended with %v and said %q, want exit status 7 and a broken pipe", err, stderr)
	}
}

// A peer that does not speak HTTP/2 ends the service; it does not hang it.
func TestServeNonsense(t *testing.T) {
	r0, w0 := pipe(t)
	r1, w1 := pipe(t)
	go func() { w0.WriteString("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
	go io.Copy(io.Discard, r1)
	done := make(chan error, 1)
	go func() { done <- Serve(grpc.NewServer(ServerOptions()...), New(r0, w1)) }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Serve still waits")
	}
}

// Requests may be larger than gRPC's default, up to the protocol's limit.
func TestServeRequestSize(t *testing.T) {
	r0, w0 := pipe(t)
	r1, w1 := pipe(t)
	s := grpc.NewServer(ServerOptions()...)
	reachv1.RegisterAnalyserServiceServer(s, reachv1.UnimplementedAnalyserServiceServer{})
	done := make(chan error, 1)
	go func() { done <- Serve(s, New(r0, w1)) }()
	client := dial(t, New(r1, w0))
	for _, c := range []struct {
		bytes int
		want  codes.Code
	}{
		{8 << 20, codes.Unimplemented}, // it was read, and nobody answers it here
		{reachv1.MaxRequestBytes + 1, codes.ResourceExhausted},
	} {
		_, err := client.Hello(t.Context(), &reachv1.HelloRequest{Client: strings.Repeat("x", c.bytes)})
		if got := status.Code(err); got != c.want {
			t.Errorf("request of %d bytes: %v, want %v", c.bytes, err, c.want)
		}
	}
	s.Stop()
	if err := <-done; err != nil {
		t.Errorf("Serve after Stop: %v", err)
	}
}

func TestConnCloseUnblocks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes cannot be polled on Windows")
	}
	r0, _ := pipe(t)
	_, w1 := pipe(t)
	c := New(r0, w1)

	if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after the deadline: %v", err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}

	errs := make(chan error, 2)
	go func() { _, err := c.Read(make([]byte, 1)); errs <- err }()
	go func() { _, err := c.Write(make([]byte, 1<<20)); errs <- err }()
	time.Sleep(20 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	for range 2 {
		select {
		case err := <-errs:
			if !errors.Is(err, os.ErrClosed) {
				t.Errorf("a pending call returned %v, want %v", err, os.ErrClosed)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("a call still waits after Close")
		}
	}
}

func TestListenerYieldsTheConnectionOnce(t *testing.T) {
	r0, _ := pipe(t)
	_, w1 := pipe(t)
	c := New(r0, w1)
	l := Listen(c)
	if got, err := l.Accept(); err != nil || got != net.Conn(c) {
		t.Fatalf("first Accept: %v, %v", got, err)
	}
	second := make(chan error, 1)
	go func() { _, err := l.Accept(); second <- err }()
	select {
	case err := <-second:
		t.Fatalf("second Accept returned %v while the connection is open", err)
	case <-time.After(20 * time.Millisecond):
	}
	c.Close()
	if err := <-second; err != io.EOF {
		t.Errorf("second Accept: %v, want EOF", err)
	}
	l.Close()
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v, want %v", err, net.ErrClosed)
	}
}

// hostile answers with bytes that are not UTF-8.
type hostile struct {
	reachv1.UnimplementedAnalyserServiceServer
}

func (hostile) Hello(context.Context, *reachv1.HelloRequest) (*reachv1.HelloResponse, error) {
	return &reachv1.HelloResponse{AnalyserVersion: "v\xff"}, nil
}

func (hostile) Explain(context.Context, *reachv1.ExplainRequest) (*reachv1.ExplainResponse, error) {
	return nil, status.Error(codes.NotFound, "no\xff")
}

// A repository's bytes in an answer do not end the call that brings them, and an
// error with such bytes arrives.
func TestServeBytesThatAreNotUTF8(t *testing.T) {
	r0, w0 := pipe(t)
	r1, w1 := pipe(t)
	s := grpc.NewServer(ServerOptions()...)
	reachv1.RegisterAnalyserServiceServer(s, hostile{})
	done := make(chan error, 1)
	go func() { done <- Serve(s, New(r0, w1)) }()
	client := dial(t, New(r1, w0))
	m, err := client.Hello(t.Context(), &reachv1.HelloRequest{})
	if err != nil || m.GetAnalyserVersion() != `v\xff` {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := client.Explain(t.Context(), &reachv1.ExplainRequest{}); status.Code(err) != codes.NotFound {
		t.Errorf("got %v", err)
	}
	s.Stop()
	if err := <-done; err != nil {
		t.Errorf("Serve after Stop: %v", err)
	}
}

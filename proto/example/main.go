// Command example takes a census of a git repository without the orchestrator:
// it starts reach-analyser, speaks gRPC over its standard input and output,
// and prints where each file lands. Any tool in any language that has gRPC
// can do the same; ../README.md describes the protocol.
//
//	go run ./proto/example bin/reach-analyser path/to/clone [revision]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: example ANALYSER REPOSITORY [REVISION]")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2], append(os.Args[3:], "")[0]); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, analyser, repository, revision string) error {
	// A census that takes longer is not worth waiting for. When the context
	// ends, so does the analyser.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()

	// Start the analyser with nothing but the path of the repository: no
	// environment, and its log lines on our standard error.
	repository, err := filepath.Abs(repository)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, analyser, repository)
	cmd.Env = []string{}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Closing its standard input ends the analyser.
	defer func() { stdin.Close(); cmd.Wait() }()

	// The two pipes are the one connection, in plain text. The name of the
	// target does not matter, since the dialer does not look at it.
	conn, err := grpc.NewClient("passthrough:///analyser",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return pipes{stdout, stdin}, nil
		}))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := reachv1.NewAnalyserServiceClient(conn)

	// Hello comes first. It agrees on the version of the protocol and tells
	// which walls of the seal stand.
	hello, err := client.Hello(ctx, &reachv1.HelloRequest{
		ProtocolVersions: []uint32{reachv1.ProtocolVersion}, Client: "example",
	})
	if err != nil {
		return err
	}
	for _, wall := range hello.Walls {
		fmt.Fprintf(out, "wall %s stands: %t\n", wall.Name, wall.Stands)
	}

	// The census is a stream of messages, ordered by kind.
	stream, err := client.Census(ctx, &reachv1.CensusRequest{Revision: revision})
	if err != nil {
		return err
	}
	complete := false
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch event := msg.Event.(type) {
		case *reachv1.CensusResponse_Header:
			fmt.Fprintln(out, "commit", event.Header.Commit)
		case *reachv1.CensusResponse_Placement:
			p := event.Placement
			fmt.Fprintf(out, "%s lands on %q by %s: %v\n", p.Path, p.Cluster, p.Controller, p.Class)
		case *reachv1.CensusResponse_Summary:
			complete = true
		}
	}
	// Without a summary, what was printed above is not a census.
	if !complete {
		return errors.New("the analyser ended before the census was complete")
	}
	return nil
}

// pipes is a net.Conn made of the child's standard output and input.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func (pipes) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "stdio"} }
func (pipes) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "stdio"} }
func (pipes) SetDeadline(time.Time) error      { return nil }
func (pipes) SetReadDeadline(time.Time) error  { return nil }
func (pipes) SetWriteDeadline(time.Time) error { return nil }

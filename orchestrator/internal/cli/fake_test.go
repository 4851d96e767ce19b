package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// fakeAnalyser replays a stream that is written by hand.
type fakeAnalyser struct {
	messages []*reachv1.CensusResponse
	// before is called before each message, counted from 0, and after the last
	// one; its error ends the census.
	before func(ctx context.Context, n int) error
	// unsealed: no wall stands.
	unsealed bool
	// request is what was asked for.
	request *reachv1.CensusRequest
}

func (f *fakeAnalyser) Hello() *reachv1.HelloResponse {
	hello := &reachv1.HelloResponse{ProtocolVersion: 1, AnalyserVersion: "0.1.0"}
	for _, name := range allWalls {
		hello.Walls = append(hello.Walls, &reachv1.SealWall{Name: name, Stands: !f.unsealed})
	}
	return hello
}

func (f *fakeAnalyser) Close() {}

func (f *fakeAnalyser) Census(ctx context.Context, req *reachv1.CensusRequest, handle func(*reachv1.CensusResponse) error) error {
	f.request = req
	for n, m := range append(f.messages, nil) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.before != nil {
			if err := f.before(ctx, n); err != nil {
				return err
			}
		}
		if m != nil {
			if err := handle(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// readStream reads messages in protobuf's text format that are separated by
// lines of dashes.
func readStream(name string) ([]*reachv1.CensusResponse, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []*reachv1.CensusResponse
	for i, block := range strings.Split(string(data), "\n---\n") {
		m := &reachv1.CensusResponse{}
		if err := prototext.Unmarshal([]byte(block), m); err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", name, i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// launchFake makes ready to start startFake.
func launchFake(context.Context, string, func()) starter { return startFake }

// startFake replays the stream of the file $STREAM. After as many messages as
// $STREAM_BREAKS says the analyser dies; after $STREAM_HANGS it makes the file
// "hanging" and says nothing more.
func startFake(context.Context, string, io.Writer) (analyser, error) {
	messages, err := readStream(os.Getenv("STREAM"))
	if err != nil {
		return nil, err
	}
	breaks, hangs := number("STREAM_BREAKS"), number("STREAM_HANGS")
	return &fakeAnalyser{messages: messages, before: func(ctx context.Context, i int) error {
		switch i {
		case breaks:
			return fmt.Errorf("the analyser was ended by signal \"killed\" after %d messages", i)
		case hangs:
			if err := os.WriteFile("hanging", nil, 0o600); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}, nil
}

// number is the value of an environment variable, -1 when it is none.
func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return -1
	}
	return n
}

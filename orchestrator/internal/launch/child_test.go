//go:build unix

package launch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// childFlag as the first argument makes the test binary play an analyser. The
// second argument is what it does wrong; see misbehave.
const (
	childFlag  = "-reach-test-child"
	parentFlag = "-reach-test-parent"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == childFlag:
		childMain(os.Args[2])
		os.Exit(0)
	case len(os.Args) > 2 && os.Args[1] == parentFlag:
		parentMain(os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Stages at which a child can go wrong.
const (
	atStart   = "start"
	atHello   = "hello"  // Hello arrived and is not answered
	atCensus  = "census" // Census arrived, nothing was sent
	atHeader  = "header" // the header was sent
	atMiddle  = "middle" // some records were sent
	atSummary = "summary"
)

// childMain serves a small census on standard input and output and goes wrong
// as fault says: an action and a stage, "die@middle", or a name of its own.
func childMain(fault string) {
	action, stage, _ := strings.Cut(fault, "@")
	switch action {
	case "http1":
		fmt.Print("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request")
		forever()
	case "prints":
		fmt.Print("usage: reach-analyser REPOSITORY\n\x1b[31mred\x1b[0m\n")
		os.Exit(2)
	case "zeros":
		// Looks like nothing at all, for ever.
		for b := make([]byte, 1<<16); ; {
			os.Stdout.Write(b)
		}
	case "garbage":
		for b := bytes.Repeat([]byte("garbage "), 1<<13); ; {
			os.Stdout.Write(b)
		}
	case "deaf":
		// Neither reads nor writes.
		signal.Ignore(syscall.SIGTERM, syscall.SIGPIPE)
		for {
			time.Sleep(time.Hour)
		}
	case "closes-stdout":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "settings-flood":
		// A good beginning, then frames without end.
		os.Stdout.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
		ping := bytes.Repeat([]byte{0, 0, 8, 6, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, 1<<10)
		for {
			os.Stdout.Write(ping)
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		defer time.Sleep(time.Hour)
	case "orphan":
		orphan()
	}
	f := &fake{action: action, stage: stage}
	f.at(atStart)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(reachv1.MaxRequestBytes), grpc.MaxSendMsgSize(1<<30),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(stream)
			fmt.Fprintln(os.Stderr, "unexpected call of", method)
			return status.Error(codes.Unimplemented, method)
		}))
	if action != "other-service" {
		reachv1.RegisterAnalyserServiceServer(s, f)
	}
	c := &served{done: make(chan struct{})}
	_ = s.Serve(&once{conn: c})
}

// orphan starts a grandchild that holds all three files and ignores signals.
func orphan() {
	exe, _ := os.Executable()
	p, err := os.StartProcess(exe, []string{exe, childFlag, "deaf"}, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "grandchild", p.Pid)
}

// fake is an analyser that goes wrong at one stage.
type fake struct {
	reachv1.UnimplementedAnalyserServiceServer
	action, stage string
}

func (f *fake) at(stage string) {
	if f.stage != stage {
		return
	}
	switch f.action {
	case "die":
		fmt.Fprintln(os.Stderr, "first line")
		fmt.Fprintln(os.Stderr, "disk on fire at", stage)
		os.Exit(3)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "panic":
		go panic("boom at " + stage)
		forever()
	case "hang":
		forever()
	case "spill": // raw bytes into the stream
		os.Stdout.WriteString("debug: this library prints to standard output\n")
		forever()
	case "noise": // floods standard error
		for line := bytes.Repeat([]byte("noise on standard error\n"), 1000); ; {
			os.Stderr.Write(line)
		}
	case "longline":
		os.Stderr.Write(bytes.Repeat([]byte("x"), 1<<20))
		os.Stderr.WriteString("\n")
	}
}

func (f *fake) Hello(_ context.Context, req *reachv1.HelloRequest) (*reachv1.HelloResponse, error) {
	f.at(atHello)
	resp := &reachv1.HelloResponse{ProtocolVersion: 1, AnalyserVersion: "0.1.0"}
	switch f.action {
	case "version":
		resp.ProtocolVersion = 9
	case "no-version":
		return nil, status.Errorf(codes.FailedPrecondition, "this analyser speaks protocol version 2, the client offers %v", req.ProtocolVersions)
	case "status":
		if f.stage == atHello {
			return nil, status.Error(codes.Internal, "no memory\x1b[2J")
		}
	case "env":
		resp.AnalyserVersion = inheritance()
	case "args":
		resp.AnalyserVersion = strings.Join(os.Args, "|")
	case "log":
		fmt.Fprintln(os.Stderr, `{"@level":"warn","@message":"slow \u001b[31mdisk","@timestamp":"2026-01-02T03:04:05.000000Z","path":"a b"}`)
		fmt.Fprintln(os.Stderr, "[ERROR] plain")
	}
	return resp, nil
}

// inheritance says what the process got beside its arguments.
func inheritance() string {
	var fds []string
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		// What the runtime opened itself is not inherited, and the
		// descriptor by which the directory was read is closed.
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/sys/fs/cgroup/") {
			fds = append(fds, e.Name())
		}
	}
	wd, _ := os.Getwd()
	return fmt.Sprintf("env %q, descriptors %v, directory %s, leads its group %t", os.Environ(), fds, wd, syscall.Getpgrp() == os.Getpid())
}

func (f *fake) Census(req *reachv1.CensusRequest, stream grpc.ServerStreamingServer[reachv1.CensusResponse]) error {
	f.at(atCensus)
	if f.action == "status" {
		n, _ := strconv.Atoi(f.stage)
		return status.Error(codes.Code(n), "no revision \"main\"\nsecond line")
	}
	var err error
	send := func(e *reachv1.CensusResponse) {
		if err == nil {
			err = stream.Send(e)
		}
	}
	if f.action != "no-header" {
		send(msgHeader())
	}
	f.at(atHeader)
	switch f.action {
	case "two-headers":
		send(msgHeader())
	case "giant":
		send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Finding{Finding: &reachv1.Finding{Message: strings.Repeat("x", 64<<20)}}})
	case "many":
		for err == nil {
			send(msgPlacement(0))
		}
	case "strange":
		strange := &reachv1.CensusResponse{}
		strange.ProtoReflect().SetUnknown([]byte{0xfa, 0x3e, 0x01, 'x'}) // field 1007
		send(strange)
	}
	n := 100
	if v, ok := strings.CutPrefix(f.action, "count="); ok {
		n, _ = strconv.Atoi(v)
	}
	for i := range n {
		if i == n/2 {
			send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Progress{Progress: &reachv1.Progress{Phase: "placing"}}})
			if f.action == "disorder" {
				send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Sync{Sync: &reachv1.Sync{}}})
			}
			f.at(atMiddle)
		}
		send(msgPlacement(i))
	}
	f.at(atSummary)
	if f.action != "no-summary" {
		send(msgSummary())
	}
	switch f.action {
	case "two-summaries":
		send(msgSummary())
	case "late":
		send(msgPlacement(0))
	case "regret":
		return status.Error(codes.Internal, "changed my mind")
	}
	f.at("end")
	return err
}

func msgHeader() *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Header{Header: &reachv1.Header{Commit: strings.Repeat("a", 40)}}}
}

func msgPlacement(i int) *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Placement{Placement: &reachv1.Placement{
		Path: fmt.Sprintf("apps/%d/deployment.yaml", i), Class: reachv1.Class_CLASS_REMOTE_DIRECT,
		Cluster: "spoke-1", ControllerCluster: "hub", Controller: "flux-system/apps",
		Trace: []*reachv1.Hop{{Kind: "file", Path: "a.yaml", Line: 1}, {Kind: "kustomization", Name: "flux-system/apps"}, {Kind: "cluster", Name: "spoke-1"}},
	}}}
}

func msgSummary() *reachv1.CensusResponse {
	return &reachv1.CensusResponse{Event: &reachv1.CensusResponse_Summary{Summary: &reachv1.Summary{}}}
}

// once is a listener that yields one connection and ends with it.
type once struct {
	conn *served
	used bool
}

func (l *once) Accept() (net.Conn, error) {
	if !l.used {
		l.used = true
		return l.conn, nil
	}
	<-l.conn.done
	return nil, io.EOF
}
func (l *once) Close() error   { return nil }
func (l *once) Addr() net.Addr { return addr{} }

// served is standard input and output of the child.
type served struct {
	once sync.Once
	done chan struct{}
}

func (c *served) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (c *served) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (c *served) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}
func (c *served) LocalAddr() net.Addr              { return addr{} }
func (c *served) RemoteAddr() net.Addr             { return addr{} }
func (c *served) SetDeadline(time.Time) error      { return nil }
func (c *served) SetReadDeadline(time.Time) error  { return nil }
func (c *served) SetWriteDeadline(time.Time) error { return nil }

// forever hangs. A sleep, because a program without cgo that waits for nothing
// at all is ended by the runtime as a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// Command reach-analyser is the sealed half of reach: it reads one git
// repository and answers the protocol of proto/reach/v1 on its standard input
// and output. It cannot write a file, start a process or open a connection.
//
//	reach-analyser [--require-seal] REPOSITORY
//
// With --require-seal it ends, before it answers anything, unless every wall of
// the seal stands; without, it says in its answers which do.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"

	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/sandbox"
	"github.com/gitops-reach/reach/analyser/internal/serve"
	"github.com/gitops-reach/reach/analyser/internal/serve/stdio"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// gcPercent lets the heap grow before it is collected: with half of it a census of a
// fleet takes a quarter more processor time. Above softLimit the collector works as
// hard as it must. With the 200 MiB of the orchestrator both stay within 1.5 GiB for a
// fleet of 100,000 files, of which 300 MB live at the end, so that it does not spend
// its time collecting.
const (
	gcPercent = 400
	softLimit = 1200 << 20
)

func run(args []string, log io.Writer) int {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(softLimit)
	required := len(args) == 2 && args[0] == "--require-seal"
	if required {
		args = args[1:]
	}
	if len(args) != 1 {
		fmt.Fprintln(log, "usage: reach-analyser [--require-seal] REPOSITORY\n\nIt speaks gRPC on standard input and output; `reach census` starts it.")
		return 2
	}
	// Standard output is the protocol's from here on.
	conn, err := stdio.Take()
	if err != nil {
		fmt.Fprintln(log, "reach-analyser:", err)
		return 1
	}
	location, openErr := commit.Locate(args[0])
	var dirs []string
	if openErr == nil {
		dirs = location.Directories()
	}
	walls, err := seal(dirs)
	if err != nil {
		fmt.Fprintln(log, "reach-analyser: entering the seal:", err)
		return 1
	}
	if absent := absent(walls); required && len(absent) > 0 {
		fmt.Fprintln(log, "reach-analyser: not sealed as required:", strings.Join(absent, ", "))
		return 1
	}
	service := &serve.Service{
		Walls: walls, Engines: []controller.Engine{flux.Engine()},
		// A repository that cannot be opened is an answer, not a reason to
		// die: the client asks and is told.
		Open: func(l *reachv1.Limits) (serve.Repository, error) {
			if openErr != nil {
				return nil, openErr
			}
			return location.Open(commit.Limits{MaxBlob: l.GetMaxBlobBytes(), MaxFiles: int(l.GetMaxFiles())})
		},
	}
	// Beside the first messages and the listing of the commit.
	go func() {
		reachv1.Prepare()
		kustomize.Prepare()
	}()
	server := grpc.NewServer(stdio.ServerOptions()...)
	reachv1.RegisterAnalyserServiceServer(server, answers(service))
	if err := stdio.Serve(server, conn); err != nil {
		fmt.Fprintln(log, "reach-analyser:", err)
		return 1
	}
	return 0
}

// seal gives up every right but to read below dirs and says which walls stand.
func seal(dirs []string) ([]*reachv1.SealWall, error) {
	report, err := enter(dirs)
	if err != nil {
		return nil, err
	}
	walls := []*reachv1.SealWall{{
		Name: "imports", Stands: true, Detail: "the import closure is compared with firewall/policy/analyser.deps on every change",
	}}
	for _, w := range append([]sandbox.Wall{sandbox.Symbols()}, report.Walls()...) {
		walls = append(walls, &reachv1.SealWall{Name: w.Name, Stands: w.Stands, Detail: w.Detail})
	}
	return walls, nil
}

// absent names the walls that do not stand, and why.
func absent(walls []*reachv1.SealWall) []string {
	var out []string
	for _, w := range walls {
		if !w.GetStands() {
			out = append(out, fmt.Sprintf("%s (%s)", w.GetName(), w.GetDetail()))
		}
	}
	return out
}

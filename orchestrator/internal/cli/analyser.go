package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/gitops-reach/reach/orchestrator/internal/launch"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// analyser is a running analyser that takes one census.
type analyser interface {
	Hello() *reachv1.HelloResponse
	// Census hands every message of the stream to handle. What it was handed
	// must be discarded unless nil is returned.
	Census(ctx context.Context, req *reachv1.CensusRequest, handle func(*reachv1.CensusResponse) error) error
	// Close returns when the analyser is gone.
	Close()
}

// factsTaker is an analyser that can be told what was seen on clusters, before
// its census.
type factsTaker interface {
	Facts(ctx context.Context, each func(yield func(*reachv1.Fact) error) error) (*reachv1.FactsResponse, error)
}

// starter starts the analyser binary, "" for the one beside this program, for
// the clone at repository. What it logs goes to log, which may be nil.
type starter func(ctx context.Context, binary, repository string, log io.Writer) (analyser, error)

// launchAnalyser starts a child process.
func launchAnalyser(ctx context.Context, binary, repository string, log io.Writer) (analyser, error) {
	var err error
	if binary == "" {
		if binary, err = launch.Beside(); err != nil {
			return nil, err
		}
		if _, err := os.Stat(binary); err != nil {
			return nil, fmt.Errorf("the analyser %s is not there: install both programs side by side, or name it with --analyser", binary)
		}
	}
	digest, err := launch.Pin(binary)
	if err != nil {
		return nil, err
	}
	options := launch.Options{Binary: binary, Digest: digest, Repository: repository, Client: "reach " + version}
	if log != nil {
		options.Log = hclog.New(&hclog.LoggerOptions{Name: "analyser", Output: log, Level: hclog.Debug, DisableTime: true})
	}
	return launch.Start(ctx, options)
}

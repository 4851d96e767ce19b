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

// launcher makes ready to start the analyser binary, "" for the one beside this
// program, while its caller looks at what was asked. beside is what else the
// caller will need: it runs while the analyser starts, and may be nil.
type launcher func(ctx context.Context, binary string, beside func()) starter

// starter starts the analyser for the clone at repository. What it logs goes to
// log, which may be nil.
type starter func(ctx context.Context, repository string, log io.Writer) (analyser, error)

// launchAnalyser checks the program at once and then starts it as a child process.
func launchAnalyser(ctx context.Context, binary string, beside func()) starter {
	options, err := analyserOptions(binary)
	if err == nil {
		options.Verified = launch.Verify(ctx, options.Binary, options.Digest)
		if beside != nil {
			go func() {
				// The check takes every processor.
				options.Verified.Wait()
				beside()
			}()
		}
	}
	return func(ctx context.Context, repository string, log io.Writer) (analyser, error) {
		if err != nil {
			return nil, err
		}
		options.Repository = repository
		if log != nil {
			options.Log = hclog.New(&hclog.LoggerOptions{Name: "analyser", Output: log, Level: hclog.Debug, DisableTime: true})
		}
		return launch.Start(ctx, options)
	}
}

func analyserOptions(binary string) (launch.Options, error) {
	var err error
	if binary == "" {
		if binary, err = launch.Beside(); err != nil {
			return launch.Options{}, err
		}
		if _, err := os.Stat(binary); err != nil {
			return launch.Options{}, fmt.Errorf("the analyser %s is not there: install both programs side by side, or name it with --analyser", binary)
		}
	}
	digest, err := launch.Pin(binary)
	return launch.Options{Binary: binary, Digest: digest, Client: "reach " + version}, err
}

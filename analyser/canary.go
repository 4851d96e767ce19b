//go:build canary

package main

import (
	"encoding/json"
	"os"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gitops-reach/reach/analyser/internal/sandbox"
	"github.com/gitops-reach/reach/analyser/internal/serve"
	"github.com/gitops-reach/reach/firewall/canary"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// unsealed, as the end of the path of the repository, is how a control is asked for: the same
// program, which does not enter the seal.
const unsealed = "/unsealed"

// enter enters the seal, unless the path of the repository ends in unsealed.
func enter(dirs []string) (sandbox.Report, error) {
	if strings.HasSuffix(os.Args[len(os.Args)-1], unsealed) {
		return sandbox.Report{
			Landlock: sandbox.Wall{Name: "landlock", Detail: "a canary without the seal"},
			Seccomp:  sandbox.Wall{Name: "seccomp", Detail: "a canary without the seal"},
		}, nil
	}
	return sandbox.Enter(dirs)
}

// canaryService is the analyser, which also answers the revisions that no
// repository has.
type canaryService struct{ *serve.Service }

func answers(s *serve.Service) reachv1.AnalyserServiceServer { return canaryService{s} }

// order is the revision "canary:" + JSON.
type order struct {
	// Attempt is the name of what to try; empty lists the names.
	Attempt string
	Env     canary.Env
}

// Census tries what it is told to. A refused attempt is PERMISSION_DENIED, one
// that succeeded is OK; where the seal answers with death, nothing is said.
func (s canaryService) Census(m *reachv1.CensusRequest, out reachv1.AnalyserService_CensusServer) error {
	text, ok := strings.CutPrefix(m.GetRevision(), "canary:")
	if !ok {
		return s.Service.Census(m, out)
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if err := out.Send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Header{Header: &reachv1.Header{Walls: s.Walls}}}); err != nil {
		return err
	}
	for _, a := range canary.Attempts {
		switch {
		case o.Attempt == "":
			rule := &reachv1.RuleResult{Rule: a.Name}
			if a.Root {
				rule.Doc = "only root can try"
			}
			if err := out.Send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Rule{Rule: rule}}); err != nil {
				return err
			}
		case o.Attempt == a.Name:
			if err := a.Run(o.Env); err != nil {
				return status.Error(codes.PermissionDenied, err.Error())
			}
		}
	}
	return out.Send(&reachv1.CensusResponse{Event: &reachv1.CensusResponse_Summary{Summary: &reachv1.Summary{}}})
}

package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

const methodFacts = "Facts"

// Facts hands over what was seen on clusters, before Census or Explain. each
// calls yield with one fact after the other and returns the error of yield; the
// facts go out in messages of about reachv1.FactsBytes. The errors are those of
// Census, and each's own.
func (a *Analyser) Facts(ctx context.Context, each func(yield func(*reachv1.Fact) error) error) (*reachv1.FactsResponse, error) {
	if a.used.Load() {
		return nil, errors.New("this analyser has already answered; facts come first")
	}
	ctx, cancel := a.bound(ctx)
	defer cancel(nil)
	defer time.AfterFunc(a.deadlines.Census, func() { cancel(errWhole) }).Stop()
	const stage = "while it took in facts about clusters"
	stream, err := a.service.Facts(ctx)
	if err != nil {
		return nil, a.diagnose(ctx, err, methodFacts, stage)
	}
	// An error of Send says only that the call has ended; CloseAndRecv says why.
	var ended bool
	send := func(m *reachv1.FactsRequest) error {
		if len(m.GetFacts()) > 0 && stream.Send(m) != nil {
			ended = true
			return errEnded
		}
		return nil
	}
	m, size := &reachv1.FactsRequest{}, 0
	err = each(func(f *reachv1.Fact) error {
		n := proto.Size(f)
		if n > reachv1.MaxFactsBytes-1024 {
			return fmt.Errorf("a fact about %s has %d bytes, the analyser accepts %d", f.GetCluster(), n, reachv1.MaxFactsBytes)
		}
		if size+n > reachv1.FactsBytes {
			if err := send(m); err != nil {
				return err
			}
			m, size = &reachv1.FactsRequest{}, 0
		}
		m.Facts, size = append(m.Facts, f), size+n
		return nil
	})
	if err == nil {
		err = send(m)
	}
	if err != nil && !ended {
		return nil, err
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		err = a.diagnose(ctx, err, methodFacts, stage)
		a.proc.kill()
		return nil, err
	}
	return answer, nil
}

var errEnded = errors.New("the analyser takes no more facts")

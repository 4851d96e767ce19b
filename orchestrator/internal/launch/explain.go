package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Explain asks about one object. The errors are those of Census; whatever
// happens, the child is gone when it returns.
func (a *Analyser) Explain(ctx context.Context, req *reachv1.ExplainRequest) (*reachv1.ExplainResponse, error) {
	if a.used.Swap(true) {
		return nil, errors.New("this analyser has already answered; start another")
	}
	defer a.Close()
	if n := proto.Size(req); n > reachv1.MaxRequestBytes {
		return nil, fmt.Errorf("the request has %d bytes, the analyser accepts %d", n, reachv1.MaxRequestBytes)
	}
	ctx, cancel := a.bound(ctx)
	defer cancel(nil)
	defer time.AfterFunc(a.deadlines.Census, func() { cancel(errWhole) }).Stop()
	m, err := a.service.Explain(ctx, req)
	if err != nil {
		err = a.diagnose(ctx, err, methodExplain, "while it explained an object")
		a.proc.kill()
		return nil, err
	}
	return m, nil
}

const methodExplain = "Explain"

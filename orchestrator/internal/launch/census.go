package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Causes by which the watch over a call cancels it.
var (
	errStart = errors.New("start deadline")
	errIdle  = errors.New("idle deadline")
	errWhole = errors.New("census deadline")
)

// Census asks for a census and hands every message of the stream to handle,
// in the order of the protocol: Header, records, Summary, and Progress
// between them. Messages of kinds that this program does not know are left
// out. The caller must discard what it was handed unless nil is returned:
//
//	nil               the analyser ended the stream with a Summary
//	*StatusError      it refused the request, for example an unknown revision
//	*ExitError        it ended, with its exit code or signal and its last words
//	*HungError        a deadline passed
//	*FloodError       a message, the messages or the log became too large
//	*ProtocolError    what it sent is not gRPC, or not in order
//	*IncompleteError  it ended the stream without a Summary
//	otherwise         ctx or the context of Start is done, or handle's own error
//
// handle is called from this goroutine; when it returns an error the census
// stops with that error. An Analyser takes one census: when it returns an error
// the child is gone; otherwise the child has been told to end, since its answer is
// whole and can be used meanwhile, and Close waits until it is gone.
func (a *Analyser) Census(ctx context.Context, req *reachv1.CensusRequest, handle func(*reachv1.CensusResponse) error) error {
	if a.used.Swap(true) {
		return errors.New("this analyser has already taken its census; start another")
	}
	if err := a.census(ctx, req, handle); err != nil {
		a.proc.kill()
		a.Close()
		return err
	}
	a.proc.sample()
	go a.Close()
	return nil
}

func (a *Analyser) census(ctx context.Context, req *reachv1.CensusRequest, handle func(*reachv1.CensusResponse) error) error {
	if n := proto.Size(req); n > reachv1.MaxRequestBytes {
		return fmt.Errorf("the request for the census has %d bytes, the analyser accepts %d; state facts about fewer clusters at once", n, reachv1.MaxRequestBytes)
	}
	ctx, cancel := a.bound(ctx)
	defer cancel(nil)
	defer time.AfterFunc(a.deadlines.Census, func() { cancel(errWhole) }).Stop()
	idle := time.AfterFunc(a.deadlines.Idle, func() { cancel(errIdle) })
	defer idle.Stop()

	var order order
	stream, err := a.service.Census(ctx, req)
	if err != nil {
		return a.diagnose(ctx, err, methodCensus, order.stage())
	}
	for {
		msg, err := stream.Recv()
		idle.Stop()
		switch {
		case err == io.EOF && order.complete():
			return nil
		case err == io.EOF:
			return &IncompleteError{Stage: order.stage()}
		case err != nil:
			return a.diagnose(ctx, err, methodCensus, order.stage())
		}
		known, err := order.next(msg)
		if err != nil {
			return err
		}
		if order.messages > a.limits.Messages {
			return &FloodError{Stage: order.stage(), What: "more than", Limit: a.limits.Messages, Unit: "messages"}
		}
		if known {
			if err := handle(msg); err != nil {
				return err
			}
		}
		idle.Reset(a.deadlines.Idle)
	}
}

// bound returns a context that is done with ctx and with the child's life,
// and which a watch can cancel with a cause.
func (a *Analyser) bound(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.life, func() { cancel(context.Cause(a.life)) })
	return ctx, func(cause error) {
		stop()
		cancel(cause)
	}
}

package launch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	methodHello  = "Hello"
	methodCensus = "Census"
)

// patience is how long a child may take to end after it has closed the
// connection.
const patience = 2 * time.Second

// diagnose turns the error of a call into the error that says what happened.
// What was decided here comes before what the connection saw, and that before
// what gRPC made of it.
func (a *Analyser) diagnose(ctx context.Context, err error, method, stage string) error {
	for _, c := range []context.Context{a.life, ctx} {
		if cause := context.Cause(c); cause != nil {
			return a.stopped(cause, stage)
		}
	}
	s := status.Convert(err)
	message := printable(s.Message(), 2000)
	if s.Code() == codes.ResourceExhausted && strings.Contains(message, "received message larger than max") {
		return &FloodError{Stage: stage, What: "a message larger than", Limit: int64(a.limits.MessageBytes), Unit: "bytes"}
	}

	r := a.proc.conn.report()
	switch {
	case r.foreign:
		return &ProtocolError{Stage: stage, Detail: `it does not speak gRPC, its output begins with "` + r.head + `"`}
	case r.flooded:
		return &FloodError{Stage: stage, What: "more than", Limit: a.limits.Bytes, Unit: "bytes"}
	case r.ended != nil:
		if a.proc.awaitEnd(patience) {
			return a.proc.exitError(stage)
		}
		return &ProtocolError{Stage: stage, Detail: r.endedHow()}
	case r.closed:
		// gRPC gave the connection up although the child keeps it.
		return &ProtocolError{Stage: stage, Detail: message}
	}

	switch {
	case method == methodHello && s.Code() == codes.FailedPrecondition:
		return &VersionError{Offered: offered, Detail: message}
	case method == methodHello && s.Code() == codes.Unimplemented:
		return &ProtocolError{Stage: stage, Detail: "it does not serve reach.v1.AnalyserService: " + message}
	case notFromServer(message):
		return &ProtocolError{Stage: stage, Detail: message}
	}
	return &StatusError{Method: method, Code: s.Code(), Message: message}
}

// stopped is the error of a call that was cancelled on this side.
func (a *Analyser) stopped(cause error, stage string) error {
	switch cause := cause.(type) {
	case *FloodError:
		flood := *cause
		flood.Stage = stage
		return &flood
	}
	switch cause {
	case errStart:
		return &HungError{Stage: stage, After: a.deadlines.Start}
	case errIdle:
		return &HungError{Stage: stage, After: a.deadlines.Idle}
	case errWhole:
		return &HungError{Stage: stage, After: a.deadlines.Census, Whole: true}
	}
	return fmt.Errorf("the analyser was stopped %s: %w", stage, cause)
}

// notFromServer recognises what grpc-go says about a response that it could
// not understand while the connection as a whole is in order.
func notFromServer(message string) bool {
	for _, s := range []string{"grpc: ", "transport: ", "unexpected HTTP status", "malformed header", "stream terminated by RST_STREAM"} {
		if strings.Contains(message, s) {
			return true
		}
	}
	return false
}

package launch

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// StartError: the program could not be started at all.
type StartError struct {
	// Binary is the path that was tried.
	Binary string
	Err    error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("starting the analyser %s: %v", e.Binary, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// DigestError: the program is not the one that was expected. It was not
// started.
type DigestError struct {
	Binary string
	// Want and Got are SHA-256 digests in hexadecimal.
	Want, Got string
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("the analyser %s is not the expected program and was not started: its sha256 is %s, expected %s; reinstall both programs from one release", e.Binary, e.Got, e.Want)
}

// ExitError: the child ended before its work was done.
type ExitError struct {
	// Stage is what it was doing, "before it answered Hello".
	Stage string
	// Code is the exit status, -1 when Signal ended the child.
	Code int
	// Signal is its name, "killed"; empty when the child exited by itself.
	Signal string
	// Cause is the line of Stderr that explains most: that of a panic, else
	// the last. It may be empty.
	Cause string
	// Stderr holds the last lines of standard error, oldest first, bounded
	// and printable.
	Stderr []string
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("exited with code %d", e.Code)
	if e.Signal != "" {
		how = fmt.Sprintf("was ended by signal %q", e.Signal)
	}
	cause := e.Cause
	if cause == "" {
		cause = "it said nothing on standard error"
	}
	return fmt.Sprintf("the analyser %s %s: %s", how, e.Stage, cause)
}

// HungError: the child did not do in time what it should. It was killed.
type HungError struct {
	Stage string
	// After is how long was waited.
	After time.Duration
	// Whole says that the deadline of the whole census passed, rather than
	// that of one message.
	Whole bool
}

func (e *HungError) Error() string {
	if e.Whole {
		return fmt.Sprintf("the census did not end within %v; the analyser was stopped %s", e.After, e.Stage)
	}
	return fmt.Sprintf("the analyser hangs: no message for %v %s", e.After, e.Stage)
}

// FloodError: the child sent more than is accepted. It was killed.
type FloodError struct {
	Stage string
	// What was too much: "a message larger than", "more bytes than".
	What  string
	Limit int64
	// Unit of the limit, "bytes" or "messages".
	Unit string
}

func (e *FloodError) Error() string {
	return fmt.Sprintf("the analyser sent %s %d %s %s", e.What, e.Limit, e.Unit, e.Stage)
}

// ProtocolError: what the child sent is not the protocol.
type ProtocolError struct {
	Stage  string
	Detail string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("the analyser broke the protocol %s: %s", e.Stage, e.Detail)
}

// VersionError: the two programs have no version of the protocol in common.
type VersionError struct {
	Offered []uint32
	// Answered is the version that the analyser chose, 0 when it refused.
	Answered uint32
	// Analyser is the version of the analyser program when it said so.
	Analyser string
	// Detail is what the analyser said when it refused.
	Detail string
}

func (e *VersionError) Error() string {
	offered := strings.Trim(fmt.Sprint(e.Offered), "[]")
	if e.Answered == 0 {
		return fmt.Sprintf("the analyser speaks none of the protocol versions %s: %s; install both programs from one release", offered, e.Detail)
	}
	return fmt.Sprintf("the analyser %sanswered with protocol version %d, but only %s was offered; install both programs from one release",
		strings.TrimLeft(e.Analyser+" ", " "), e.Answered, offered)
}

// IncompleteError: the stream ended in an orderly way, without a Summary.
type IncompleteError struct {
	Stage string
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the census is incomplete and was discarded: the analyser ended the stream %s, without a summary", e.Stage)
}

// StatusError: the analyser answered a call with an error of its own, such as
// a revision that does not exist.
type StatusError struct {
	// Method is "Hello" or "Census".
	Method string
	Code   codes.Code
	// Message is what the analyser said, bounded and printable.
	Message string
}

func (e *StatusError) Error() string {
	switch e.Code {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted, codes.DataLoss:
		// Documented in the protocol: the message is the sentence.
		return e.Message
	}
	return fmt.Sprintf("the analyser answered %s with the status %v: %s", e.Method, e.Code, e.Message)
}

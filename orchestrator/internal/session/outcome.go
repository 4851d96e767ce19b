package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// sent is set by the guard when a request is on its way: an error before that is
// one of the credential.
type sent struct {
	yes atomic.Bool
	// begin is called when the request leaves, late is set when its time is over.
	begin func()
	late  atomic.Bool
}

// leave notes that the request is on its way.
func (s *sent) leave() {
	s.yes.Store(true)
	s.begin()
}

// why is err, or that the time of the request is over, when that is why it was
// given up.
func (s *sent) why(err error) error {
	if err != nil && s.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}

type sentKey struct{}

// status is what an answer other than 200 means.
func status(code int, impersonating bool) *Failure {
	f := &Failure{Outcome: reachv1.Outcome_OUTCOME_MALFORMED, Detail: fmt.Sprintf("the server answered with HTTP status %d", code)}
	switch {
	case code == http.StatusUnauthorized:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNAUTHENTICATED, "the server does not accept the credential (401): it may have expired"
	case code == http.StatusForbidden && impersonating:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_DENIED, "access is not granted (403): to impersonate, or to this resource"
	case code == http.StatusForbidden:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_DENIED, "access is not granted (403)"
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_NOT_SERVED, fmt.Sprintf("the server does not serve it (%d)", code)
	case code == http.StatusNotAcceptable:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_NOT_SERVED, "the server does not give metadata alone (406)"
	case code == http.StatusGone:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_EXPIRED, "the list changed too much while it was read (410)"
	case code == http.StatusTooManyRequests:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_THROTTLED, "the server has too much to do (429)"
	case code >= 500:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_SERVER_ERROR, fmt.Sprintf("the server failed (%d)", code)
	case code >= 300 && code < 400:
		f.Detail = fmt.Sprintf("the server points elsewhere (%d), which is not followed", code)
	}
	return f
}

// classify says what an error before the answer means. sent is nil when no
// request was made.
func classify(err error, sent *sent) *Failure {
	f := &Failure{Outcome: reachv1.Outcome_OUTCOME_UNREACHABLE, Detail: "no connection to the server", cause: err}
	var (
		refused   *RefusedError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
		dns       *net.DNSError
		timeout   net.Error
	)
	switch {
	case errors.As(err, &refused):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_NOT_ASKED, refused.Error()
	case sent != nil && !sent.yes.Load() && !errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "getting credentials: exec"):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNAUTHENTICATED, "what the kubeconfig names for a credential gave none"
	case strings.Contains(err.Error(), "invalid header field value"):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNAUTHENTICATED, "what the kubeconfig names for a credential gave one that cannot be sent"
	case errors.As(err, &authority):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNTRUSTED, "the server's certificate is signed by an authority that the kubeconfig does not name"
	case errors.As(err, &hostname):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNTRUSTED, "the server's certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNTRUSTED, "the server's certificate has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &verify):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNTRUSTED, "the server's certificate is not valid"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNTRUSTED, "the server does not speak TLS"
	case errors.As(err, &alert):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_UNAUTHENTICATED, "the server does not accept the client certificate"
	case errors.Is(err, context.Canceled):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_NOT_ASKED, "the run was interrupted"
	case errors.Is(err, context.DeadlineExceeded) && sent == nil:
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_TIMEOUT, "the time for this cluster was used up"
	case errors.As(err, &dns):
		f.Detail = "no connection to the server: its name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Detail = "no connection to the server: refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		f.Detail = "no connection to the server: no route"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_TIMEOUT, "no answer in time"
	case sent != nil && !dialling(err):
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_CUT, "the connection broke off before the answer"
	}
	return f
}

// classifyBody says what an error within the answer means.
func classifyBody(err error, body *counted) *Failure {
	if body.err != nil {
		err = body.err
	}
	var timeout net.Error
	switch {
	case errors.Is(err, errTooLarge):
		return &Failure{Outcome: reachv1.Outcome_OUTCOME_TRUNCATED, Detail: "the answer is larger than this program reads", cause: err, smaller: true}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &Failure{Outcome: reachv1.Outcome_OUTCOME_TIMEOUT, Detail: "the answer did not end in time", cause: err, smaller: true}
	case errors.Is(err, errTooMany):
		return &Failure{Outcome: reachv1.Outcome_OUTCOME_TRUNCATED, Detail: "the list is longer than this program reads", cause: err}
	case body.err != nil, broken(err):
		return &Failure{Outcome: reachv1.Outcome_OUTCOME_CUT, Detail: "the connection broke off within the answer", cause: err}
	}
	return &Failure{Outcome: reachv1.Outcome_OUTCOME_MALFORMED, Detail: "the answer is not what the API promises", cause: err}
}

// dialling reports whether an error is one of the way to the server.
func dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect")
}

func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

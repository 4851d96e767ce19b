// Package session opens clusters for one run, to read them. It is the only
// package of this program that holds a credential, imports client-go or speaks
// HTTP.
//
// It guarantees that nothing leaves for a server but the requests that guard.go
// lists: GET of the version, of what is served, of lists, and of a few objects by
// name; whole objects only of the resources in reads.txt, of all others their
// metadata; nothing of a Secret. It keeps nothing: no cache on disk, no token
// written back, no current context, no credential of the environment that it runs
// in.
//
// It cannot see what a credential plugin that a kubeconfig names does, nor what
// the servers' own proxies and webhooks do with a request.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Options bound what reading a cluster costs, it and us. Zero values mean the
// defaults.
type Options struct {
	// Request is the time for one request with its answer, from when it is sent: a
	// credential may have to be waited for, as when a person logs in. Default 30 s.
	Request time.Duration
	// PerSecond is the rate of requests, after a burst of twice as many; Parallel
	// is how many are under way at once. Default 50, which is kubectl's, and 4.
	PerSecond float64
	Parallel  int
	// Page is how many objects one request asks for. Default 500.
	Page int
	// AnswerBytes bounds one answer, Objects those of one list. Default 64 MiB and
	// 1,000,000.
	AnswerBytes int64
	Objects     int64
	// Wait is the longest that a server may ask to wait for. Default 20 s.
	Wait time.Duration
	// Client names this program to the server.
	Client string
	// User and Groups are whom to impersonate; nobody unless the person asked.
	User   string
	Groups []string
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Request, 30*time.Second)
	def(&o.Wait, 20*time.Second)
	if o.PerSecond == 0 {
		o.PerSecond = 50
	}
	if o.Parallel == 0 {
		o.Parallel = 4
	}
	if o.Page == 0 {
		o.Page = 500
	}
	if o.AnswerBytes == 0 {
		o.AnswerBytes = 64 << 20
	}
	if o.Objects == 0 {
		o.Objects = 1_000_000
	}
	if o.Client == "" {
		o.Client = "reach"
	}
	return o
}

// Failure is why something could not be read.
type Failure struct {
	Outcome reachv1.Outcome
	// Detail is for people. It holds no address, no user and no text of the server.
	Detail string
	// cause may hold all of these; it is for the eyes of the person who runs this.
	cause error
	// smaller: asking for less at once may help.
	smaller bool
}

func (f *Failure) Error() string { return f.Detail }
func (f *Failure) Unwrap() error { return f.cause }

// Cost is what reading a cluster has cost so far.
type Cost struct {
	Requests int64
	// Bytes of answers, after decompression.
	Bytes int64
}

// Server is an API server, for reading. It is safe for concurrent use.
type Server struct {
	client  *http.Client
	base    *url.URL
	options Options
	limiter *rate.Limiter
	places  chan struct{}

	requests, bytes atomic.Int64

	mutex sync.Mutex
	// silent counts requests in a row that had no answer; lost is set when it is
	// no use to go on.
	silent int
	lost   *Failure
}

// newServer makes a server of a configuration that names host and credential.
func newServer(config *rest.Config, o Options) (*Server, error) {
	o = o.withDefaults()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the address of the server: %w", err)
	}
	config.UserAgent = o.Client
	config.Timeout = 0
	config.Impersonate = rest.ImpersonationConfig{UserName: o.User, Groups: o.Groups}
	// What is wrapped first sees requests last: with all that credentials added.
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return &guard{next: next, server: base, impersonate: o.User != ""}
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	return &Server{
		client: &http.Client{
			Transport: transport,
			// A redirect would take the credential elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: base, options: o,
		limiter: rate.NewLimiter(rate.Limit(o.PerSecond), max(1, int(2*o.PerSecond))),
		places:  make(chan struct{}, o.Parallel),
	}, nil
}

// Cost returns what was asked of the server so far.
func (s *Server) Cost() Cost { return Cost{s.requests.Load(), s.bytes.Load()} }

// SameAddress reports whether both are reached at one address.
func (s *Server) SameAddress(other *Server) bool { return s.base.String() == other.base.String() }

// Close ends the connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Attempts at one request, and answers that fail to come in a row before a
// server is not asked any more.
const (
	attempts  = 3
	tooSilent = 3
)

// get asks for path and hands the answer to read, again when it broke off or the
// server asks to come back. read must start afresh each time. A nil *Failure is
// success.
func (s *Server) get(ctx context.Context, path string, query url.Values, accept string, read func(contentType string, body io.Reader) error) *Failure {
	for attempt := 1; ; attempt++ {
		if f := s.givenUp(); f != nil {
			return f
		}
		again, f := s.once(ctx, path, query, accept, read)
		s.note(f, attempt)
		if f == nil || again < 0 || attempt == attempts || ctx.Err() != nil {
			return f
		}
		if again == 0 {
			again = time.Duration(attempt*attempt) * 250 * time.Millisecond
		} else if again > s.options.Wait {
			f.Detail += fmt.Sprintf("; it asks to wait %d seconds, which is longer than this run does", int(again.Seconds()))
			return f
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return f
		}
	}
}

// givenUp returns why the server is not asked any more, or nil.
func (s *Server) givenUp() *Failure {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.lost == nil {
		return nil
	}
	return &Failure{Outcome: s.lost.Outcome, Detail: s.lost.Detail, cause: s.lost.cause}
}

// note keeps count of answers that did not come. That a credential is refused
// once says little: a plugin may have a new one the next time.
func (s *Server) note(f *Failure, attempt int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if f == nil {
		s.silent = 0
		return
	}
	switch {
	case f.smaller:
		// It answers, and may do so in time when less is asked for.
		return
	case f.Outcome == reachv1.Outcome_OUTCOME_UNREACHABLE, f.Outcome == reachv1.Outcome_OUTCOME_UNTRUSTED, f.Outcome == reachv1.Outcome_OUTCOME_TIMEOUT:
		s.silent++
	case f.Outcome == reachv1.Outcome_OUTCOME_UNAUTHENTICATED && attempt == 1:
		return
	case f.Outcome == reachv1.Outcome_OUTCOME_UNAUTHENTICATED:
		s.silent = tooSilent
	default:
		s.silent = 0
		return
	}
	if s.silent >= tooSilent && s.lost == nil {
		s.lost = &Failure{
			Outcome: f.Outcome, cause: f.cause,
			Detail: f.Detail + "; the server was not asked any more after that",
		}
	}
}

// once asks one time. again is how long to wait before the next time: 0 when the
// server does not say, negative when there is no use.
func (s *Server) once(ctx context.Context, path string, query url.Values, accept string, read func(string, io.Reader) error) (again time.Duration, _ *Failure) {
	const never = -1
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return never, classify(ctx.Err(), nil)
	}
	if err := s.limiter.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return never, classify(ctx.Err(), nil)
		}
		// Also when the wait would outlast the deadline.
		return never, &Failure{Outcome: reachv1.Outcome_OUTCOME_TIMEOUT, Detail: "the time for this cluster was used up", cause: err}
	}
	whole := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := &sent{}
	timer := time.AfterFunc(math.MaxInt64, func() { sent.late.Store(true); cancel() })
	defer timer.Stop()
	sent.begin = func() { timer.Reset(s.options.Request) }
	req, err := http.NewRequestWithContext(context.WithValue(ctx, sentKey{}, sent), http.MethodGet, s.base.String(), nil)
	if err != nil {
		return never, classify(err, nil)
	}
	req.URL.Path = joinPath(s.base.Path, path)
	req.URL.RawQuery = query.Encode()
	req.Header.Set("Accept", accept)
	s.requests.Add(1)
	resp, err := s.do(req)
	if err != nil {
		f := classify(sent.why(err), sent)
		if whole.Err() != nil {
			f = classify(whole.Err(), nil)
			if !sent.yes.Load() && f.Outcome == reachv1.Outcome_OUTCOME_TIMEOUT {
				f.Detail = "what the kubeconfig names for a credential gave none before the time for this cluster was used up"
			}
		}
		if f.Outcome == reachv1.Outcome_OUTCOME_UNREACHABLE || f.Outcome == reachv1.Outcome_OUTCOME_CUT {
			return 0, f
		}
		return never, f
	}
	defer resp.Body.Close()
	body := &counted{in: resp.Body, left: s.options.AnswerBytes, total: &s.bytes}
	if resp.StatusCode != http.StatusOK {
		// What it says is not read: it may name users and addresses.
		return afterStatus(resp), status(resp.StatusCode, s.options.User != "")
	}
	if err := read(resp.Header.Get("Content-Type"), body); err != nil {
		body.err = sent.why(body.err)
		f := classifyBody(err, body)
		if whole.Err() != nil {
			f = classify(whole.Err(), nil)
		}
		if f.Outcome == reachv1.Outcome_OUTCOME_CUT {
			return 0, f
		}
		return never, f
	}
	return 0, nil
}

// do is the client's Do, which it does not wait for when the request is given up:
// a credential plugin knows nothing of that, and may never end.
func (s *Server) do(req *http.Request) (*http.Response, error) {
	type answer struct {
		resp *http.Response
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		resp, err := s.client.Do(req)
		answers <- answer{resp, err}
	}()
	select {
	case a := <-answers:
		return a.resp, a.err
	case <-req.Context().Done():
	}
	go func() {
		if a := <-answers; a.resp != nil {
			_ = a.resp.Body.Close()
		}
	}()
	return nil, req.Context().Err()
}

// afterStatus is when to ask again after an answer that is none.
func afterStatus(resp *http.Response) time.Duration {
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		// The credential plugin has been told, and may have a new one.
		return 0
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds >= 0 {
			return max(time.Duration(min(seconds, 1<<20))*time.Second, time.Millisecond)
		}
		return 0
	}
	return -1
}

// counted is a body that ends with errTooLarge at its bound.
type counted struct {
	in    io.Reader
	left  int64
	total *atomic.Int64
	// err is how reading ended, if not at the end.
	err error
}

var errTooLarge = errors.New("the answer is larger than this program reads")

func (c *counted) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.err = errTooLarge
		return 0, errTooLarge
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.in.Read(p)
	c.left -= int64(n)
	c.total.Add(int64(n))
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

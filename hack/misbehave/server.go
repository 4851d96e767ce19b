package misbehave

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

// A Server answers on a port of loopback, which it keeps for its life.
type Server struct {
	behind http.Handler
	addr   string
	cert   tls.Certificate
	ca     []byte

	mu       sync.Mutex
	next     http.Handler // behind, through the faults
	listener net.Listener // nil while down
	server   *http.Server
	asked    []*Request
}

// A Request is one that a Server was asked.
type Request struct {
	Method, Path, Query string
	Code                int   // 0 when the connection was broken without an answer
	Bytes               int64 // of the body of the answer, as it was sent
}

// NewServer is a server in front of behind, without a fault. Close ends it.
func NewServer(behind http.Handler) (*Server, error) {
	cert, ca, err := certificate()
	if err != nil {
		return nil, err
	}
	s := &Server{behind: behind, next: behind, addr: "127.0.0.1:0", cert: cert, ca: ca}
	if err := s.Up(); err != nil {
		return nil, err
	}
	return s, nil
}

// Forward hands requests to a server, with the credentials with which they
// came; transport knows how to trust it.
func Forward(to *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			if _, ok := r.In.Header["Accept-Encoding"]; !ok {
				// Asked for by nobody, the transport would ask for it and unpack it.
				r.Out.Header.Set("Accept-Encoding", "identity")
			}
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
}

// Tell puts these faults in place of those that stood, the first outermost.
// Without any the server behaves.
func (s *Server) Tell(faults ...Fault) {
	next := s.behind
	for _, fault := range slices.Backward(faults) {
		next = fault(next)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
}

// URL is where it answers.
func (s *Server) URL() string { return "https://" + s.addr }

// CA is the certificate that a client has to trust, as PEM.
func (s *Server) CA() []byte { return s.ca }

// Stranger is the certificate of an authority that has nothing to do with any
// server, as PEM.
func Stranger() ([]byte, error) {
	_, ca, err := certificate()
	return ca, err
}

// Asked is what was asked since the last Forget, in the order of arrival. Of
// an answer that is still being written it has what is sent so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := make([]Request, len(s.asked))
	for i, r := range s.asked {
		asked[i] = *r
	}
	return asked
}

// Forget empties the record of what was asked.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = nil
}

// Down breaks all connections and refuses new ones, until Up.
func (s *Server) Down() {
	s.mu.Lock()
	listener, server := s.listener, s.server
	s.listener, s.server = nil, nil
	s.mu.Unlock()
	if listener != nil {
		// Close does not know of a listener that is not yet served.
		_ = listener.Close()
		_ = server.Close()
	}
}

// Close ends the server.
func (s *Server) Close() { s.Down() }

// Up listens again after Down, on the same port.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	s.listener, s.addr = listener, listener.Addr().String()
	s.server = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{s.cert}, MinVersion: tls.VersionTLS12},
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: time.Minute,
	}
	go func(server *http.Server) { _ = server.ServeTLS(listener, "", "") }(s.server)
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	asked := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	s.mu.Lock()
	next := s.next
	s.asked = append(s.asked, asked)
	s.mu.Unlock()
	next.ServeHTTP(&counter{ResponseWriter: w, mu: &s.mu, request: asked}, r)
}

// A counter keeps a record of what goes through it, before the client can know.
type counter struct {
	http.ResponseWriter
	mu      *sync.Mutex
	request *Request
}

func (c *counter) WriteHeader(code int) {
	// 1xx come before the answer.
	if code >= 200 {
		c.count(code, 0)
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *counter) Write(b []byte) (int, error) {
	c.count(http.StatusOK, len(b))
	return c.ResponseWriter.Write(b)
}

func (c *counter) count(code, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request.Code == 0 {
		c.request.Code = code
	}
	c.request.Bytes += int64(n)
}

// Unwrap lets http.ResponseController reach what is below.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// certificate is a certificate for loopback that is its own authority, and the
// same as PEM.
func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "misbehave " + serial.Text(36)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

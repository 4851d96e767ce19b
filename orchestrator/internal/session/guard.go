package session

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// RefusedError is a request that this program does not make.
type RefusedError struct{ why string }

func (e *RefusedError) Error() string { return "refused by reach itself: " + e.why }

// guard is the last that sees a request before it leaves, with everything that
// client-go and a credential plugin added to it. It lets pass what check allows.
type guard struct {
	next http.RoundTripper
	// server is the address of the API server, with the path below which it
	// answers.
	server *url.URL
	// impersonate: the person asked for it.
	impersonate bool
}

// RoundTrip sends the request or returns a *RefusedError.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if sent, ok := r.Context().Value(sentKey{}).(*sent); ok {
		sent.leave()
	}
	if err := g.check(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return g.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the connections below, to close them.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// check allows, on this server and nowhere else,
//
//	GET /version, /api, /api/v1, /apis, /apis/GROUP/VERSION    what is served
//	GET a list of metadata                                     of any resource that unread.txt does not name
//	GET a list, or an object by its name                       of what reads.txt names
//
// with the parameters of a list only. A watch, a subresource (exec, attach,
// portforward, proxy, log), a connection that changes its protocol, a body, and
// whatever could be read in two ways are refused.
func (g *guard) check(r *http.Request) error {
	refuse := func(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }
	switch {
	case r.Method != http.MethodGet:
		return refuse("a %s request", printableMethod(r.Method))
	case r.Body != nil && r.Body != http.NoBody, r.ContentLength > 0, len(r.TransferEncoding) > 0:
		return refuse("a request with a body")
	case r.URL.Scheme != g.server.Scheme || r.URL.Host != g.server.Host || r.Host != "" && r.Host != g.server.Host:
		return refuse("a request to another server")
	case r.URL.Opaque != "" || r.URL.RawPath != "" || r.URL.Fragment != "":
		return refuse("a path that is not plain")
	}
	for name := range r.Header {
		name := strings.ToLower(name)
		switch {
		case strings.HasPrefix(name, "impersonate-") && !g.impersonate:
			return refuse("impersonation, which was not asked for")
		case name == "upgrade" || name == "connection" || strings.HasPrefix(name, "sec-websocket-"):
			return refuse("a change of protocol")
		case strings.Contains(name, "method-override"):
			return refuse("another method in a header")
		case strings.HasPrefix(name, "x-remote-"):
			return refuse("a header of an authenticating proxy")
		}
	}
	below, ok := strings.CutPrefix(r.URL.Path, strings.TrimSuffix(g.server.Path, "/"))
	if !ok || path.Clean("/"+below) != below {
		return refuse("a path that is not plain")
	}
	return checkPath(below, r.URL.RawQuery, r.Header.Values("Accept"))
}

// checkPath is check for a path below the server's address.
func checkPath(below, query string, accept []string) error {
	refuse := func(why string) error { return &RefusedError{why} }
	segments := strings.Split(strings.TrimPrefix(below, "/"), "/")
	for _, s := range segments {
		if !plainSegment(s) {
			return refuse("a path that is not plain")
		}
	}
	var group string
	switch {
	case below == "/version" || below == "/api" || below == "/api/v1" || below == "/apis",
		len(segments) == 3 && segments[0] == "apis":
		if query != "" {
			return refuse("parameters of what is no list")
		}
		return nil
	case segments[0] == "api" && len(segments) > 2 && segments[1] == "v1":
		segments = segments[2:]
	case segments[0] == "apis" && len(segments) > 3:
		group, segments = segments[1], segments[3:]
	default:
		return refuse("a path that is neither discovery nor a resource")
	}
	if segments[0] == "namespaces" && len(segments) == 3 {
		// namespaces/NAME/status is a subresource of the Namespace.
		if segments = segments[2:]; segments[0] == "status" || segments[0] == "finalize" {
			return refuse("a subresource")
		}
	}
	// What is left is RESOURCE or RESOURCE/NAME. For "namespaces/NAME/RESOURCE"
	// the first two are gone; anything longer is a subresource, or an object in a
	// namespace, of which none is read.
	if len(segments) > 2 {
		return refuse("an object in a namespace, or a subresource")
	}
	// "watch" is a prefix of old, and "proxy" was one.
	if why := Unread(group, segments[0]); why != "" || segments[0] == "watch" || segments[0] == "proxy" {
		return refuse("a resource that is not read: " + segments[0])
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return refuse("parameters that are not plain")
	}
	name := ""
	if len(segments) == 2 {
		name = segments[1]
	}
	for key, values := range parameters {
		if name != "" || len(values) != 1 || key != "limit" && key != "continue" && key != "labelSelector" {
			return refuse("parameters other than those of a list in pages")
		}
	}
	if name == "" && parameters.Get("limit") == "" {
		return refuse("a list without a limit")
	}
	if len(accept) == 1 && accept[0] == acceptMetadata && name == "" {
		return nil
	}
	for _, r := range reads {
		if r.Group == group && r.Resource == segments[0] && r.Name == name && r.Selector == parameters.Get("labelSelector") {
			return nil
		}
	}
	return refuse("whole objects of a resource of which only metadata is read: " + segments[0])
}

// plainSegment reports whether a part of a path can be read in one way only.
func plainSegment(s string) bool {
	if s == "" || s == "." || s == ".." {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// printableMethod is a method as it may stand in a message.
func printableMethod(m string) string {
	for i := range len(m) {
		if m[i] < 'A' || m[i] > 'Z' {
			return "strange"
		}
	}
	return m
}

// joinPath puts a path below that of the server.
func joinPath(server, below string) string { return strings.TrimSuffix(server, "/") + below }

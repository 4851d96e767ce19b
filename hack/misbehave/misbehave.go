// Package misbehave stands in front of an API server and fails in the ways in
// which API servers, load balancers and networks fail: down, slow, cut off in
// the middle of a list, 403, 410, 429, 500, an expired token, a wrong
// certificate authority, kinds that are not served, an inventory of any size.
//
// A Server listens on loopback with a certificate of its own and hands each
// request to what stands behind it (an http.Handler in a test, Forward to a
// real API server), through the faults that it was told. Tell may be called at
// any time; a request meets the faults that stood when it arrived. It keeps a
// record of what was asked, so that a test can say which requests were made.
//
// Faults are told in the words of the API: On(Resource("", "secrets"), Forbid())
// fails the requests for Secrets and no other. It uses the standard library
// only, so that every test can use it.
package misbehave

import (
	"net/http"
	"strings"
)

// A Fault answers a request in place of next, or changes what next answers.
type Fault func(next http.Handler) http.Handler

// A Match says which requests a fault applies to.
type Match func(*http.Request) bool

// On is the fault for the requests that all the matches accept; the others
// reach the next fault as they are.
func On(match Match, fault Fault) Fault {
	return func(next http.Handler) http.Handler {
		broken := fault(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				broken.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// All accepts what every one of the matches accepts.
func All(matches ...Match) Match {
	return func(r *http.Request) bool {
		for _, m := range matches {
			if !m(r) {
				return false
			}
		}
		return true
	}
}

// Anything accepts every request.
func Anything(*http.Request) bool { return true }

// Resource accepts the requests for a resource (plural, in lower case) of an
// API group, "" for the core group, in every version and namespace.
func Resource(group, resource string) Match {
	return func(r *http.Request) bool {
		p, ok := ParsePath(r.URL.Path)
		return ok && p.Group == group && p.Resource == resource
	}
}

// Group accepts every request for resources of an API group.
func Group(group string) Match {
	return func(r *http.Request) bool {
		p, ok := ParsePath(r.URL.Path)
		return ok && p.Group == group && p.Resource != ""
	}
}

// Namespace accepts the requests for objects in a namespace.
func Namespace(namespace string) Match {
	return func(r *http.Request) bool {
		p, ok := ParsePath(r.URL.Path)
		return ok && p.Namespace == namespace
	}
}

// Lists accepts the lists of resources, watches not among them.
func Lists(r *http.Request) bool {
	p, ok := ParsePath(r.URL.Path)
	watch := r.URL.Query().Get("watch")
	return ok && r.Method == http.MethodGet && p.Resource != "" && p.Name == "" && watch != "true" && watch != "1"
}

// Continued accepts every page of a list but the first.
func Continued(r *http.Request) bool {
	return Lists(r) && r.URL.Query().Get("continue") != ""
}

// Discovery accepts the requests that ask which APIs there are.
func Discovery(r *http.Request) bool {
	if r.URL.Path == "/api" || r.URL.Path == "/apis" {
		return true
	}
	p, ok := ParsePath(r.URL.Path)
	return ok && p.Resource == ""
}

// A Path is what the path of a request to an API server names. Resource is
// empty where it names a group or a version only.
type Path struct {
	Group, Version              string
	Namespace                   string // "" for cluster-scoped objects and for all namespaces
	Resource, Name, Subresource string
}

// ParsePath splits the path of a request for API resources; ok is false for
// every other path (/version, /healthz, /openapi/v3).
func ParsePath(path string) (p Path, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) >= 2:
		p.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 2:
		p.Group, parts = parts[1], parts[2:]
		if len(parts) > 0 {
			p.Version, parts = parts[0], parts[1:]
		}
	default:
		return Path{}, false
	}
	// namespaces/NAME is an object, namespaces/NAME/RESOURCE what is in it; its
	// own subresources are status and finalize.
	if len(parts) >= 3 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		p.Namespace, parts = parts[1], parts[2:]
	}
	for i, part := range parts {
		switch i {
		case 0:
			p.Resource = part
		case 1:
			p.Name = part
		case 2:
			p.Subresource = part
		}
	}
	return p, true
}

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

const (
	acceptWhole = "application/json"
	// acceptMetadata has no alternative: a server that cannot leave the rest away
	// says so, and nothing is read.
	acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Resource is where a kind is served.
type Resource struct{ Group, Version, Resource string }

func (r Resource) path() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

// Query is a list, or with Name one object.
type Query struct {
	Resource
	// Namespace, "" for all or for what has none.
	Namespace string
	Name      string
	Selector  string
	// Whole asks for more than metadata.
	Whole bool
}

func (q Query) path() string {
	p := q.Resource.path()
	if q.Namespace != "" {
		p += "/namespaces/" + q.Namespace
	}
	p += "/" + q.Resource.Resource
	if q.Name != "" {
		p += "/" + q.Name
	}
	return p
}

var (
	errTooMany = errors.New("too many objects")
	errNoEnd   = errors.New("pages without objects, and no end")
)

// Times that a list is begun again after its continue token expired, and pages
// in a row that may be empty.
const (
	restarts   = 1
	emptyPages = 100
	// smallest page that is tried when answers are too large or too slow.
	smallestPage = 5
)

// List reads a list in pages. page is called with the objects of each page, and
// restart when all that it was called with is void, because the list is begun
// again. When reading ends early page gets what came until then as well. T is
// what is read of an object, as encoding/json has it; at any time one page is in
// memory.
//
// The result is nil when the list is whole.
func List[T any](ctx context.Context, s *Server, q Query, page func([]T), restart func()) *Failure {
	accept := acceptMetadata
	if q.Whole {
		accept = acceptWhole
	}
	var (
		token    string
		total    int64
		empty    int
		begun    int
		limit    = s.options.Page
		failures int
	)
	for {
		query := url.Values{"limit": {strconv.Itoa(limit)}}
		if token != "" {
			query.Set("continue", token)
		}
		if q.Selector != "" {
			query.Set("labelSelector", q.Selector)
		}
		var items []T
		var next string
		f := s.get(ctx, q.path(), query, accept, func(_ string, body io.Reader) error {
			items, next = nil, ""
			var err error
			next, err = decodeList(body, func(d *json.Decoder) error {
				if total+int64(len(items)) >= s.options.Objects {
					return errTooMany
				}
				var item T
				if err := d.Decode(&item); err != nil {
					return err
				}
				items = append(items, item)
				return nil
			})
			return err
		})
		switch {
		case f == nil:
		case f.Outcome == reachv1.Outcome_OUTCOME_EXPIRED && token != "" && begun < restarts:
			begun++
			token, total, empty = "", 0, 0
			restart()
			continue
		case f.smaller && limit > smallestPage && failures < 4:
			failures++
			limit = max(limit/5, smallestPage)
			continue
		default:
			if len(items) > 0 {
				page(items)
			}
			return f
		}
		failures = 0
		if len(items) > 0 {
			page(items)
			total, empty = total+int64(len(items)), 0
		} else if empty++; empty > emptyPages {
			return &Failure{Outcome: reachv1.Outcome_OUTCOME_MALFORMED, Detail: "the list has pages without objects and no end", cause: errNoEnd}
		}
		if next == "" {
			return nil
		}
		if next == token {
			return &Failure{Outcome: reachv1.Outcome_OUTCOME_MALFORMED, Detail: "the list does not go on where it says", cause: errNoEnd}
		}
		token = next
	}
}

// decodeList reads a list object by object and returns its continue token.
func decodeList(body io.Reader, item func(*json.Decoder) error) (string, error) {
	d := json.NewDecoder(body)
	if err := open(d, '{'); err != nil {
		return "", err
	}
	next, listed := "", false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		switch key {
		case "metadata":
			var m struct {
				Continue string `json:"continue"`
			}
			if err := d.Decode(&m); err != nil {
				return "", err
			}
			next = m.Continue
		case "items":
			listed = true
			if err := items(d, item); err != nil {
				return "", err
			}
		default:
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return "", err
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return "", err
	}
	if !listed {
		return "", errors.New("a list without items")
	}
	return next, nil
}

// items reads the array of a list, or null.
func items(d *json.Decoder, item func(*json.Decoder) error) error {
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("items are no array")
	}
	for d.More() {
		if err := item(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func open(d *json.Decoder, delim json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != delim {
		return fmt.Errorf("not an object")
	}
	return nil
}

// Get reads one object by its name into v.
func (s *Server) Get(ctx context.Context, q Query, v any) *Failure {
	f := s.get(ctx, q.path(), nil, acceptWhole, func(_ string, body io.Reader) error {
		return json.NewDecoder(body).Decode(v)
	})
	if f != nil && f.Outcome == reachv1.Outcome_OUTCOME_NOT_SERVED {
		f.Outcome, f.Detail = reachv1.Outcome_OUTCOME_NOT_FOUND, "there is none of that name (404)"
	}
	return f
}

// Version returns the version that the server says it has.
func (s *Server) Version(ctx context.Context) (string, *Failure) {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	f := s.get(ctx, "/version", nil, acceptWhole, func(_ string, body io.Reader) error {
		return json.NewDecoder(body).Decode(&v)
	})
	return v.GitVersion, f
}

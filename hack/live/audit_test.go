package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// An event is a request in the audit log of a cluster.
type event struct {
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct{ Username string }
	ObjectRef  struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	Response   struct{ Code int } `json:"responseStatus"`
}

// A mark is where the audit log of each cluster ended.
type mark map[string]int64

// auditEnd is the end of the audit logs now.
func auditEnd(t *testing.T, s *stack.Stack) mark {
	t.Helper()
	m := mark{}
	for name, c := range s.Clusters {
		info, err := os.Stat(c.AuditLog())
		if err != nil {
			t.Fatal(err)
		}
		m[name] = info.Size()
	}
	return m
}

// since are the requests of a user to a cluster after the mark.
func (m mark) since(t *testing.T, c *stack.Cluster, user string) []event {
	t.Helper()
	f, err := os.Open(c.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(m[c.Name], io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var events []event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("the audit log of %s: %v", c.Name, err)
		}
		if e.User.Username == user {
			events = append(events, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

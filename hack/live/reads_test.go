package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// What the servers themselves say of a census: it got, listed and watched, read
// no Secret, wrote nothing, asked for nothing that the role does not grant; and
// an administrator's kubeconfig makes it ask for exactly the same.
func TestOnlyReads(t *testing.T) {
	s := clusters(t)
	reader := granted(t, s)

	asked := map[string]map[string][]string{}
	for user, kubeconfig := range map[string]string{stack.ReaderUser: reader, stack.AdminUser: s.AdminKubeconfig()} {
		before := auditEnd(t, s)
		take(t, s, kubeconfig, stack.Names)
		asked[user] = map[string][]string{}
		for name, c := range s.Clusters {
			events := before.since(t, c, user)
			if len(events) == 0 {
				t.Errorf("%s asked %s for nothing", user, name)
			}
			verbs := map[string]int{}
			for _, e := range events {
				verbs[e.Verb]++
				what := e.Verb + " " + e.ObjectRef.APIGroup + "/" + e.ObjectRef.Resource
				if e.ObjectRef.Resource == "" {
					path, _, _ := strings.Cut(e.RequestURI, "?")
					what = e.Verb + " " + path
				}
				asked[user][name] = append(asked[user][name], what)
				switch {
				case e.Verb != "get" && e.Verb != "list" && e.Verb != "watch":
					t.Errorf("%s on %s: %s %s", user, name, e.Verb, e.RequestURI)
				case e.ObjectRef.Resource == "secrets" || strings.Contains(e.RequestURI, "/secrets?") || strings.HasSuffix(e.RequestURI, "/secrets"):
					t.Errorf("%s on %s reads Secrets: %s %s", user, name, e.Verb, e.RequestURI)
				case e.ObjectRef.Subresource != "":
					t.Errorf("%s on %s: subresource: %s %s", user, name, e.Verb, e.RequestURI)
				case e.Response.Code == 403:
					t.Errorf("%s on %s is refused: %s %s", user, name, e.Verb, e.RequestURI)
				}
			}
			t.Logf("%s on %s: %s", user, name, counts(verbs))
			slices.Sort(asked[user][name])
			asked[user][name] = slices.Compact(asked[user][name])
		}
	}
	if diff := cmp.Diff(asked[stack.ReaderUser], asked[stack.AdminUser]); diff != "" {
		t.Errorf("an administrator asks for something else (-reader +admin):\n%s", diff)
	}
}

func counts(n map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
	}
	return strings.Join(parts, ", ")
}

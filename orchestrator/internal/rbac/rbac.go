// Package rbac writes the role that a reader of a cluster needs and nothing more:
// what is read whole (session/reads.txt), and to list what Kubernetes itself
// serves (builtin.txt). Of a resource that is listed only metadata is asked for;
// RBAC cannot say that, so whoever holds the credential could read more than
// reach does. Secrets are not in it.
package rbac

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
)

//go:embed builtin.txt
var builtinText string

// Resource is a resource of a group, "" for the core group.
type Resource struct{ Group, Resource string }

// Options say what the role is for.
type Options struct {
	// Name is that of the role, its binding and the ServiceAccount, which is in
	// Namespace.
	Name, Namespace string
	// InventoriesOnly leaves out the metadata of all objects.
	InventoriesOnly bool
	// More is what is to be listed beside what Kubernetes serves.
	More []Resource
}

// rule is a rule of a role.
type rule struct {
	group     string
	resources []string
	name      string
	verb      string
}

// rules are the rules of the role, sorted.
func (o Options) rules() []rule {
	lists := map[string]map[string]bool{}
	list := func(r Resource) {
		if lists[r.Group] == nil {
			lists[r.Group] = map[string]bool{}
		}
		lists[r.Group][r.Resource] = true
	}
	var gets []rule
	for _, r := range session.Reads() {
		if r.Name == "" {
			list(Resource{r.Group, r.Resource})
			continue
		}
		gets = append(gets, rule{group: r.Group, resources: []string{r.Resource}, name: r.Name, verb: "get"})
		if !o.InventoriesOnly {
			list(Resource{r.Group, r.Resource})
		}
	}
	if !o.InventoriesOnly {
		for _, r := range slices.Concat(builtin(), o.More) {
			if session.Unread(r.Group, r.Resource) == "" {
				list(r)
			}
		}
	}
	var out []rule
	for _, group := range slices.Sorted(maps.Keys(lists)) {
		out = append(out, rule{group: group, resources: slices.Sorted(maps.Keys(lists[group])), verb: "list"})
	}
	return append(out, gets...)
}

// builtin are the resources of builtin.txt.
func builtin() []Resource {
	var out []Resource
	for line := range strings.Lines(builtinText) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		group := words[0]
		if group == "core" {
			group = ""
		}
		for _, r := range words[1:] {
			out = append(out, Resource{group, r})
		}
	}
	return out
}

// Write writes the manifests, with a comment that says how to use them.
func Write(w io.Writer, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# What reach reads of a cluster, and nothing more. It lists and gets; it never
# writes, watches, executes, forwards or impersonates, and Secrets are not in it.
# Of nearly all resources it asks for metadata alone. RBAC cannot say that: who
# holds this credential could read, for example, ConfigMaps, so keep it short-lived.
#
#   reach rbac > reader.yaml && kubectl apply -f reader.yaml
#
# A kubeconfig for an hour, of the cluster that kubectl speaks to now:
#
#   kubectl config view --minify --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d > reader.ca
#   kubectl --kubeconfig reader.kubeconfig config set-cluster it --embed-certs --certificate-authority reader.ca \
#     --server "$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}')"
#   kubectl --kubeconfig reader.kubeconfig config set-credentials reader --token "$(kubectl -n %s create token %s --duration 1h)"
#   kubectl --kubeconfig reader.kubeconfig config set-context reader --cluster it --user reader
#   reach census REPO --kubeconfig reader.kubeconfig --context CLUSTER=reader
#
# To take the access away: kubectl delete -f reader.yaml
apiVersion: v1
kind: Namespace
metadata:
  name: %[1]s
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: %[2]s
  namespace: %[1]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: %[2]s
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: %[2]s
subjects:
- kind: ServiceAccount
  name: %[2]s
  namespace: %[1]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: %[2]s
rules:
# What is served, and in which version.
- nonResourceURLs: ["/version", "/api", "/api/*", "/apis", "/apis/*"]
  verbs: ["get"]
`, o.Namespace, o.Name)
	for _, r := range o.rules() {
		fmt.Fprintf(&b, "- apiGroups: [%q]\n  resources: [%s]\n", r.group, quoted(r.resources))
		if r.name != "" {
			fmt.Fprintf(&b, "  resourceNames: [%q]\n", r.name)
		}
		fmt.Fprintf(&b, "  verbs: [%q]\n", r.verb)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}

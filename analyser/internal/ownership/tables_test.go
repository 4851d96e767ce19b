package ownership

import (
	"strings"
	"testing"
	"time"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
)

// TestCommitOf: the forms in which Flux writes revisions.
func TestCommitOf(t *testing.T) {
	sha1, sha256 := strings.Repeat("0a", 20), strings.Repeat("b1", 32)
	for revision, want := range map[string]string{
		"main@sha1:" + sha1:                  sha1,
		"refs/heads/a@b@sha1:" + sha1:        sha1,
		"sha1:" + sha1:                       sha1,
		"main@sha256:" + sha256:              sha256,
		"main/" + sha1:                       sha1,
		"feature/x/" + sha1:                  sha1,
		sha1:                                 sha1,
		"latest@sha512:" + sha1:              "",
		"main@sha1:" + sha1[:39]:             "",
		"main@sha1:" + sha1 + "0":            "",
		"main@sha1:" + strings.ToUpper(sha1): "",
		"main@sha1:" + sha1[:39] + "g":       "",
		"6.5.4":                              "",
		"":                                   "",
	} {
		if got := commitOf(revision); got != want {
			t.Errorf("commitOf(%q) = %q, want %q", revision, got, want)
		}
	}
}

// TestManagerKind: names of field managers and what kind of program has them.
func TestManagerKind(t *testing.T) {
	for name, want := range map[string]Maker{
		"kubectl": Kubectl, "kubectl-client-side-apply": Kubectl, "kubectl-edit": Kubectl, "oc": Kubectl, "oc-apply": Kubectl,
		"Terraform": CI, "HashiCorp-terraform-provider": CI, "argo-gitlab-runner": CI,
		"kube-controller-manager": System, "k3s": System, "cluster-dns-operator": System,
		"kubectlx": Program, "ocular": Program, "cluster-dns": Program, "k3s-agent": Program, "cert-manager": Program,
		"": Nobody,
	} {
		if got, _ := managerKind(observed.Manager{Name: name, Operation: "Apply"}, &observed.Present{}); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	if got, _ := managerKind(observed.Manager{}, &observed.Present{LastApplied: true}); got != Kubectl {
		t.Errorf("without a manager, with kubectl's annotation, it is %s", got)
	}
}

// TestCreator: the earliest entry that is not about a subresource, by name where
// two are equally old.
func TestCreator(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	got := creator(&observed.Present{Managers: []observed.Manager{
		{Name: "late", Time: at(9)},
		{Name: "b", Time: at(2)},
		{Name: "a", Time: at(2)},
		{Name: "status", Subresource: "status", Time: at(1)},
		{Time: at(0)},
	}})
	if got.Name != "a" {
		t.Errorf("it is %q", got.Name)
	}
	if got := creator(&observed.Present{}); got.Name != "" {
		t.Errorf("of nothing it is %q", got.Name)
	}
}

// TestSystemObject: what every cluster has by itself, and what only looks so.
func TestSystemObject(t *testing.T) {
	ref := func(group, kind, namespace, name string) object.Ref {
		return object.Ref{Group: group, Version: "v1", Kind: kind, Namespace: namespace, Name: name}
	}
	for _, c := range []struct {
		object object.Ref
		labels map[string]string
		want   bool
	}{
		{ref("", "Event", "shop", "x"), nil, true},
		{ref("events.k8s.io", "Event", "shop", "x"), nil, true},
		{ref("example.com", "Event", "shop", "x"), nil, false},
		{ref("", "Namespace", "", "kube-system"), nil, true},
		{ref("", "Namespace", "", "shop"), nil, false},
		{ref("", "ConfigMap", "shop", "kube-root-ca.crt"), nil, true},
		{ref("", "ConfigMap", "kube-system", "other"), nil, false},
		{ref("", "Service", "default", "kubernetes"), nil, true},
		{ref("", "Service", "shop", "kubernetes"), nil, false},
		{ref("", "ServiceAccount", "shop", "default"), nil, true},
		{ref("scheduling.k8s.io", "PriorityClass", "", "system-node-critical"), nil, true},
		{ref("scheduling.k8s.io", "PriorityClass", "", "shop"), nil, false},
		{ref("rbac.authorization.k8s.io", "ClusterRole", "", "admin"), map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}, true},
		{ref("rbac.authorization.k8s.io", "ClusterRole", "", "admin"), nil, false},
		{ref("apps", "Deployment", "shop", "x"), map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}, false},
	} {
		if got := systemObject(&observed.Present{Object: c.object, Labels: c.labels}); (got != "") != c.want {
			t.Errorf("%v %v: %q, want %t", c.object, c.labels, got, c.want)
		}
	}
	for ns, want := range map[string]bool{"": true, "default": true, "openshift": true, "openshift-dns": true, "openshifty": false, "shop": false} {
		if got := systemNamespace(&observed.Present{Object: object.Ref{Namespace: ns}}); got != want {
			t.Errorf("namespace %q: %t, want %t", ns, got, want)
		}
	}
}

// TestMayOwn: a reference means an owner of its kind and name, in the namespace of
// what it owns or in none.
func TestMayOwn(t *testing.T) {
	owned := &observed.Present{Object: object.Ref{Kind: "Pod", Namespace: "shop", Name: "web-1"}}
	reference := observed.Owner{Object: object.Ref{Group: "apps", Kind: "ReplicaSet", Name: "web"}}
	for _, c := range []struct {
		owner object.Ref
		want  bool
	}{
		{object.Ref{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "web"}, true},
		{object.Ref{Group: "apps", Kind: "ReplicaSet", Name: "web"}, true},
		{object.Ref{Group: "apps", Kind: "ReplicaSet", Namespace: "other", Name: "web"}, false},
		{object.Ref{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "db"}, false},
		{object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, false},
	} {
		if got := mayOwn(&observed.Present{Object: c.owner}, owned, reference); got != c.want {
			t.Errorf("%v: %t, want %t", c.owner, got, c.want)
		}
	}
}

package rbac

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/hack/misbehave"
	"github.com/gitops-reach/reach/orchestrator/internal/observe"
	"github.com/gitops-reach/reach/orchestrator/internal/session"
	"github.com/gitops-reach/reach/orchestrator/internal/session/sessiontest"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// granted are the permissions of the ClusterRole that is printed, one a line.
func granted(t *testing.T, o Options) []string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, o); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for doc := range strings.SplitSeq(b.String(), "\n---\n") {
		var role struct {
			Kind  string
			Rules []struct {
				APIGroups, Resources, ResourceNames, Verbs, NonResourceURLs []string
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" {
			continue
		}
		for _, r := range role.Rules {
			for _, verb := range r.Verbs {
				for _, u := range r.NonResourceURLs {
					out[verb+" "+u] = true
				}
				for _, g := range r.APIGroups {
					for _, resource := range r.Resources {
						out[strings.TrimSpace(verb+" "+g+"/"+resource+" "+strings.Join(r.ResourceNames, ","))] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// used reads a cluster that serves all of some resources, and returns the
// permissions that its requests took.
func used(t *testing.T, serves []Resource, o observe.Options) []string {
	t.Helper()
	// The kinds decide how a list is read; those of resources that are read whole
	// are the real ones.
	cluster := &sessiontest.Cluster{Version: "v1"}
	for _, r := range serves {
		kind := kindsOf[r]
		if kind == "" {
			kind = "K" + r.Resource
		}
		cluster.Served = append(cluster.Served, sessiontest.Served{Group: r.Group, Version: "v1", Kind: kind, Resource: r.Resource, Verbs: []string{"get", "list"}})
	}
	server, err := misbehave.NewServer(cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	configs, err := session.LoadKubeconfigs([]string{sessiontest.Kubeconfig(t, server, "it")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := configs.Open("it", session.Options{PerSecond: 1e5})
	if err != nil {
		t.Fatal(err)
	}
	o.Cluster = "hub"
	if err := observe.Cluster(t.Context(), s, o, func(*reachv1.Fact) error { return nil }); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, r := range server.Asked() {
		if r.Method != "GET" {
			t.Fatalf("%s %s", r.Method, r.Path)
		}
		p, ok := misbehave.ParsePath(r.Path)
		switch {
		case !ok || p.Resource == "":
			out["get "+r.Path] = true
		case p.Name != "":
			out["get "+p.Group+"/"+p.Resource+" "+p.Name] = true
		default:
			out["list "+p.Group+"/"+p.Resource] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

var kindsOf = map[Resource]string{
	{"", "nodes"}: "Node", {"apps", "deployments"}: "Deployment", {"storage.k8s.io", "csidrivers"}: "CSIDriver",
	{"kustomize.toolkit.fluxcd.io", "kustomizations"}: "Kustomization", {"helm.toolkit.fluxcd.io", "helmreleases"}: "HelmRelease",
	{"fluxcd.controlplane.io", "resourcesets"}: "ResourceSet", {"fluxcd.controlplane.io", "fluxinstances"}: "FluxInstance",
	{"source.toolkit.fluxcd.io", "gitrepositories"}: "GitRepository", {"source.toolkit.fluxcd.io", "ocirepositories"}: "OCIRepository",
	{"source.toolkit.fluxcd.io", "buckets"}: "Bucket", {"source.toolkit.fluxcd.io", "helmrepositories"}: "HelmRepository",
	{"source.toolkit.fluxcd.io", "helmcharts"}: "HelmChart", {"source.toolkit.fluxcd.io", "externalartifacts"}: "ExternalArtifact",
	{"config.openshift.io", "infrastructures"}: "Infrastructure", {"config.openshift.io", "clusterversions"}: "ClusterVersion",
	{"config.openshift.io", "ingresses"}: "Ingress", {"config.openshift.io", "networks"}: "Network",
	{"config.openshift.io", "clusteroperators"}: "ClusterOperator", {"operator.openshift.io", "ingresscontrollers"}: "IngressController",
	{"machineconfiguration.openshift.io", "machineconfigpools"}: "MachineConfigPool",
	{"operators.coreos.com", "subscriptions"}:                   "Subscription", {"operators.coreos.com", "clusterserviceversions"}: "ClusterServiceVersion",
}

// TestRoleIsWhatIsUsed has a cluster serve what the role names, Secrets and
// another kind beside: what is asked of it is the role, no less and no more.
func TestRoleIsWhatIsUsed(t *testing.T) {
	more := Resource{"example.com", "widgets"}
	for _, c := range []struct {
		name string
		role Options
		read observe.Options
	}{
		{"objects", Options{More: []Resource{more}}, observe.Options{}},
		{"inventories", Options{InventoriesOnly: true}, observe.Options{InventoriesOnly: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			serves := append(builtin(), more, Resource{"", "secrets"}, Resource{"", "events"})
			for _, r := range session.Reads() {
				if x := (Resource{r.Group, r.Resource}); !slices.Contains(serves, x) {
					serves = append(serves, x)
				}
			}
			role := slices.DeleteFunc(granted(t, c.role), func(p string) bool {
				// Servers before Kubernetes 1.27 are asked below.
				return p == "get /api/*" || p == "get /apis/*"
			})
			if diff := cmp.Diff(role, used(t, serves, c.read)); diff != "" {
				t.Errorf("granted, and used: %s", diff)
			}
		})
	}
}

func TestRoleHasNoSecretsAndNoWrites(t *testing.T) {
	for _, p := range granted(t, Options{More: []Resource{{"", "secrets"}, {"x", "secrets"}, {"", "configmaps"}}}) {
		verb, what, _ := strings.Cut(p, " ")
		if verb != "get" && verb != "list" || strings.Contains(what, "secrets") || strings.Contains(what, "*") && !strings.HasPrefix(what, "/api") {
			t.Errorf("the role grants %s", p)
		}
	}
}

// Package stack brings up real clusters on loopback that reconcile the
// repository acme-platform (hack/acme): the hubs hub-east and hub-west with the
// real controllers of Flux, and the spokes aks-weu-prod and ocp-edge, which
// they reach by kubeConfig secrets. The other spokes that the repository names
// do not exist, so what goes there fails, as it does when a spoke is gone.
//
// What is real: kube-apiserver and etcd, RBAC, audit logs, source-controller,
// kustomize-controller, git over HTTP. What is not: there are no nodes, so
// workloads only say that they are ready; no helm-controller, so HelmReleases
// have the status that a test gives them; and the hubs are OpenShift by their
// definitions and hand-made objects only.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/gitserver"
	"github.com/gitops-reach/reach/hack/live/internal/process"
	"github.com/gitops-reach/reach/hack/live/internal/programs"
)

// Names of the clusters, as acme-platform has them.
const (
	HubEast = "hub-east"
	HubWest = "hub-west"
	AKS     = "aks-weu-prod"
	Edge    = "ocp-edge"
)

// Hubs run Flux, which reconciles everything.
var Hubs = []string{HubEast, HubWest}

// Names are all clusters that there are.
var Names = []string{HubEast, HubWest, AKS, Edge}

// platforms says what each cluster is.
var platforms = map[string]string{HubEast: "openshift", HubWest: "openshift", AKS: "aks", Edge: "openshift"}

// openshiftNamespaces are those of every OpenShift into which acme-platform puts
// something.
var openshiftNamespaces = []string{
	"openshift-config", "openshift-ingress-operator", "openshift-machine-api", "openshift-marketplace",
	"openshift-monitoring", "openshift-operators", "openshift-user-workload-monitoring",
}

// A Stack is the running clusters.
type Stack struct {
	Dir string
	// Programs has kubectl.
	Programs programs.Dir
	Clusters map[string]*Cluster
	// Repository is the clone that the hubs' controllers follow once it is
	// pushed; Config is the reach.yaml that goes with it.
	Repository, Config string

	flux        programs.Dir
	git         *gitserver.Server
	controllers []*process.Process
}

// Up brings the stack up in a new or empty folder, from what package programs
// builds. source is the folder of the
// product's repository. When it returns without an error, the controllers have
// done what they can (Settle). Close ends it also after an error.
func Up(ctx context.Context, clusters, flux programs.Dir, source, dir string, log io.Writer) (*Stack, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty", dir)
	}
	s := &Stack{
		Dir: dir, Programs: clusters, flux: flux, Clusters: map[string]*Cluster{},
		Repository: filepath.Join(dir, "acme-platform"), Config: filepath.Join(dir, "reach.yaml"),
	}
	if err := s.up(ctx, source, log); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stack) up(ctx context.Context, source string, log io.Writer) error {
	for _, dir := range []string{s.Dir, filepath.Join(s.Dir, "git"), filepath.Join(s.Dir, "flux")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var err error
	if s.git, err = gitserver.Start(filepath.Join(s.Dir, "git")); err != nil {
		return err
	}
	if err := s.makeRepository(ctx, source); err != nil {
		return err
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(log, "live: %5.1fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	if err := s.startClusters(ctx); err != nil {
		return err
	}
	say("%d API servers answer", len(s.Clusters))
	if err := s.each(Names, func(c *Cluster) error { return s.prepare(ctx, c) }); err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.writeKubeconfigs(ctx); err != nil {
		return err
	}
	say("their kinds are served")
	if err := s.each(Hubs, func(c *Cluster) error { return s.bootstrap(ctx, c) }); err != nil {
		return err
	}
	if err := s.startFlux(); err != nil {
		return err
	}
	say("Flux runs on %d hubs", len(Hubs))
	if err := s.Settle(ctx); err != nil {
		return err
	}
	say("the controllers have come to rest")
	return nil
}

func (s *Stack) startClusters(ctx context.Context) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed []error
	for _, name := range Names {
		wg.Go(func() {
			c, err := StartCluster(ctx, s.Programs, name, filepath.Join(s.Dir, name), "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return
			}
			s.Clusters[name] = c
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// each does something with several clusters at the same time.
func (s *Stack) each(names []string, do func(*Cluster) error) error {
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { errs[i] = do(s.Clusters[name]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// prepare has a cluster serve the kinds that it serves by its platform, and
// Flux's on the hubs.
func (s *Stack) prepare(ctx context.Context, c *Cluster) error {
	var folders []string
	if slices.Contains(Hubs, c.Name) {
		folders = append(folders, s.Programs.CRDs("flux"))
	}
	if platforms[c.Name] == "openshift" {
		folders = append(folders, s.Programs.CRDs("openshift"), s.Programs.CRDs("olm"))
		for _, namespace := range openshiftNamespaces {
			if err := c.Namespace(ctx, namespace); err != nil {
				return err
			}
		}
	}
	if folders != nil {
		if err := c.Apply(ctx, folders...); err != nil {
			return err
		}
	}
	if err := serveKinds(ctx, c.Client, platforms[c.Name]); err != nil {
		return err
	}
	return AwaitDefinitions(ctx, c.Client)
}

// connect gives the hubs the secrets by which they reach git and the spokes.
// Those of aks-weu-stage and aks-neu-prod are not among them.
func (s *Stack) connect(ctx context.Context) error {
	for _, hub := range Hubs {
		c := s.Clusters[hub]
		if err := c.Secret(ctx, "flux-system", "flux-system", map[string]string{"username": "git", "password": "none"}); err != nil {
			return err
		}
	}
	for _, reference := range []struct{ hub, namespace, name, spoke string }{
		{HubEast, AKS, "cluster-kubeconfig", AKS},
		{HubEast, Edge, "cluster-kubeconfig", Edge},
		{HubWest, "flux-system", "ocp-edge-kubeconfig", Edge},
		{HubWest, Edge, "ocp-edge-kubeconfig", Edge},
	} {
		kubeconfig, err := os.ReadFile(s.Clusters[reference.spoke].Kubeconfig())
		if err != nil {
			return err
		}
		err = s.Clusters[reference.hub].Secret(ctx, reference.namespace, reference.name, map[string]string{"value": string(kubeconfig)})
		if err != nil {
			return err
		}
	}
	return nil
}

// bootstrap does what flux bootstrap does once the repository is there.
func (s *Stack) bootstrap(ctx context.Context, hub *Cluster) error {
	dir := filepath.Join(s.Repository, "clusters", hub.Name, "flux-system")
	return hub.Apply(ctx, filepath.Join(dir, "gotk-components.yaml"), filepath.Join(dir, "gotk-sync.yaml"))
}

// startFlux starts the controllers of both hubs, outside of their clusters.
func (s *Stack) startFlux() error {
	for _, hub := range Hubs {
		storage := filepath.Join(s.Dir, "flux", hub, "artifacts")
		if err := os.MkdirAll(storage, 0o700); err != nil {
			return err
		}
		address, err := freeAddress()
		if err != nil {
			return err
		}
		tmp := filepath.Join(s.Dir, "flux", hub, "tmp")
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			return err
		}
		kustomize := []string{"--requeue-dependency=2s"}
		if hub == HubEast {
			// Its manifests say Flux 2.7, whose kustomize-controller is not strict.
			kustomize = append(kustomize, "--feature-gates=StrictPostBuildSubstitutions=false")
		}
		env := []string{"KUBECONFIG=" + s.Clusters[hub].Kubeconfig(), "RUNTIME_NAMESPACE=flux-system", "TMPDIR=" + tmp}
		for program, args := range map[string][]string{
			"source-controller":    {"--storage-path=" + storage, "--storage-addr=" + address, "--storage-adv-addr=" + address},
			"kustomize-controller": kustomize,
		} {
			log := filepath.Join(s.Dir, "flux", hub, program+".log")
			p, err := process.Start(log, s.flux.Program(program), env,
				append(args, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0")...)
			if err != nil {
				return err
			}
			s.controllers = append(s.controllers, p)
		}
	}
	return nil
}

// freeAddress is an address of loopback that nothing listens on; a controller
// has to be told one.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// Close ends everything. The folder stays.
func (s *Stack) Close() {
	for _, p := range s.controllers {
		// A reconciliation under way may take half a minute to end.
		p.Stop(2 * time.Second)
	}
	var wg sync.WaitGroup
	for _, c := range s.Clusters {
		wg.Go(c.Stop)
	}
	wg.Wait()
	if s.git != nil {
		s.git.Close()
	}
}

package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/process"
	"github.com/gitops-reach/reach/hack/live/internal/programs"
)

// A Cluster is a real API server with its etcd, in a process of its own.
type Cluster struct {
	Name string
	// Client is an administrator.
	Client *api.Client

	programs programs.Dir
	dir      string
	flavour  string
	process  *process.Process
}

// StartCluster starts a cluster whose state is kept in dir, and waits until it
// answers. The version of its server ends with flavour ("+k3s1").
func StartCluster(ctx context.Context, p programs.Dir, name, dir, flavour string) (*Cluster, error) {
	c := &Cluster{Name: name, programs: p, dir: dir, flavour: flavour}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Start starts the cluster again after Kill or Stop, at the same address, with
// what was in it.
func (c *Cluster) Start(ctx context.Context) error {
	if err := os.Remove(c.Kubeconfig()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p, err := process.Start(filepath.Join(c.dir, "log"), c.programs.Program("testcluster"), nil,
		"-dir="+c.dir, "-name="+c.Name, "-flavour="+c.flavour)
	if err != nil {
		return err
	}
	for {
		if client, err := api.FromKubeconfig(c.Kubeconfig()); err == nil {
			c.process, c.Client = p, client
			return nil
		}
		select {
		case <-p.Ended():
			return fmt.Errorf("cluster %s: %w", c.Name, p.Failure())
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("cluster %s does not answer: %w", c.Name, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Kubeconfig is the path of an administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// AuditLog is the path of the log of every request to the cluster.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "audit.log") }

// Kill ends the cluster as a machine that fails does.
func (c *Cluster) Kill() { c.process.Kill() }

// Stop ends the cluster.
func (c *Cluster) Stop() { c.process.Stop(5 * time.Second) }

// Kubectl runs kubectl as an administrator and returns what it printed.
func (c *Cluster) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.programs.Program("kubectl"), append([]string{"--kubeconfig=" + c.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s on %s: %w: %s", strings.Join(args, " "), c.Name, err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

// Apply applies files or folders of manifests, as a person does with kubectl.
func (c *Cluster) Apply(ctx context.Context, paths ...string) error {
	args := []string{"apply", "--server-side", "--force-conflicts"}
	for _, path := range paths {
		args = append(args, "-f", path)
	}
	_, err := c.Kubectl(ctx, "", args...)
	return err
}

// Namespace has a namespace there.
func (c *Cluster) Namespace(ctx context.Context, name string) error {
	_, err := c.Client.Create(ctx, "/api/v1/namespaces", api.Object{"metadata": api.Object{"name": name}})
	if api.IsCode(err, 409) {
		return nil
	}
	return err
}

// Secret makes a secret of these values.
func (c *Cluster) Secret(ctx context.Context, namespace, name string, values map[string]string) error {
	if err := c.Namespace(ctx, namespace); err != nil {
		return err
	}
	_, err := c.Client.Create(ctx, "/api/v1/namespaces/"+namespace+"/secrets", api.Object{
		"metadata": api.Object{"name": name}, "stringData": values,
	})
	return err
}

// Token is a token of a ServiceAccount, from the server's TokenRequest, for an
// hour.
func (c *Cluster) Token(ctx context.Context, namespace, name string) (string, error) {
	o, err := c.Client.Create(ctx, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+name+"/token", api.Object{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": api.Object{"expirationSeconds": 3600},
	})
	if err != nil {
		return "", err
	}
	return api.String(o, "status", "token"), nil
}

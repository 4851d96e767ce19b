package stack

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gitops-reach/reach/hack/live/internal/api"
)

// Users are ServiceAccounts, so that the audit logs tell what was done by their
// kubeconfigs from what the controllers and the tests do.
const (
	usersNamespace = "reach"
	readerName     = "reach"
	adminName      = "reach-admin"
)

// Names of the users in the audit logs.
const (
	ReaderUser = "system:serviceaccount:" + usersNamespace + ":" + readerName
	AdminUser  = "system:serviceaccount:" + usersNamespace + ":" + adminName
)

// AdminKubeconfig has a context for each cluster, of the cluster's name, for a
// user who may do everything.
func (s *Stack) AdminKubeconfig() string { return filepath.Join(s.Dir, "kubeconfig-admin") }

// ReaderKubeconfig has the same contexts for a user who may do nothing until
// GrantReader.
func (s *Stack) ReaderKubeconfig() string { return filepath.Join(s.Dir, "kubeconfig-reader") }

func (s *Stack) writeKubeconfigs(ctx context.Context) error {
	for user, path := range map[string]string{readerName: s.ReaderKubeconfig(), adminName: s.AdminKubeconfig()} {
		var credentials []Credential
		for _, name := range Names {
			credential, err := s.Clusters[name].User(ctx, user, user == adminName)
			if err != nil {
				return err
			}
			credentials = append(credentials, credential)
		}
		if err := WriteKubeconfig(path, credentials...); err != nil {
			return err
		}
	}
	return nil
}

// User makes a ServiceAccount, an administrator or one that may do nothing, and
// returns its credential, whose context has the cluster's name.
func (c *Cluster) User(ctx context.Context, name string, admin bool) (Credential, error) {
	if err := c.Namespace(ctx, usersNamespace); err != nil {
		return Credential{}, err
	}
	_, err := c.Client.Create(ctx, "/api/v1/namespaces/"+usersNamespace+"/serviceaccounts", api.Object{"metadata": api.Object{"name": name}})
	if err != nil {
		return Credential{}, err
	}
	if admin {
		_, err := c.Client.Create(ctx, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", api.Object{
			"metadata": api.Object{"name": name},
			"roleRef":  api.Object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{api.Object{"kind": "ServiceAccount", "namespace": usersNamespace, "name": name}},
		})
		if err != nil {
			return Credential{}, err
		}
	}
	token, err := c.Token(ctx, usersNamespace, name)
	if err != nil {
		return Credential{}, err
	}
	return Credential{c.Name, c.Client.Server, c.Client.CA, token}, nil
}

// GrantReader applies manifests to each cluster, as `reach rbac` prints them:
// the role of a ServiceAccount reach in the namespace reach.
func (s *Stack) GrantReader(ctx context.Context, manifests string) error {
	return s.each(Names, func(c *Cluster) error {
		_, err := c.Kubectl(ctx, manifests, "apply", "--server-side", "--force-conflicts", "-f", "-")
		return err
	})
}

// A Credential is a way to one server, under the name of its context.
type Credential struct {
	Context, Server string
	CA              []byte
	Token           string
}

// WriteKubeconfig writes a kubeconfig without a current context.
func WriteKubeconfig(path string, credentials ...Credential) error {
	var clusters, users, contexts strings.Builder
	for _, c := range credentials {
		fmt.Fprintf(&clusters, "- name: %s\n  cluster:\n    server: %s\n    certificate-authority-data: %s\n",
			c.Context, c.Server, base64.StdEncoding.EncodeToString(c.CA))
		fmt.Fprintf(&users, "- name: %s\n  user:\n    token: %s\n", c.Context, c.Token)
		fmt.Fprintf(&contexts, "- name: %s\n  context:\n    cluster: %s\n    user: %s\n", c.Context, c.Context, c.Context)
	}
	content := "apiVersion: v1\nkind: Config\nclusters:\n" + clusters.String() + "users:\n" + users.String() + "contexts:\n" + contexts.String()
	return os.WriteFile(path, []byte(content), 0o600)
}

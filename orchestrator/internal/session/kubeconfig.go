package session

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// Credentials as kubectl has them: OIDC; exec plugins are part of rest.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfigs are files that a person named.
type Kubeconfigs struct {
	names []string
	files []*api.Config
}

// LoadKubeconfigs reads files as kubectl does. Every file must be there.
func LoadKubeconfigs(names []string) (*Kubeconfigs, error) {
	k := &Kubeconfigs{}
	for _, name := range names {
		config, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: name}).Load()
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig %s: %w", name, withoutContent(err))
		}
		k.names, k.files = append(k.names, name), append(k.files, config)
	}
	return k, nil
}

// withoutContent keeps what stands in a kubeconfig, credentials included, out of
// errors: a parser quotes what it does not understand.
func withoutContent(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return errors.New("it is not a kubeconfig")
}

// FromEnvironment splits the value of KUBECONFIG, a list of files as kubectl has
// it; files that are not there are left out.
func FromEnvironment(value string) []string {
	var out []string
	for _, name := range filepath.SplitList(value) {
		if name == "" {
			continue
		}
		if _, err := os.Stat(name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// Contexts are the names of all contexts, sorted.
func (k *Kubeconfigs) Contexts() []string {
	all := map[string]bool{}
	for _, f := range k.files {
		for name := range f.Contexts {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Open makes a way to the server of a context. Nothing is asked of it yet.
//
// A context takes its cluster and its user from its own file when that has both;
// kubectl's rule, by which the first file wins whatever it means, would mix files
// that use the same words. Where they are elsewhere, kubectl's rule it is.
func (k *Kubeconfigs) Open(context string, o Options) (*Server, error) {
	var in []int
	for i, f := range k.files {
		if f.Contexts[context] != nil {
			in = append(in, i)
		}
	}
	switch {
	case len(in) == 0:
		return nil, fmt.Errorf("no kubeconfig has a context %q: they have %s", context, orNone(k.Contexts()))
	case len(in) > 1:
		return nil, fmt.Errorf("the context %q stands in %s and in %s: name one of the files only", context, k.names[in[0]], k.names[in[1]])
	}
	config := k.files[in[0]]
	if c := config.Contexts[context]; config.Clusters[c.Cluster] == nil || config.AuthInfos[c.AuthInfo] == nil && c.AuthInfo != "" {
		config = k.merged(in[0])
	}
	// Without ConfigAccess nothing is ever written back.
	cc, err := clientcmd.NewNonInteractiveClientConfig(*config, context, &clientcmd.ConfigOverrides{CurrentContext: context}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the context %q of %s cannot be used: %w", context, k.names[in[0]], err)
	}
	if as := cc.Impersonate.UserName; as != o.User && as != "" {
		return nil, fmt.Errorf("the context %q of %s impersonates %q: say --as %s when that is meant", context, k.names[in[0]], as, as)
	}
	s, err := newServer(cc, o)
	if err != nil {
		return nil, fmt.Errorf("the context %q of %s cannot be used: %w", context, k.names[in[0]], err)
	}
	return s, nil
}

// merged puts all files together, the one at first before the others.
func (k *Kubeconfigs) merged(first int) *api.Config {
	out := k.files[first].DeepCopy()
	for _, f := range k.files {
		for name, c := range f.Clusters {
			if out.Clusters[name] == nil {
				out.Clusters[name] = c
			}
		}
		for name, a := range f.AuthInfos {
			if out.AuthInfos[name] == nil {
				out.AuthInfos[name] = a
			}
		}
	}
	return out
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// startTimeout bounds how long etcd and the API server may take to start, on a
// machine that does much besides.
const startTimeout = 5 * time.Minute

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// serve runs a cluster until ctx ends.
func serve(ctx context.Context, name, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	etcd, err := startEtcd(filepath.Join(dir, "etcd"))
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	defer etcd.Close()

	saKey, err := keep(filepath.Join(dir, "sa.key"), newKey)
	if err != nil {
		return err
	}
	tokens, err := keep(filepath.Join(dir, "tokens.csv"), newTokens)
	if err != nil {
		return err
	}
	policy, err := keep(filepath.Join(dir, "audit-policy.yaml"), func() ([]byte, error) { return []byte(auditPolicy), nil })
	if err != nil {
		return err
	}
	listener, err := listen(filepath.Join(dir, "address"))
	if err != nil {
		return err
	}

	opts := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, f := range opts.Flags().FlagSets {
		flags.AddFlagSet(f)
	}
	err = flags.Parse([]string{
		"--etcd-servers=http://" + etcd.Clients[0].Addr().String(),
		"--storage-media-type=application/json",
		"--cert-dir=" + filepath.Join(dir, "pki"),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + saKey,
		"--service-account-signing-key-file=" + saKey,
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + filepath.Join(dir, "audit.log"),
		"--audit-log-format=json",
		// A request is in the log before it is answered.
		"--audit-log-mode=blocking",
	})
	if err != nil {
		return err
	}
	// A listener that is already open leaves no port to race for.
	opts.SecureServing.Listener = listener
	opts.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port

	completed, err := opts.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return errors.Join(errs...)
	}
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx, completed) }()

	config := &rest.Config{
		Host:            "https://" + listener.Addr().String(),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "pki", "apiserver.crt")},
		QPS:             200,
		Burst:           400,
	}
	if config.BearerToken, err = firstToken(tokens); err != nil {
		return err
	}
	if err := awaitReady(ctx, config, done); err != nil {
		return err
	}
	if err := startControllers(ctx, config); err != nil {
		return err
	}
	if err := writeKubeconfig(filepath.Join(dir, "kubeconfig"), name, config); err != nil {
		return err
	}
	return <-done
}

func startEtcd(dir string) (*embed.Etcd, error) {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "error"
	cfg.UnsafeNoFsync = true // nothing that is in it is worth a flush
	cfg.QuotaBackendBytes = 4 << 30
	anyPort, nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:0"}, url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = []url.URL{anyPort}, []url.URL{anyPort}
	cfg.AdvertiseClientUrls, cfg.AdvertisePeerUrls = []url.URL{nowhere}, []url.URL{nowhere}
	cfg.InitialCluster = cfg.Name + "=" + nowhere.String()
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		return nil, err
	case <-time.After(startTimeout):
		return nil, fmt.Errorf("not ready after %v", startTimeout)
	}
}

// awaitReady returns when the server says that it is ready.
func awaitReady(ctx context.Context, config *rest.Config, done <-chan error) error {
	deadline := time.After(startTimeout)
	var client *http.Client
	for {
		select {
		case err := <-done:
			return fmt.Errorf("the API server ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("the API server is not ready after %v", startTimeout)
		case <-time.After(50 * time.Millisecond):
		}
		if client == nil {
			// The certificate is written by the server when it starts.
			var err error
			if client, err = rest.HTTPClientFor(config); err != nil {
				client = nil
				continue
			}
		}
		response, err := client.Get(config.Host + "/readyz")
		if err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// writeKubeconfig writes the credential of an administrator, whole or not.
func writeKubeconfig(path, name string, config *rest.Config) error {
	ca, err := os.ReadFile(config.CAFile)
	if err != nil {
		return err
	}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: ca}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, path+".partial"); err != nil {
		return err
	}
	return os.Rename(path+".partial", path)
}

// listen listens where the cluster listened before, or on any port of loopback.
func listen(path string) (net.Listener, error) {
	address := "127.0.0.1:0"
	before, err := os.ReadFile(path)
	if err == nil {
		address = string(before)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return listener, os.WriteFile(path, []byte(listener.Addr().String()), 0o600)
}

// keep makes a file that is not there yet, and returns its path.
func keep(path string, content func() ([]byte, error)) (string, error) {
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	data, err := content()
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o600)
}

func newKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

func newTokens() ([]byte, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	// The letter keeps YAML from taking it for a number.
	return []byte("t" + hex.EncodeToString(raw) + ",admin,admin,system:masters\n"), nil
}

// firstToken is the token of the first line of a file of tokens.
func firstToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for i, c := range data {
		if c == ',' {
			return string(data[:i]), nil
		}
	}
	return "", fmt.Errorf("no token in %s", path)
}

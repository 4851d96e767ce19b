// Command testcluster is a Kubernetes cluster without nodes in one process: a
// kube-apiserver with its etcd, and those controllers without which one sees
// that there are none: namespaces end, owned objects are collected, ClusterRoles
// are aggregated, each namespace has its default ServiceAccount, and workloads
// say that they are ready.
//
// It writes DIR/kubeconfig, the credential of an administrator, when the server
// is ready, and the audit log (every request, at the level Metadata) to
// DIR/audit.log. Started again on the same folder it is the same cluster at
// the same address. It ends when its standard input does, so that no cluster
// outlives the test that started it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/version"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stderr)) }

func run(args []string, stdin io.Reader, stderr io.Writer) int {
	flags := flag.NewFlagSet("testcluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "", "`folder` of the cluster's state")
	name := flags.String("name", "", "`name` of the cluster in its kubeconfig")
	flavour := flags.String("flavour", "", "`suffix` of the server's version, such as +k3s1")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *dir == "" || *name == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "testcluster: -dir and -name are needed, and nothing else")
		return 2
	}
	if err := version.SetDynamicVersion(version.Get().GitVersion + *flavour); err != nil {
		fmt.Fprintf(stderr, "testcluster: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	if err := serve(ctx, *name, *dir); err != nil {
		fmt.Fprintf(stderr, "testcluster: %v\n", err)
		return 1
	}
	return 0
}

package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
	"github.com/gitops-reach/reach/hack/misbehave"
)

// objects is how many objects BenchmarkLargeHub puts on a hub.
const objects = 20_000

// BenchmarkLargeHub is a census of a cluster with 20,000 objects: requests,
// bytes, time and memory.
//
//	go test ./hack/live -run '^$' -bench LargeHub -benchtime 1x -timeout 60m
func BenchmarkLargeHub(b *testing.B) {
	programs, err := shared.programs()
	if err != nil {
		b.Fatal(err)
	}
	program, err := built()
	if err != nil {
		b.Fatal(err)
	}
	c, err := stack.StartCluster(b.Context(), programs, "one", filepath.Join(b.TempDir(), "cluster"), "")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Stop()
	if err := c.Apply(b.Context(), programs.CRDs("flux")); err != nil {
		b.Fatal(err)
	}
	if err := stack.AwaitDefinitions(b.Context(), c.Client); err != nil {
		b.Fatal(err)
	}
	fill(b, c)
	user, err := c.User(b.Context(), "reach-admin", true)
	if err != nil {
		b.Fatal(err)
	}
	to, err := url.Parse(c.Client.Server)
	if err != nil {
		b.Fatal(err)
	}
	front, err := misbehave.NewServer(misbehave.Forward(to, c.Client.Transport()))
	if err != nil {
		b.Fatal(err)
	}
	defer front.Close()
	dir := b.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := stack.WriteKubeconfig(kubeconfig, stack.Credential{Context: "one", Server: front.URL(), CA: front.CA(), Token: user.Token}); err != nil {
		b.Fatal(err)
	}
	repository := small(b)
	for b.Loop() {
		front.Forget()
		out, stats := filepath.Join(dir, fmt.Sprint("report", time.Now().UnixNano())), filepath.Join(dir, "stats.json")
		began := time.Now()
		err := execute(b, io.Discard, program, "census", repository, "--root", "one=clusters/one", "--names", "real", "--out", out, "--stats", stats,
			"--kubeconfig", kubeconfig, "--context", "one=one")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/census")
		var bytes, lists int64
		for _, r := range front.Asked() {
			bytes += r.Bytes
			if strings.Contains(r.Query, "limit=") {
				lists++
			}
		}
		b.ReportMetric(float64(len(front.Asked())), "requests")
		b.ReportMetric(float64(lists), "lists")
		b.ReportMetric(float64(bytes)/1e6, "MB")
		content, err := os.ReadFile(stats)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%s", content)
		found := 0
		for _, r := range census(out).lines(b, "ownership.jsonl") {
			if strings.HasPrefix(text(r, "namespace"), "team-") && !strings.HasPrefix(text(r, "name"), "kube-") {
				found++
			}
		}
		if found < objects {
			b.Errorf("%d of %d objects are found", found, objects)
		}
	}
}

// fill puts the objects into forty namespaces: half of them ConfigMaps, a
// quarter ServiceAccounts and a quarter Roles, as a person with kubectl does.
func fill(b *testing.B, c *stack.Cluster) {
	b.Helper()
	for i := range 40 {
		if err := c.Namespace(b.Context(), fmt.Sprintf("team-%02d", i)); err != nil {
			b.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	failed := make([]error, 8)
	for worker := range failed {
		wg.Go(func() {
			for i := worker; i < objects && failed[worker] == nil; i += len(failed) {
				path, o := "/api/v1/namespaces/team-%02d/configmaps", api.Object{"data": api.Object{"key": strings.Repeat("value ", 20)}}
				switch i % 4 {
				case 1:
					path, o = "/api/v1/namespaces/team-%02d/serviceaccounts", api.Object{}
				case 2:
					path, o = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-%02d/roles", api.Object{"rules": []any{}}
				}
				o["metadata"] = api.Object{"name": fmt.Sprintf("object-%05d", i), "labels": api.Object{"team": fmt.Sprint(i % 40)}}
				_, failed[worker] = c.Client.Create(b.Context(), fmt.Sprintf(path, i%40)+"?fieldManager=kubectl-create", o)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		b.Fatal(err)
	}
}

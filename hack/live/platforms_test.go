package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/hack/live/internal/api"
	"github.com/gitops-reach/reach/hack/live/internal/programs"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// A platform is one file of testdata/platforms.txtar.
type platform struct {
	name, server      string
	serves            []string
	flavour, platform string
	contradicts       []string
	objects           []api.Object
}

func platforms(t *testing.T) []platform {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "platforms.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var all []platform
	for _, f := range archive.Files {
		p := platform{name: strings.TrimSuffix(f.Name, ".yaml")}
		for line := range strings.Lines(string(f.Data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), ": ")
			switch {
			case !strings.HasPrefix(line, "# "):
			case key == "server":
				p.server = value
			case key == "serves":
				p.serves = strings.Split(value, ", ")
			case key == "wants":
				words := strings.Split(value, ", ")
				p.flavour, p.platform = words[0], words[1]
				for _, w := range words[2:] {
					p.contradicts = append(p.contradicts, strings.TrimPrefix(w, "!"))
				}
			}
		}
		for _, document := range strings.Split(string(f.Data), "\n---\n") {
			var o api.Object
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			p.objects = append(p.objects, o)
		}
		if p.server == "" || p.flavour == "" {
			t.Fatalf("%s does not say on what server it is, or what is wanted", f.Name)
		}
		all = append(all, p)
	}
	return all
}

// Each platform is put on a real server, which accepts it by its definitions
// and says the version that the platform's servers say; and the census says
// what it is.
func TestPlatforms(t *testing.T) {
	repository := small(t)
	eachPlatform(t, func(t *testing.T, c *stack.Cluster, p platform, kubeconfig string) {
		served(t, c, p)
		is(t, p, repository, kubeconfig)
	})
}

// served reports what of a platform the server does not have as it was put
// there.
func served(t *testing.T, c *stack.Cluster, p platform) {
	t.Helper()
	version, err := c.Client.Get(t.Context(), "/version")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := api.String(version, "gitVersion"), programs.Kubernetes+strings.TrimPrefix(p.server, "plain"); got != want {
		t.Errorf("the server says that it is %s, want %s", got, want)
	}
	for _, o := range p.objects {
		path, err := c.Client.PathOf(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		there, err := c.Client.Get(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		want := api.At(o, "status", "platformStatus", "type")
		if got := api.At(there, "status", "platformStatus", "type"); got != want {
			t.Errorf("%s: the platform is %v, want %v", path, got, want)
		}
	}
}

// eachPlatform puts each platform on a real server and does something with it;
// kubeconfig has an administrator's context one. Platforms with the same version
// of the server are put there one after the other, and those with more
// definitions come later.
func eachPlatform(t *testing.T, do func(t *testing.T, c *stack.Cluster, p platform, kubeconfig string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("real clusters take minutes: not in the short tests")
	}
	dir, err := shared.programs()
	if err != nil {
		t.Fatalf("the live clusters could not be had: %v", err)
	}
	byServer := map[string][]platform{}
	var servers []string
	for _, p := range platforms(t) {
		if byServer[p.server] == nil {
			servers = append(servers, p.server)
		}
		byServer[p.server] = append(byServer[p.server], p)
	}
	for _, server := range servers {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		c, err := stack.StartCluster(ctx, dir, "one", filepath.Join(t.TempDir(), "cluster"), strings.TrimPrefix(server, "plain"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Stop)
		user, err := c.User(ctx, "reach-admin", true)
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		if err := stack.WriteKubeconfig(kubeconfig, user); err != nil {
			t.Fatal(err)
		}
		var served []string
		for _, p := range byServer[server] {
			t.Run(p.name, func(t *testing.T) {
				for _, folder := range p.serves {
					if !slices.Contains(served, folder) {
						served = append(served, folder)
						if err := c.Apply(ctx, dir.CRDs(folder)); err != nil {
							t.Fatal(err)
						}
						if err := stack.AwaitDefinitions(ctx, c.Client); err != nil {
							t.Fatal(err)
						}
					}
				}
				put(t, c.Client, p.objects)
				do(t, c, p, kubeconfig)
			})
		}
	}
}

// put puts objects on a cluster, with their status, and takes them away when
// the test ends. A definition is served before what comes after it.
func put(t *testing.T, c *api.Client, objects []api.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.ApplyWhole(t.Context(), "platform", o); err != nil {
			t.Fatal(err)
		}
		if o["kind"] == "CustomResourceDefinition" {
			if err := stack.AwaitDefinitions(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		ctx := context.Background()
		for _, o := range slices.Backward(objects) {
			path, err := c.PathOf(ctx, o)
			if err == nil {
				err = c.Delete(ctx, path)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
}

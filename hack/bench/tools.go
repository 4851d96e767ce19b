package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomizationRoots are the directories with a kustomization file that is not
// a component's.
func kustomizationRoots(tree string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(tree, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch d.Name() {
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			b, err := os.ReadFile(p)
			if err != nil {
				return nil // a link that leads nowhere
			}
			var k struct{ Kind string }
			if yaml.Unmarshal(b, &k) == nil && k.Kind != "Component" {
				out = append(out, filepath.Dir(p))
			}
		}
		return nil
	})
	return out, err
}

// build builds every root and returns how many fail: among them those with
// remote bases, because nothing is fetched here (without a git to start and
// with a proxy that nobody answers at, krusty's attempts end at once).
func build(roots []string) (failing int) {
	// Upstream warns of deprecated fields on standard error.
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	os.Stderr, _ = os.Open(os.DevNull)
	for k, v := range map[string]string{"PATH": "", "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"} {
		old, had := os.LookupEnv(k)
		os.Setenv(k, v)
		defer func() {
			if had {
				os.Setenv(k, old)
			} else {
				os.Unsetenv(k)
			}
		}()
	}
	opts := krusty.MakeDefaultOptions()
	opts.LoadRestrictions = types.LoadRestrictionsNone
	for _, r := range roots {
		m, err := krusty.MakeKustomizer(opts).Run(filesys.MakeFsOnDisk(), r)
		if err == nil {
			_, err = m.AsYaml()
		}
		if err != nil {
			failing++
		}
	}
	return failing
}

// oneRoot has this program build the one root that follows, and nothing else.
const oneRoot = "-build-one-root"

// processes are the tools that are started for each root, with the command for
// one.
func (o *options) processes() map[string]func(root string) *exec.Cmd {
	out := map[string]func(string) *exec.Cmd{}
	if self, err := os.Executable(); err == nil && o.has("kustomize") {
		out["kustomize"] = func(root string) *exec.Cmd { return exec.Command(self, oneRoot, root) }
	}
	if o.has("kubectl") {
		out["kubectl"] = func(root string) *exec.Cmd {
			return exec.Command(o.kubectl, "kustomize", "--load-restrictor", "LoadRestrictionsNone", root)
		}
	}
	return out
}

// each runs the command for every root; roots that fail count like others.
func each(roots []string, command func(string) *exec.Cmd) error {
	for _, root := range roots {
		cmd := command(root)
		// As for krusty, so that nothing is fetched.
		cmd.Env = []string{"PATH=", "HOME=" + os.TempDir(), "HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9"}
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			return err
		}
	}
	return nil
}

// flux has hack/agreement measure Flux's own builds: it is a module of its own,
// with Flux in it.
func (r *result) flux(repo string, n int) ([]cost, error) {
	repo, err := filepath.Abs(repo)
	if err != nil {
		return nil, err
	}
	args := append([]string{"run", ".", "-time", repo, "-n", strconv.Itoa(n), "--"}, roots[filepath.Base(repo)]...)
	cmd := exec.Command("go", args...)
	cmd.Dir = "hack/agreement"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("hack/agreement -time: %w: %s", err, stderr.String())
	}
	var t struct {
		Kustomizations, Failing int
		Wall, CPU               []int64
	}
	if err := json.Unmarshal(out, &t); err != nil {
		return nil, fmt.Errorf("hack/agreement -time: %w", err)
	}
	r.kustomizations, r.fluxFailing = t.Kustomizations, t.Failing
	var costs []cost
	for i := range t.Wall {
		costs = append(costs, cost{time.Duration(t.Wall[i]) * time.Microsecond, time.Duration(t.CPU[i]) * time.Microsecond})
	}
	return costs, nil
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/hack/dump"
)

// bench holds what the comparison of all repositories shares: a directory for
// checkouts and the analyser's side.
type bench struct {
	root, dir, git string
	log            io.Writer
	analyser       *exec.Cmd
	ask            *json.Encoder
	answer         *json.Decoder
}

// newBench builds and starts the analyser's side.
func newBench(root string, log io.Writer) (*bench, error) {
	dir, err := os.MkdirTemp("", "agreement-")
	if err != nil {
		return nil, err
	}
	// securefs wants a root without symbolic links.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	b := &bench{root: root, dir: dir, log: log}
	if b.git, err = exec.LookPath("git"); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "dumpbuilds")
	build := exec.Command("go", "build", "-o", program, "./analyser/testdata/dumpbuilds")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building dumpbuilds: %w\n%s", err, out)
	}
	b.analyser = exec.Command(program)
	b.analyser.Stderr = log
	in, err := b.analyser.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := b.analyser.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.ask, b.answer = json.NewEncoder(in), json.NewDecoder(out)
	return b, b.analyser.Start()
}

func (b *bench) close() {
	_ = b.analyser.Process.Kill()
	_ = b.analyser.Wait()
	_ = os.RemoveAll(b.dir)
}

// builds asks the analyser.
func (b *bench) builds(req *dump.Request) (*dump.Reply, error) {
	if err := b.ask.Encode(req); err != nil {
		return nil, fmt.Errorf("the analyser is gone: %w", err)
	}
	var r dump.Reply
	if err := b.answer.Decode(&r); err != nil {
		return nil, fmt.Errorf("the analyser is gone: %w", err)
	}
	return &r, nil
}

// subject is a repository to compare on.
type subject struct {
	name string
	// repository is a git repository with one commit.
	repository string
	request    dump.Request
}

// declaredRoots are the roots that the repositories of the corpus do not
// declare themselves, from the corpus's own table.
var declaredRoots = map[string][]dump.Root{
	"fluxcd__flux2-hub-spoke-example":       {{Cluster: "hub", Path: "hub"}},
	"fluxcd__flux2-kustomize-helm-example":  {{Cluster: "staging", Path: "clusters/staging"}, {Cluster: "production", Path: "clusters/production"}},
	"fluxcd__flux2-multi-tenancy":           {{Cluster: "staging", Path: "clusters/staging"}, {Cluster: "production", Path: "clusters/production"}},
	"fluxcd__flux2-monitoring-example":      {{Cluster: "test", Path: "clusters/test"}},
	"Azure__gitops-flux2-kustomize-helm-mt": {{Cluster: "infra", Path: "infrastructure"}, {Cluster: "apps", Path: "apps/staging"}},
	"giantswarm__gitops-template":           {{Cluster: "MC_NAME", Path: "management-clusters/MC_NAME"}},
	"aws-samples__eks-multi-cluster-gitops": {{Cluster: "mgmt", Path: "repos/gitops-system/clusters/mgmt"}},
	"bjw-s-labs__home-ops":                  {{Cluster: "main", Path: "kubernetes/flux/cluster"}},
	"Smana__cloud-native-ref":               {{Cluster: "mycluster-0", Path: "clusters/mycluster-0"}},
	"anish-mudaraddi__demo-fluxcd-config":   nil,
	"mickvdv__gitops-kro-aso-platform-repo": nil,
	"olga-mir__k8s-multi-cluster":           nil,
}

// subjects makes git repositories of the corpus and of the golden censuses.
func (b *bench) subjects(corpus string, pattern *regexp.Regexp) ([]*subject, error) {
	var out []*subject
	if names := directories(corpus); len(names) > 0 {
		names = slices.DeleteFunc(names, func(n string) bool { return !pattern.MatchString(n) })
		repositories := filepath.Join(b.dir, "corpus")
		if len(names) > 0 {
			cmd := exec.Command(filepath.Join(corpus, "make-repos"), append([]string{repositories}, names...)...)
			if o, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("make-repos: %w\n%s", err, o)
			}
		}
		for _, n := range names {
			s := &subject{name: n, repository: filepath.Join(repositories, n)}
			s.request.Roots = declaredRoots[n]
			out = append(out, s)
		}
	} else {
		fmt.Fprintf(b.log, "agreement: SKIPPED: the corpus is not at %s; only the golden censuses are compared\n", corpus)
	}
	archives, err := filepath.Glob(filepath.Join(b.root, "testdata/census/*.txtar"))
	if err != nil {
		return nil, err
	}
	for _, path := range archives {
		if name := strings.TrimSuffix(filepath.Base(path), ".txtar"); pattern.MatchString(name) {
			s, err := b.golden(name, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			out = append(out, s)
		}
	}
	for _, s := range out {
		s.request.Repository = s.repository
	}
	return out, nil
}

func directories(dir string) []string {
	es, _ := os.ReadDir(dir)
	var out []string
	for _, e := range es {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// golden makes a repository of a golden census and reads what a user says
// about it.
func (b *bench) golden(name, path string) (*subject, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	s := &subject{name: name, repository: filepath.Join(b.dir, "golden", name)}
	if err := os.MkdirAll(s.repository, 0o755); err != nil {
		return nil, err
	}
	for _, f := range a.Files {
		switch p, inside := strings.CutPrefix(f.Name, "repo/"); {
		case inside:
			if err := writeFile(filepath.Join(s.repository, p), f.Data); err != nil {
				return nil, err
			}
		case f.Name == "flags":
			if err := s.flags(strings.Fields(string(f.Data))); err != nil {
				return nil, err
			}
		case f.Name == "reach.yaml":
			if err := s.configure(f.Data); err != nil {
				return nil, err
			}
		}
	}
	return s, b.commit(s.repository)
}

func writeFile(p string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p, data, 0o644)
}

func (b *bench) commit(dir string) error {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f"}, {"commit", "-q", "--allow-empty", "-m", "case"}} {
		if _, err := b.runGit(dir, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) runGit(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command(b.git, append([]string{"-C", dir, "-c", "core.autocrlf=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=reach", "GIT_AUTHOR_EMAIL=reach@example.com", "GIT_AUTHOR_DATE=2026-11-01T00:00:00Z",
		"GIT_COMMITTER_NAME=reach", "GIT_COMMITTER_EMAIL=reach@example.com", "GIT_COMMITTER_DATE=2026-11-01T00:00:00Z")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %v: %w\n%s", args, err, stderr.String())
	}
	return out, nil
}

// flags reads the flags of a golden census that change what is built.
func (s *subject) flags(words []string) error {
	for i := 0; i < len(words); i++ {
		value, ok := strings.CutPrefix(words[i], "--root=")
		if words[i] == "--root" && i+1 < len(words) {
			i++
			value, ok = words[i], true
		}
		if !ok {
			return fmt.Errorf("a flag that is not known here: %s", words[i])
		}
		cluster, rest, _ := strings.Cut(value, "=")
		path, object, _ := strings.Cut(rest, "@")
		namespace, name, _ := strings.Cut(object, "/")
		s.request.Roots = append(s.request.Roots, dump.Root{Cluster: cluster, Path: path, Namespace: namespace, Name: name})
	}
	return nil
}

// configure reads the parts of reach.yaml that change what is built.
func (s *subject) configure(text []byte) error {
	type reference struct{ Namespace, Name, Key string }
	var c struct {
		Roots    []dump.Root
		Clusters []dump.Cluster
		Sources  []dump.Source
		Spokes   []struct {
			Cluster, ControllerCluster string
			SecretRef, ConfigMapRef    *reference
		}
		Aliases, Limits map[string]any
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return err
	}
	s.request.Roots = append(s.request.Roots, c.Roots...)
	s.request.Clusters, s.request.Sources = c.Clusters, c.Sources
	for _, x := range c.Spokes {
		for kind, r := range map[string]*reference{"Secret": x.SecretRef, "ConfigMap": x.ConfigMapRef} {
			if r != nil {
				s.request.Spokes = append(s.request.Spokes, dump.Spoke{
					Controller: x.ControllerCluster, Namespace: r.Namespace, Kind: kind, Reference: r.Name, Key: r.Key, Cluster: x.Cluster,
				})
			}
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

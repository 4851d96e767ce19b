package census_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/coverage"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

const corpusDir = "../../../../shared/corpus"

// corpus is a repository of the corpus as a snapshot; the test is skipped
// where the corpus is not there.
func corpus(t testing.TB, name string) *snapshot.Snapshot {
	t.Helper()
	root := filepath.Join(corpusDir, name)
	if _, err := os.Stat(root); err != nil {
		t.Skip("the corpus is not beside the project: ", err)
	}
	var entries []snapshot.Entry
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		entries = append(entries, snapshot.Entry{Path: filepath.ToSlash(rel), Blob: p})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if special, err := os.ReadFile(root + ".special"); err == nil {
		for line := range strings.Lines(string(special)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			mode := map[string]snapshot.Mode{"symlink": snapshot.Symlink, "submodule": snapshot.Submodule}[f[0]]
			entries = append(entries, snapshot.Entry{Path: f[1], Mode: mode, Blob: f[2]})
		}
	}
	s, err := snapshot.New(entries, func(e snapshot.Entry) ([]byte, error) { return os.ReadFile(e.Blob) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func corpusNames(t testing.TB) []string {
	t.Helper()
	es, err := os.ReadDir(corpusDir)
	if err != nil {
		t.Skip("the corpus is not beside the project: ", err)
	}
	var out []string
	for _, e := range es {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

func take(t testing.TB, s *snapshot.Snapshot, roots ...placement.Root) *census.Census {
	t.Helper()
	c, err := census.Take(t.Context(), s, census.Request{Roots: roots, Engines: []controller.Engine{flux.Engine()}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// declaredRoots are the roots that the repositories of the corpus do not
// declare themselves, from the corpus's own table.
var declaredRoots = map[string][]placement.Root{
	"fluxcd__flux2-hub-spoke-example":       {{Cluster: "hub", Path: "hub"}},
	"fluxcd__flux2-kustomize-helm-example":  {{Cluster: "staging", Path: "clusters/staging"}, {Cluster: "production", Path: "clusters/production"}},
	"fluxcd__flux2-multi-tenancy":           {{Cluster: "staging", Path: "clusters/staging"}, {Cluster: "production", Path: "clusters/production"}},
	"fluxcd__flux2-monitoring-example":      {{Cluster: "test", Path: "clusters/test"}},
	"Azure__gitops-flux2-kustomize-helm-mt": {{Cluster: "infra", Path: "infrastructure"}, {Cluster: "apps", Path: "apps/staging"}},
	"giantswarm__gitops-template":           {{Cluster: "MC_NAME", Path: "management-clusters/MC_NAME"}},
	"aws-samples__eks-multi-cluster-gitops": {{Cluster: "mgmt", Path: "repos/gitops-system/clusters/mgmt"}},
	"bjw-s-labs__home-ops":                  {{Cluster: "main", Path: "kubernetes/flux/cluster"}},
	"Smana__cloud-native-ref":               {{Cluster: "mycluster-0", Path: "clusters/mycluster-0"}},
}

// TestCorpusSums demands of every real repository what holds for any: the
// census ends, every file has one state, and all sums agree.
func TestCorpusSums(t *testing.T) {
	for _, name := range corpusNames(t) {
		t.Run(name, func(t *testing.T) {
			checkSums(t, take(t, corpus(t, name)))
			checkSums(t, take(t, corpus(t, name), declaredRoots[name]...))
		})
	}
}

// checkSums demands that the parts of a census agree with each other.
func checkSums(t *testing.T, c *census.Census) {
	t.Helper()
	placed := map[string]int{}
	for _, p := range c.Placements {
		if p.Class == placement.Uncovered {
			continue
		}
		placed[p.Path]++
		if len(p.Trace(c.Positions)) < 3 {
			t.Errorf("%s: a placement on %s with the trace %v", p.Path, p.Cluster, p.Trace(c.Positions))
		}
		if p.Class == placement.Unresolved && p.Reason == "" {
			t.Errorf("%s: unresolved without a reason", p.Path)
		}
		if p.Role == "" {
			t.Errorf("%s: no role", p.Path)
		}
	}
	states := map[coverage.Analysis]int{}
	paths := map[string]bool{}
	for _, f := range c.Files {
		if paths[f.Path] {
			t.Errorf("%s is listed twice", f.Path)
		}
		paths[f.Path] = true
		states[f.Analysis]++
		if f.Placements != placed[f.Path] {
			t.Errorf("%s: %d placements counted, %d listed", f.Path, f.Placements, placed[f.Path])
		}
		if (f.Analysis == coverage.Uncovered) != (f.Placements == 0) {
			t.Errorf("%s: %s with %d placements", f.Path, f.Analysis, f.Placements)
		}
		delete(placed, f.Path)
	}
	for p := range placed {
		t.Errorf("%s is placed and not among the files", p)
	}
	var rows, analysable, unresolved, uncovered, seen int
	for _, r := range c.Rows {
		if r.Files != r.Analysable+r.SeenNotAnalysed+r.Unresolved+r.Uncovered {
			t.Errorf("row %q does not add up: %+v", r.Root, r)
		}
		rows, analysable, unresolved = rows+r.Files, analysable+r.Analysable, unresolved+r.Unresolved
		uncovered, seen = uncovered+r.Uncovered, seen+r.SeenNotAnalysed
	}
	if rows != len(c.Files) || analysable != states[coverage.Analysable] || unresolved != states[coverage.Unresolved] ||
		uncovered != states[coverage.Uncovered] || seen != states[coverage.SeenNotAnalysed] {
		t.Errorf("the rows add up to %d files (%d %d %d %d), the files are %d: %v", rows, analysable, unresolved, uncovered, seen, len(c.Files), states)
	}
	rest := 0
	for _, n := range c.NotConsidered {
		rest += n
	}
	if rest+len(c.Files) != c.FilesInCommit {
		t.Errorf("%d files considered and %d not, of %d", len(c.Files), rest, c.FilesInCommit)
	}
	found := map[string]int{}
	for _, f := range c.Findings {
		found[f.Rule]++
	}
	for _, r := range c.Rules {
		if found[r.Rule.Name] != r.Count {
			t.Errorf("%s: %d findings counted, %d listed", r.Rule.Name, r.Count, found[r.Rule.Name])
		}
	}
}

// TestHubSpokeExample checks fluxcd's own example against what its README and
// files say.
func TestHubSpokeExample(t *testing.T) {
	c := take(t, corpus(t, "fluxcd__flux2-hub-spoke-example"), placement.Root{Cluster: "hub", Path: "hub", DeclaredBy: "flag"})
	checkSums(t, c)

	var below []string
	for _, a := range c.Applied {
		if a.Root == nil {
			below = append(below, a.Controller())
			if a.State != placement.Resolved {
				t.Errorf("%s is %s: %s", a.Controller(), a.State, a.Detail)
			}
		}
	}
	slices.Sort(below)
	want := []string{
		"production/apps", "production/infra-configs", "production/infra-controllers", "production/tenants",
		"staging/apps", "staging/infra-configs", "staging/infra-controllers", "staging/tenants",
	}
	if !slices.Equal(below, want) {
		t.Errorf("Kustomizations below the root: %v, want %v", below, want)
	}
	targets := map[string]string{}
	for _, a := range c.Applied {
		if a.Sync.KubeConfig != nil {
			targets[a.Controller()] = string(a.Target)
		}
	}
	wantTargets := map[string]string{
		"production/infra-configs": "hub/production/cluster-kubeconfig", "production/tenants": "hub/production/cluster-kubeconfig",
		"staging/infra-configs": "hub/staging/cluster-kubeconfig", "staging/tenants": "hub/staging/cluster-kubeconfig",
	}
	for k, v := range wantTargets {
		if targets[k] != v {
			t.Errorf("%s applies to %q, want %q", k, targets[k], v)
		}
	}
	if len(targets) != len(wantTargets) {
		t.Errorf("Kustomizations with a kubeConfig: %v", targets)
	}
	releases := map[string]int{}
	for _, a := range c.Applied {
		for _, r := range a.Releases {
			if r.Class == placement.RemoteHubRender {
				releases[r.Release.Object.Name+" on "+string(r.Target)]++
			}
		}
	}
	for _, name := range []string{"podinfo", "cert-manager", "ingress-nginx"} {
		for _, spoke := range []string{"staging", "production"} {
			if k := name + " on hub/" + spoke + "/cluster-kubeconfig"; releases[k] != 1 {
				t.Errorf("%s: %d releases, want 1 (all: %v)", k, releases[k], releases)
			}
		}
	}
	podinfo := map[placement.Class]int{}
	for _, p := range c.Placements {
		if p.Path == "deploy/apps/podinfo.yaml" {
			podinfo[p.Class]++
		}
	}
	if podinfo[placement.RemoteHubRender] != 2 || podinfo[placement.Local] != 2 || len(podinfo) != 2 {
		t.Errorf("deploy/apps/podinfo.yaml: %v", podinfo)
	}
	for _, f := range c.Files {
		if strings.HasSuffix(f.Path, "/podinfo-values.yaml") && f.Role != "patch" {
			t.Errorf("%s is %s", f.Path, f.Role)
		}
	}
	for _, f := range c.Findings {
		if f.Rule == "reach.flux.double_owner" {
			t.Errorf("two owners: %s", f.Message)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// cost is what one run took: as a person waits, and of all cores together.
type cost struct{ wall, cpu time.Duration }

// cpuTime is that of this process and of the processes that it has waited for.
func cpuTime() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

// result is what was measured on one repository.
type result struct {
	name string
	// fleet is what was generated; nil for a repository that was named.
	fleet               *generated
	manifests           int
	bytes, pipe         int64
	census              cost
	analyserMB, reachMB int64
	// others are medians by name: git, parse and the tools.
	others map[string]cost
	// roots are directories that kustomize builds, kustomizations those of
	// Flux, each with how many of these builds fail.
	roots, failing              int
	kustomizations, fluxFailing int
	neighbours                  neighbours
}

func (o *options) measure(repo string) (result, error) {
	r := result{name: filepath.Base(repo), others: map[string]cost{}}
	work, err := os.MkdirTemp("", "reach-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(work)
	var layers []string
	if o.has("krusty") || o.has("kustomize") || o.has("kubectl") {
		tree := filepath.Join(work, "tree")
		if err := checkout(repo, tree); err != nil {
			return r, err
		}
		if layers, err = kustomizationRoots(tree); err != nil {
			return r, err
		}
		r.roots = len(layers)
	}
	costs := map[string][]cost{}
	clock := func(name string, f func() error) error {
		start, used := time.Now(), cpuTime()
		err := f()
		costs[name] = append(costs[name], cost{time.Since(start), cpuTime() - used})
		return err
	}
	for i := range o.n {
		out := filepath.Join(work, fmt.Sprintf("report-%d", i))
		stats := filepath.Join(work, "stats.json")
		if err := clock("census", func() error { return census(o.reach, repo, out, stats) }); err != nil {
			return r, err
		}
		if err := r.memory(stats); err != nil {
			return r, err
		}
		if err := os.RemoveAll(out); err != nil {
			return r, err
		}
		var blobs [][]byte
		if err := clock("git", func() (err error) { blobs, err = readAll(repo); return err }); err != nil {
			return r, err
		}
		r.manifests, r.bytes = len(blobs), 0
		for _, b := range blobs {
			r.bytes += int64(len(b))
		}
		blobs = nil
		if err := clock("parse", func() error {
			blobs, err := readAll(repo)
			if err != nil {
				return err
			}
			return parseAll(blobs)
		}); err != nil {
			return r, err
		}
		if o.has("krusty") {
			if err := clock("krusty", func() error { r.failing = build(layers); return nil }); err != nil {
				return r, err
			}
		}
		for tool, command := range o.processes() {
			some := spread(layers, o.sample)
			if err := clock(tool, func() error { return each(some, command) }); err != nil {
				return r, err
			}
			last := &costs[tool][i]
			last.wall, last.cpu = scaled(last.wall, len(some), len(layers)), scaled(last.cpu, len(some), len(layers))
		}
	}
	r.census = median(costs["census"])
	delete(costs, "census")
	if o.has("flux") {
		if costs["flux"], err = r.flux(repo, o.n); err != nil {
			return r, err
		}
	}
	for name, list := range costs {
		r.others[name] = median(list)
	}
	if o.next {
		r.neighbours, err = o.neighbours(repo, work)
	}
	return r, err
}

// spread returns at most n of the list, evenly from all of it.
func spread(list []string, n int) []string {
	if len(list) <= n || n < 1 {
		return list
	}
	out := make([]string, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// scaled is the time of n for a time of some.
func scaled(d time.Duration, some, n int) time.Duration {
	if some == 0 {
		return d
	}
	return d * time.Duration(n) / time.Duration(some)
}

// roots are the flags of repositories that do not say where clusters start.
var roots = map[string][]string{
	"fluxcd__flux2-hub-spoke-example":       {"--root", "hub=hub"},
	"fluxcd__flux2-kustomize-helm-example":  {"--root", "staging=clusters/staging", "--root", "production=clusters/production"},
	"fluxcd__flux2-multi-tenancy":           {"--root", "staging=clusters/staging", "--root", "production=clusters/production"},
	"fluxcd__flux2-monitoring-example":      {"--root", "test=clusters/test"},
	"Azure__gitops-flux2-kustomize-helm-mt": {"--root", "infra=infrastructure", "--root", "apps=apps/staging"},
	"giantswarm__gitops-template":           {"--root", "MC_NAME=management-clusters/MC_NAME"},
	"aws-samples__eks-multi-cluster-gitops": {"--root", "mgmt=repos/gitops-system/clusters/mgmt"},
	"bjw-s-labs__home-ops":                  {"--root", "main=kubernetes/flux/cluster"},
	"Smana__cloud-native-ref":               {"--root", "mycluster-0=clusters/mycluster-0"},
}

// median is that of each figure by itself, zero for none.
func median(costs []cost) cost {
	if len(costs) == 0 {
		return cost{}
	}
	var wall, cpu []time.Duration
	for _, c := range costs {
		wall, cpu = append(wall, c.wall), append(cpu, c.cpu)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return cost{wall[len(wall)/2], cpu[len(cpu)/2]}
}

func census(bin, repo, out, stats string) error {
	args := append([]string{"census", repo, "--names", "real", "--out", out, "--stats", stats}, roots[filepath.Base(repo)]...)
	cmd := exec.Command(bin, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, stderr.String())
	}
	return nil
}

// memory reads what `reach census --stats` wrote.
func (r *result) memory(stats string) error {
	b, err := os.ReadFile(stats)
	if err != nil {
		return err
	}
	var s struct {
		AnalyserPeak int64 `json:"analyser_peak_bytes"`
		ReachPeak    int64 `json:"reach_peak_bytes"`
		Pipe         int64 `json:"pipe_bytes"`
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	r.pipe = s.Pipe
	r.analyserMB, r.reachMB = max(r.analyserMB, s.AnalyserPeak>>20), max(r.reachMB, s.ReachPeak>>20)
	return nil
}

// checkout writes the tree of HEAD to a folder, for krusty.
func checkout(repo, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive := exec.Command("git", "-C", repo, "archive", "HEAD")
	untar := exec.Command("tar", "-x", "-C", dir)
	var err error
	if untar.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := untar.Start(); err != nil {
		return err
	}
	if err := archive.Run(); err != nil {
		return err
	}
	return untar.Wait()
}

// Command bench measures a census against what it should be compared with, in
// one run, interleaved, so that other load on the machine hits all alike:
//
//	census  `reach census` as a user runs it, process start to report on disk
//	git     `git ls-tree` and `git cat-file --batch` over the same blobs
//	parse   the naive program: the same blobs, every document parsed with
//	        go.yaml.in/yaml/v3 on all cores
//	krusty  kustomize in process over every kustomization root of the same tree,
//	        written out as YAML
//
// Repositories of the corpus that declare no root themselves get the one that
// the corpus's own table names. It prints medians, ratios to the census, the peak
// memory of both processes and what went over the pipe. Two tables come out: of
// time as a person waits, and of CPU time of all processes, which other load on
// the machine hardly touches.
//
// -fleets also measures generated fleets (hack/fleet), a list such as
// 1000x10,10000x100 of files and clusters; run it from the top of the project.
// Large ones take long, above all in krusty: leave it out with -krusty=false.
// Usage:
//
//	go run ./hack/bench [-n RUNS] [-reach bin/reach] [-fleets LIST] [-krusty=false] [REPOSITORY...]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	n := flags.Int("n", 5, "runs of each, interleaved")
	reach := flags.String("reach", "bin/reach", "the reach binary")
	fleets := flags.String("fleets", "", "generated fleets to measure as well, `FILESxCLUSTERS,...`")
	withKrusty := flags.Bool("krusty", true, "measure krusty as well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	bin, err := filepath.Abs(*reach)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "reach-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	repositories := flags.Args()
	if *fleets != "" {
		made, err := generate(filepath.Join(work, "fleets"), *fleets)
		if err != nil {
			return err
		}
		repositories = append(repositories, made...)
	}
	if len(repositories) == 0 {
		return fmt.Errorf("name at least one repository, or -fleets")
	}
	var results []result
	for _, repo := range repositories {
		r, err := measure(bin, repo, *n, *withKrusty)
		if err != nil {
			return fmt.Errorf("%s: %w", repo, err)
		}
		r.name = filepath.Base(repo)
		results = append(results, r)
	}
	for _, unit := range []struct {
		name string
		of   func(cost) time.Duration
	}{
		{"ms", func(c cost) time.Duration { return c.wall }},
		{"CPU ms", func(c cost) time.Duration { return c.cpu }},
	} {
		t := table.NewWriter()
		t.SetOutputMirror(out)
		t.AppendHeader(table.Row{
			"repository", "manifests", "MB", "census " + unit.name, "git " + unit.name, "parse " + unit.name, "krusty " + unit.name,
			"roots (failing)", "git/census", "parse/census", "krusty/census", "analyser MB", "reach MB", "pipe MB",
		})
		for _, r := range results {
			ms := func(c cost) string { return fmt.Sprintf("%.0f", float64(unit.of(c).Microseconds())/1000) }
			ratio := func(c cost) string { return fmt.Sprintf("%.2f", float64(unit.of(c))/float64(unit.of(r.census))) }
			t.AppendRow(table.Row{
				r.name, r.manifests, megabytes(r.bytes), ms(r.census), ms(r.git), ms(r.parse), ms(r.krusty),
				fmt.Sprintf("%d (%d)", r.roots, r.failing), ratio(r.git), ratio(r.parse), ratio(r.krusty),
				r.analyserMB, r.reachMB, megabytes(r.pipe),
			})
		}
		t.Render()
	}
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.2f", float64(n)/1e6) }

// generate makes fleets and returns their repositories.
func generate(dir, list string) ([]string, error) {
	var out []string
	for size := range strings.SplitSeq(list, ",") {
		files, clusters, ok := strings.Cut(size, "x")
		if !ok {
			return nil, fmt.Errorf("-fleets: %q is not FILESxCLUSTERS", size)
		}
		repo := filepath.Join(dir, size)
		if err := os.MkdirAll(repo, 0o755); err != nil {
			return nil, err
		}
		b, err := exec.Command("go", "run", "./hack/fleet", "-files", files, "-clusters", clusters, repo).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("making a fleet: %w: %s", err, b)
		}
		out = append(out, repo)
	}
	return out, nil
}

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

type result struct {
	name                       string
	manifests, roots, failing  int
	bytes, pipe                int64
	census, git, parse, krusty cost
	analyserMB, reachMB        int64
}

func measure(bin, repo string, n int, withKrusty bool) (result, error) {
	var r result
	work, err := os.MkdirTemp("", "reach-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := checkout(repo, tree); err != nil {
		return r, err
	}
	layers, err := kustomizationRoots(tree)
	if err != nil {
		return r, err
	}
	r.roots = len(layers)
	var costs [4][]cost
	clock := func(i int, f func() error) error {
		start, used := time.Now(), cpuTime()
		err := f()
		costs[i] = append(costs[i], cost{time.Since(start), cpuTime() - used})
		return err
	}
	for i := range n {
		out := filepath.Join(work, fmt.Sprintf("report-%d", i))
		stats := filepath.Join(work, "stats.json")
		if err := clock(0, func() error { return census(bin, repo, out, stats) }); err != nil {
			return r, err
		}
		if err := r.memory(stats); err != nil {
			return r, err
		}
		var blobs [][]byte
		if err := clock(1, func() (err error) { blobs, err = readAll(repo); return err }); err != nil {
			return r, err
		}
		r.manifests, r.bytes = len(blobs), 0
		for _, b := range blobs {
			r.bytes += int64(len(b))
		}
		if err := clock(2, func() error {
			blobs, err := readAll(repo)
			if err != nil {
				return err
			}
			return parseAll(blobs)
		}); err != nil {
			return r, err
		}
		if !withKrusty {
			continue
		}
		if err := clock(3, func() error { r.failing = build(layers); return nil }); err != nil {
			return r, err
		}
	}
	r.census, r.git, r.parse, r.krusty = median(costs[0]), median(costs[1]), median(costs[2]), median(costs[3])
	return r, nil
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

// readAll reads every manifest blob of HEAD with git itself.
func readAll(repo string) ([][]byte, error) {
	list, err := exec.Command("git", "-C", repo, "ls-tree", "-r", "-z", "HEAD").Output()
	if err != nil {
		return nil, err
	}
	var ids bytes.Buffer
	for entry := range strings.SplitSeq(string(list), "\x00") {
		meta, path, ok := strings.Cut(entry, "\t")
		f := strings.Fields(meta)
		if ok && len(f) == 3 && strings.HasPrefix(f[0], "100") && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")) {
			ids.WriteString(f[2] + "\n")
		}
	}
	cmd := exec.Command("git", "-C", repo, "cat-file", "--batch")
	cmd.Stdin = &ids
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var blobs [][]byte
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var id, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("git cat-file: %q: %w", head, err)
		}
		blobs, out = append(blobs, rest[:size]), rest[size+1:]
	}
	return blobs, nil
}

// parseAll parses every document on all cores and keeps nothing.
func parseAll(blobs [][]byte) error {
	g, _ := errgroup.WithContext(context.Background())
	g.SetLimit(-1)
	work := make(chan []byte)
	for range 2 {
		g.Go(func() error {
			for b := range work {
				d := yaml.NewDecoder(bytes.NewReader(b))
				for {
					var n yaml.Node
					if err := d.Decode(&n); err != nil {
						break // the end, or a template: the naive program goes on
					}
				}
			}
			return nil
		})
	}
	for _, b := range blobs {
		work <- b
	}
	close(work)
	return g.Wait()
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

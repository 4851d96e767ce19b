package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// changedFiles are how many files the neighbouring commits change.
const changedFiles = 10

// neighbours are what one analyser takes for a first census, and for one of a commit
// that changes ten files: of all parts of the repository, or beside each other. From
// the request to the last message of the answer.
type neighbours struct{ first, spread, together cost }

// neighbours measures censuses of commits beside HEAD, in a clone that borrows from
// the repository.
func (o *options) neighbours(repo, work string) (neighbours, error) {
	clone := filepath.Join(work, "neighbours")
	if err := exec.Command("git", "clone", "-q", "--bare", "--shared", repo, clone).Run(); err != nil {
		return neighbours{}, fmt.Errorf("cloning: %w", err)
	}
	defer os.RemoveAll(clone)
	files, err := manifests(clone)
	if err != nil {
		return neighbours{}, err
	}
	from := len(files) / 3
	spread, err := neighbour(clone, "spread", spread(files, changedFiles))
	if err != nil {
		return neighbours{}, err
	}
	together, err := neighbour(clone, "together", files[from:min(from+changedFiles, len(files))])
	if err != nil {
		return neighbours{}, err
	}
	costs := map[string][]cost{}
	for range o.n {
		err := o.conversation(clone, func(take func(revision string) (cost, error)) error {
			for _, revision := range []string{"HEAD", spread, "HEAD", together} {
				c, err := take(revision)
				if err != nil {
					return err
				}
				if revision != "HEAD" || len(costs["HEAD"]) < len(costs[together])+1 {
					costs[revision] = append(costs[revision], c)
				}
			}
			return nil
		}, roots[filepath.Base(repo)])
		if err != nil {
			return neighbours{}, err
		}
	}
	return neighbours{median(costs["HEAD"]), median(costs[spread]), median(costs[together])}, nil
}

// manifests are the files of HEAD that a census reads, but for kustomization files, in
// the order of their paths.
func manifests(repo string) ([]string, error) {
	b, err := exec.Command("git", "-C", repo, "ls-tree", "-r", "-z", "--name-only", "HEAD").Output()
	if err != nil {
		return nil, err
	}
	var out []string
	for f := range strings.SplitSeq(string(b), "\x00") {
		if ext := path.Ext(f); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(path.Base(f), "kustomization.") {
			out = append(out, f)
		}
	}
	return out, nil
}

// neighbour commits HEAD with a line more at the end of some files, and returns the
// commit. There is no work tree.
func neighbour(repo, name string, files []string) (string, error) {
	git := func(in []byte, args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-C", repo}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(repo, name+".index"),
			"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@reach.example", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@reach.example")
		cmd.Stdin = bytes.NewReader(in)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, stderr.String())
		}
		return string(out), nil
	}
	if _, err := git(nil, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	for _, f := range files {
		content, err := git(nil, "cat-file", "blob", "HEAD:"+f)
		if err != nil {
			return "", err
		}
		id, err := git([]byte(content+"\n# changed\n"), "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		if _, err := git(nil, "update-index", "--cacheinfo", "100644,"+strings.TrimSpace(id)+","+f); err != nil {
			return "", err
		}
	}
	tree, err := git(nil, "write-tree")
	if err != nil {
		return "", err
	}
	id, err := git([]byte(name+"\n"), "commit-tree", strings.TrimSpace(tree), "-p", "HEAD")
	return strings.TrimSpace(id), err
}

// conversation starts an analyser and hands out a function that takes a census of a
// revision and says what it cost; of the CPU time only that of this process.
func (o *options) conversation(repo string, talk func(take func(string) (cost, error)) error, flags []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(o.reach), "reach-analyser"), repo)
	cmd.Env, cmd.Stderr = []string{}, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { stdin.Close(); _ = cmd.Wait() }()
	conn, err := grpc.NewClient("passthrough:///analyser", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return pipes{stdout, stdin}, nil }))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := reachv1.NewAnalyserServiceClient(conn)
	hello := &reachv1.HelloRequest{ProtocolVersions: []uint32{reachv1.ProtocolVersion}, Client: "bench"}
	if _, err := client.Hello(ctx, hello); err != nil {
		return err
	}
	request := &reachv1.CensusRequest{NoProgress: true, Remember: true}
	for _, f := range flags {
		if on, dir, ok := strings.Cut(f, "="); ok {
			request.Roots = append(request.Roots, &reachv1.Root{Cluster: on, Path: dir, DeclaredBy: "flag"})
		}
	}
	return talk(func(revision string) (cost, error) {
		request.Revision = revision
		start, used := time.Now(), cpuTime()
		stream, err := client.Census(ctx, request)
		if err != nil {
			return cost{}, err
		}
		for complete := false; ; {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) && complete {
				return cost{time.Since(start), cpuTime() - used}, nil
			}
			if err != nil {
				return cost{}, err
			}
			complete = m.GetSummary() != nil
		}
	})
}

// pipes are the standard output and input of an analyser as a connection.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func (pipes) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "stdio"} }
func (pipes) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "stdio"} }
func (pipes) SetDeadline(time.Time) error      { return nil }
func (pipes) SetReadDeadline(time.Time) error  { return nil }
func (pipes) SetWriteDeadline(time.Time) error { return nil }

// printNeighbours prints what was measured of neighbouring commits.
func printNeighbours(out io.Writer, results []result) {
	fmt.Fprintf(out, "\n| repository | manifests | first census | ten files of all parts | ten files beside each other |\n|---|---:|---:|---:|---:|\n")
	for _, r := range results {
		n := r.neighbours
		fmt.Fprintf(out, "| %s | %d | %s |", strings.Replace(r.name, "__", "/", 1), r.manifests, milliseconds(n.first.wall))
		for _, c := range []cost{n.spread, n.together} {
			fmt.Fprintf(out, " %s (%.2f×) |", milliseconds(c.wall), float64(c.wall)/float64(n.first.wall))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "\nMilliseconds of wall time of a census that an analyser which runs already takes after that of HEAD.")
}

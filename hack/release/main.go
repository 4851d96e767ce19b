// Command release makes what people download: for Linux and macOS on amd64 and
// arm64 an archive of both programs with their bills of materials, manual pages
// and shell completions, another of the program that reach oracle starts, and
// SHA256SUMS over all of them.
//
//	go run ./hack/release -version 0.1.0 -o dist
//
// The same commit gives the same bytes, in any folder, on any day: times are
// that of the commit, owners are root, entries are sorted. The analyser of the
// Linux archives is the sealed one (hack/seal), audited before it is packed;
// macOS has no kernel walls, and the analyser there says so of itself.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gitops-reach/reach/firewall/digest"
)

// targets are the platforms of a release.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("C", ".", "`folder` that holds go.mod")
	version := flags.String("version", "", "`version` of the release, 1.2.3")
	output := flags.String("o", "dist", "`folder` to write, emptied first")
	only := flags.String("targets", strings.Join(targets, ","), "`os/arch,...` to build")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || strings.Trim(*version, "0123456789abcdefghijklmnopqrstuvwxyz.-+") != "" {
		return errors.New("say which version it is: -version 1.2.3")
	}
	platforms := strings.Split(*only, ",")
	for _, target := range platforms {
		if !slices.Contains(targets, target) {
			return fmt.Errorf("%q is none of %s", target, strings.Join(targets, ", "))
		}
	}
	r := &release{root: *root, version: *version, out: *output}
	dir, err := os.MkdirTemp("", "reach-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := r.begin(dir); err != nil {
		return err
	}
	for _, target := range platforms {
		if err := r.archive(target, stdout); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return r.sums()
}

type release struct {
	root, version, out string
	// time of the commit.
	time time.Time
	// pages are the manual pages and completions, the same on all platforms.
	pages []file
	// seal is the program that links the sealed analyser, built for this machine.
	seal string
}

type file struct {
	name    string
	mode    int64
	content []byte
}

// begin empties the folder and makes what all archives share.
func (r *release) begin(dir string) error {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		out, err := r.command(nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return err
		}
		seconds = strings.TrimSpace(out)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit is %q", seconds)
	}
	r.time = time.Unix(n, 0).UTC()
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	r.seal = filepath.Join(dir, "seal")
	if err := r.build(nil, r.seal, "", "./hack/seal"); err != nil {
		return err
	}
	return r.makePages(dir)
}

// makePages asks the program itself, built below dir, for its manual and
// completions.
func (r *release) makePages(dir string) error {
	reach := filepath.Join(dir, "reach")
	if err := r.build(nil, reach, "", "./orchestrator"); err != nil {
		return err
	}
	man := filepath.Join(dir, "man")
	if err := os.Mkdir(man, 0o755); err != nil {
		return err
	}
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10)}
	if _, err := r.command(env, reach, "man", man); err != nil {
		return err
	}
	written, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	for _, e := range written {
		content, err := os.ReadFile(filepath.Join(man, e.Name()))
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{"man/" + e.Name(), 0o644, content})
	}
	for _, shell := range []string{"bash", "fish", "zsh"} {
		out, err := r.command(nil, reach, "completion", shell)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{"completions/reach." + shell, 0o644, []byte(out)})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY-REVIEW.md", "reach.example.yaml"} {
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{name, 0o644, content})
	}
	return nil
}

// archive builds both programs for a platform and packs them. The programs stay
// beside the archive, in a folder named for the platform, from where the
// container image takes them.
func (r *release) archive(target string, stdout io.Writer) error {
	system, machine, _ := strings.Cut(target, "/")
	env := []string{"GOOS=" + system, "GOARCH=" + machine}
	dir, err := filepath.Abs(filepath.Join(r.out, system+"_"+machine))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	analyser := filepath.Join(dir, "reach-analyser")
	if system == "linux" {
		relative, err := r.relative(analyser)
		if err != nil {
			return err
		}
		if _, err := r.command(env, r.seal, "-version", r.version, "-s", "-o", relative); err != nil {
			return err
		}
	} else if err := r.build(env, analyser, "-s -w -X github.com/gitops-reach/reach/analyser/internal/serve.Version="+r.version, "./analyser"); err != nil {
		return err
	}
	pin, err := digest.LinkerFlags(analyser)
	if err != nil {
		return err
	}
	reach := filepath.Join(dir, "reach")
	settings := "-s -w " + pin +
		" -X github.com/gitops-reach/reach/orchestrator/internal/cli.version=" + r.version
	if err := r.build(env, reach, settings, "./orchestrator"); err != nil {
		return err
	}
	if _, err := r.command(nil, "go", "run", "./hack/sbom", analyser, reach); err != nil {
		return err
	}
	files := slices.Clone(r.pages)
	for name, mode := range map[string]int64{"reach": 0o755, "reach-analyser": 0o755, "reach.cdx.json": 0o644, "reach-analyser.cdx.json": 0o644} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		files = append(files, file{name, mode, content})
	}
	platform := fmt.Sprintf("_%s_%s_%s", r.version, system, machine)
	if err := r.write("reach"+platform, files, stdout); err != nil {
		return err
	}
	files, err = r.oracle(env, dir)
	if err != nil {
		return err
	}
	return r.write("reach-oracle"+platform, files, stdout)
}

// oracle builds reach-oracle below dir. It has an archive of its own: kustomize and
// Flux bring 331 packages, which nobody needs who has no use for reach oracle.
func (r *release) oracle(env []string, dir string) ([]file, error) {
	program := filepath.Join(dir, "reach-oracle")
	if _, err := r.command(env, "go", "build", "-C", "hack/oracle", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=-s -w", "-o", program, "."); err != nil {
		return nil, err
	}
	if _, err := r.command(nil, "go", "run", "./hack/sbom", program); err != nil {
		return nil, err
	}
	var files []file
	for name, mode := range map[string]int64{"reach-oracle": 0o755, "reach-oracle.cdx.json": 0o644} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, mode, content})
	}
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	return append(files, file{"LICENSE", 0o644, license}), nil
}

// write packs files into an archive of the release.
func (r *release) write(name string, files []file, stdout io.Writer) error {
	packed, err := r.pack(name, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s.tar.gz  %.1f MB\n", name, float64(len(packed))/1e6)
	return os.WriteFile(filepath.Join(r.out, name+".tar.gz"), packed, 0o644)
}

func (r *release) relative(p string) (string, error) {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return "", err
	}
	return filepath.Rel(root, p)
}

// pack writes files below one folder into a compressed archive.
func (r *release) pack(folder string, files []file) ([]byte, error) {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(folder, f.name), Mode: f.mode, Size: int64(len(f.content)),
			ModTime: r.time, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) sums() error {
	archives, err := filepath.Glob(filepath.Join(r.out, "*.tar.gz"))
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, a := range archives {
		content, err := os.ReadFile(a)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), filepath.Base(a))
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

// build links a program with nothing of the folder or of the day in it.
func (r *release) build(env []string, output, settings, pkg string) error {
	_, err := r.command(env, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-tags=grpcnotrace", "-ldflags="+settings, "-o", output, pkg)
	return err
}

// command runs a program in the root and returns what it prints.
func (r *release) command(env []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = r.root
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GODEBUG="), env...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, &stderr)
	}
	return stdout.String(), nil
}

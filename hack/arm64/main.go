// Command arm64 shows the third wall on arm64, on a machine of any kind: it boots
// an arm64 kernel in an emulator, with nothing in it but the sealed analyser, its
// canary, reach and a repository, and runs there what a reviewer runs.
//
//	go run ./hack/arm64 -kernel vmlinuz
//
// In the emulated machine (hack/arm64/guest) run the tests of package sandbox,
// `reach audit` with the canary, and a census whose report must be the same bytes as
// the one made here. It needs qemu-system-aarch64 and an uncompressed or EFI arm64
// kernel with Landlock, seccomp and an initial RAM disk built in;
// hack/arm64/kernel.sh fetches one of Debian.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gitops-reach/reach/firewall/digest"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "arm64:", err)
		os.Exit(1)
	}
}

const emulator = "qemu-system-aarch64"

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("arm64", flag.ContinueOnError)
	kernel := flags.String("kernel", "", "arm64 kernel `file` to boot")
	timeout := flags.Duration("timeout", 2*time.Hour, "`time` after which the machine is switched off")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kernel == "" {
		return errors.New("which kernel? -kernel FILE; sh hack/arm64/kernel.sh fetches one of Debian")
	}
	if _, err := exec.LookPath(emulator); err != nil {
		return fmt.Errorf("%w: on Debian it is in the package qemu-system-arm", err)
	}
	dir, err := os.MkdirTemp("", "reach-arm64")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	if err := build(dir); err != nil {
		return err
	}
	want, err := census(dir)
	if err != nil {
		return err
	}
	disk := filepath.Join(dir, "initramfs")
	if err := initramfs(disk, filepath.Join(dir, "guest")); err != nil {
		return fmt.Errorf("packing the initial RAM disk: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	return boot(ctx, *kernel, disk, want, stdout)
}

// build cross-builds everything that runs in the machine, below dir/guest, and reach
// for here, below dir/host.
func build(dir string) error {
	guest, host := filepath.Join(dir, "guest"), filepath.Join(dir, "host")
	seal := filepath.Join(dir, "seal")
	for _, d := range []string{"bin", "etc", "proc", "sys", "tmp", "dev", "test"} {
		if err := os.MkdirAll(filepath.Join(guest, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(host, 0o755); err != nil {
		return err
	}
	// The canary asks for these names; only init looks at what they are.
	for name, content := range map[string]string{"etc/passwd": "root:x:0:0::/:\n", "etc/hosts": "127.0.0.1 localhost\n"} {
		if err := os.WriteFile(filepath.Join(guest, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := command(nil, "go", "build", "-o", seal, "./hack/seal"); err != nil {
		return err
	}
	for arch, to := range map[string]string{"arm64": filepath.Join(guest, "bin"), "": host} {
		env := []string{"CGO_ENABLED=0"}
		if arch != "" {
			env = append(env, "GOARCH="+arch)
		}
		// The sealed build writes below the root of the source only.
		analyser := filepath.Join("build", "arm64", "reach-analyser")
		steps := [][]string{{seal, "-o", analyser}}
		if arch != "" {
			steps = append(steps, []string{seal, "-canary", "-o", analyser + "-canary"})
		}
		for _, s := range steps {
			if err := os.MkdirAll(filepath.Dir(analyser), 0o755); err != nil {
				return err
			}
			if err := command(env, s[0], s[1:]...); err != nil {
				return err
			}
			if err := os.Rename(s[len(s)-1], filepath.Join(to, filepath.Base(s[len(s)-1]))); err != nil {
				return err
			}
		}
		pin, err := digest.LinkerFlags(filepath.Join(to, "reach-analyser"))
		if err != nil {
			return err
		}
		if err := command(env, "go", "build", "-trimpath", "-ldflags", "-s -w "+pin, "-o", filepath.Join(to, "reach"), "./orchestrator"); err != nil {
			return err
		}
	}
	arm := []string{"CGO_ENABLED=0", "GOARCH=arm64"}
	for output, source := range map[string]string{"init": "./hack/arm64/guest"} {
		if err := command(arm, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(guest, output), source); err != nil {
			return err
		}
	}
	if err := command(arm, "go", "test", "-c", "-trimpath", "-o", filepath.Join(guest, "test", "sandbox.test"), "./analyser/internal/sandbox"); err != nil {
		return err
	}
	for _, name := range []string{"true", "sh"} {
		if err := os.Symlink("/init", filepath.Join(guest, "bin", name)); err != nil {
			return err
		}
	}
	return command(nil, "go", "run", "./hack/acme", "-git", filepath.Join(guest, "acme"), "-config", filepath.Join(guest, "acme.yaml"))
}

// census takes the census here, of the same repository, and returns the digests of
// the records.
func census(dir string) (map[string]string, error) {
	report := filepath.Join(dir, "report")
	guest := filepath.Join(dir, "guest")
	err := command(nil, filepath.Join(dir, "host", "reach"), "census", filepath.Join(guest, "acme"),
		"--config", filepath.Join(guest, "acme.yaml"), "--names", "real", "--out", report)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(report, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the census wrote no records: %w", err)
	}
	sums := map[string]string{}
	for _, f := range files {
		if sums[filepath.Base(f)], err = sumOf(f); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// initramfs packs a folder in the format that the kernel unpacks.
func initramfs(file, folder string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	err = archive(z, folder)
	return errors.Join(err, z.Close(), f.Close())
}

// boot runs the machine until it switches itself off, and judges what it printed:
// lines "reach-arm64: KEY VALUE" are for this program, all else is for eyes.
func boot(ctx context.Context, kernel, disk string, want map[string]string, stdout io.Writer) error {
	c := exec.CommandContext(ctx, emulator, "-machine", "virt", "-cpu", "cortex-a72", "-smp", "1", "-m", "2048",
		"-nographic", "-no-reboot", "-nic", "none", "-kernel", kernel, "-initrd", disk,
		"-append", "console=ttyAMA0 quiet panic=-1 loglevel=3 lsm=landlock,lockdown,yama")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	console, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	got, verdict := map[string]string{}, ""
	lines := bufio.NewScanner(console)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if what, ok := strings.CutPrefix(line, "reach-arm64: "); ok {
			key, value, _ := strings.Cut(what, " ")
			switch {
			case key == "verdict":
				verdict = value
			case strings.HasSuffix(key, ".jsonl"):
				got[key] = value
				continue
			}
		}
		fmt.Fprintln(stdout, line)
	}
	err = errors.Join(lines.Err(), c.Wait(), ctx.Err())
	if err != nil {
		return fmt.Errorf("the machine: %w\n%s", err, stderr.String())
	}
	if verdict != "clean" {
		return fmt.Errorf("the machine ended with the verdict %q", verdict)
	}
	if !maps.Equal(got, want) {
		var differ []string
		for name := range want {
			if got[name] != want[name] {
				differ = append(differ, name)
			}
		}
		slices.Sort(differ)
		return fmt.Errorf("the census on arm64 wrote other records than the one here: %s", strings.Join(differ, ", "))
	}
	fmt.Fprintf(stdout, "the %d files of records of the census are the same bytes as those made here\n", len(want))
	return nil
}

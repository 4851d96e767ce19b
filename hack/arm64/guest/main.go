//go:build linux

// Command guest is the first and only program of the machine that hack/arm64 boots. It
// runs what a reviewer runs, prints it, says the verdict in a line that hack/arm64
// reads, and switches the machine off.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitops-reach/reach/firewall/canary"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "true":
		return
	case "sh":
		// What the canary becomes when it can.
		fmt.Println(canary.Succeeded)
		os.Exit(canary.ExitSucceeded)
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: it is the first program of a machine of its own: go run ./hack/arm64")
		os.Exit(2)
	}
	verdict := "clean"
	if err := run(); err != nil {
		fmt.Println("guest:", err)
		verdict = "failed"
	}
	fmt.Println("reach-arm64: verdict", verdict)
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/tmp"}, {"devtmpfs", "/dev"}} {
		if err := unix.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m[1], err)
		}
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("switching the loopback interface on: %w", err)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	fmt.Printf("kernel  %s %s\n", unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]))
	failed := []error{
		step("/", "/bin/reach", "census", "/acme", "--config", "/acme.yaml", "--names", "real", "--out", "/tmp/report", "--require-seal"),
		step("/", "/bin/reach", "audit", "-v"),
		// The audit makes the attempts of TestRefused, with the binary itself.
		step("/test", "/test/sandbox.test", "-test.v", "-test.skip=TestRefused", "-test.timeout=1h"),
	}
	files, err := filepath.Glob("/tmp/report/*.jsonl")
	failed = append(failed, err)
	slices.Sort(files)
	for _, f := range files {
		content, err := os.ReadFile(f)
		failed = append(failed, err)
		fmt.Printf("reach-arm64: %s %x\n", filepath.Base(f), sha256.Sum256(content))
	}
	return errors.Join(failed...)
}

// step runs a program and prints what it says.
func step(dir, name string, args ...string) error {
	fmt.Printf("\n$ %s %q\n", name, args)
	began := time.Now()
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = []string{"PATH=/bin", "HOME=/tmp", "TMPDIR=/tmp"}
	// A pipe, so that nothing is coloured and no progress shown.
	out := struct{ io.Writer }{os.Stdout}
	c.Stdout, c.Stderr = out, out
	err := c.Run()
	fmt.Printf("(%v)\n", time.Since(began).Round(100*time.Millisecond))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

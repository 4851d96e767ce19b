// Command live brings real clusters up on this machine: two hubs with Flux and
// two spokes, which reconcile acme-platform. What is real about them, and what
// is not, stands in hack/live/README.md.
//
//	go run ./hack/live build        build what they are made of, once
//	go run ./hack/live clusters     build only the API server and kubectl
//	go run ./hack/live up [DIR]     bring them up and go on (make live-up)
//	go run ./hack/live down [DIR]   end them (make live-down)
//
// DIR is build/live when it is not given.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/programs"
	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	commands := map[string]func(dir string, stdout, stderr io.Writer) error{
		"build": build, "clusters": onlyClusters, "up": up, "down": down,
		// serve is what up leaves running.
		"serve": serve,
	}
	if len(args) == 0 || len(args) > 2 || commands[args[0]] == nil {
		fmt.Fprintln(stderr, "usage: live build | clusters | up [DIR] | down [DIR]")
		return 2
	}
	dir := filepath.Join("build", "live")
	if len(args) == 2 {
		dir = args[1]
	}
	if err := commands[args[0]](dir, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "live: %v\n", err)
		return 1
	}
	return 0
}

// The commands are run from the root of the product's repository.
var here = filepath.Join("hack", "live")

func onlyClusters(_ string, stdout, stderr io.Writer) error {
	dir, err := programs.Clusters(here, stderr)
	if err == nil {
		fmt.Fprintln(stdout, dir)
	}
	return err
}

func build(_ string, stdout, stderr io.Writer) error {
	for _, build := range []func(string, io.Writer) (programs.Dir, error){programs.Clusters, programs.Controllers} {
		dir, err := build(here, stderr)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, dir)
	}
	return nil
}

// serve keeps the clusters up until it is told to end.
func serve(dir string, _, stderr io.Writer) error {
	apis, err := programs.Clusters(here, stderr)
	if err != nil {
		return err
	}
	flux, err := programs.Controllers(here, stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := stack.Up(ctx, apis, flux, ".", filepath.Join(dir, "state"), stderr)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func up(dir string, stdout, stderr io.Writer) error {
	if pid, err := running(dir); err == nil {
		return fmt.Errorf("they are up already, by process %d; make live-down ends them", pid)
	}
	if err := build("", io.Discard, stderr); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "serve", dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("they did not come up:\n%s", text)
		case <-time.After(200 * time.Millisecond):
		}
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			break
		}
	}
	state := filepath.Join(dir, "state")
	fmt.Fprintf(stdout, `Two hubs and two spokes are up in %[1]s
  %[1]s/kubeconfig-admin    contexts %[2]s, an administrator
  %[1]s/kubeconfig-reader   the same, a ServiceAccount that may nothing until it is granted:
    bin/reach rbac --name reach --namespace reach | kubectl --kubeconfig %[1]s/kubeconfig-admin --context CLUSTER apply -f -
  %[1]s/acme-platform       the clone that the hubs follow; push to the remote server
  %[1]s/reach.yaml          its configuration
  %[1]s/CLUSTER/audit.log   every request to a cluster
make live-down ends them.
`, state, strings.Join(stack.Names, ", "))
	return nil
}

func down(dir string, stdout, _ io.Writer) error {
	pid, err := running(dir)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for syscall.Kill(pid, 0) == nil {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Fprintln(stdout, "They are down.")
	return os.RemoveAll(dir)
}

// running is the process that keeps the clusters of a folder up.
func running(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return 0, fmt.Errorf("nothing is up in %s", dir)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, err
	}
	// The number may be another process's by now.
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(command), "\x00serve\x00") {
		return 0, fmt.Errorf("nothing is up in %s any more", dir)
	}
	return pid, nil
}

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/hack/live/internal/stack"
)

// granted gives the reader the role that reach rbac prints, once, and returns
// its kubeconfig: first the role for what Kubernetes and Flux serve, and then
// that for what these clusters serve besides, as a census with the first shows.
func granted(t *testing.T, s *stack.Stack) string {
	t.Helper()
	grant.Do(func() {
		role := []string{"rbac", "--name", "reach", "--namespace", "reach"}
		if grantErr = s.GrantReader(t.Context(), reach(t, role...)); grantErr != nil {
			return
		}
		facts := filepath.Join(t.TempDir(), "facts")
		take(t, s, s.ReaderKubeconfig(), stack.Names, "--save-facts", facts)
		grantErr = s.GrantReader(t.Context(), reach(t, append(role, "--facts", facts)...))
	})
	if grantErr != nil {
		t.Fatal(grantErr)
	}
	return s.ReaderKubeconfig()
}

var (
	grant    sync.Once
	grantErr error
)

// A tally is what is said of the objects that one controller object declares.
type tally struct {
	In, Out int
	Abstain map[string]int
}

// tallies are the verdicts of a census by controller object.
func (c census) tallies(t *testing.T) map[string]tally {
	t.Helper()
	all := map[string]tally{}
	for _, o := range c.lines(t, "objects.jsonl") {
		kind := text(o, "controller_kind")
		if kind == "" {
			kind = "Kustomization"
		}
		on := text(o, "controller_cluster")
		if on == "" {
			on = text(o, "cluster")
		}
		if !slices.Contains(stack.Hubs, on) {
			continue
		}
		key := on + " " + kind + " " + text(o, "controller")
		n := all[key]
		switch verdict := text(o, "verdict"); verdict {
		case "in_inventory":
			n.In++
		case "not_in_inventory":
			n.Out++
		case "abstain":
			if n.Abstain == nil {
				n.Abstain = map[string]int{}
			}
			n.Abstain[text(o, "reason")]++
		default:
			t.Errorf("%s %s %s: the verdict is %q", key, text(o, "kind"), text(o, "name"), verdict)
		}
		all[key] = n
	}
	return all
}

// oracle is what kubectl shows of the objects that a census names, decided
// without any code of the product; extra are the entries of inventories that
// are none of them.
func oracle(t *testing.T, s *stack.Stack, c census) (all map[string]tally, extra map[string][]string) {
	t.Helper()
	commit, err := s.Git(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "oracle")
	if out, err := exec.Command("go", "build", "-o", program, "./oracle").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, append([]string{
		"-kubectl", s.Programs.Program("kubectl"), "-kubeconfig", s.AdminKubeconfig(),
		"-commit", commit, "-objects", filepath.Join(string(c), "objects.jsonl"),
		// Generated from an encrypted file, and named after a hash of what is in it.
		"-unnamed", "Secret payments/acquirer",
	}, stack.Hubs...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	var counts map[string]struct {
		In, Out int
		Abstain map[string]int
		Extra   []string
	}
	if err := json.Unmarshal(out, &counts); err != nil {
		t.Fatal(err)
	}
	all, extra = map[string]tally{}, map[string][]string{}
	for key, n := range counts {
		hub, _, _ := strings.Cut(key, " ")
		if !slices.Contains(stack.Hubs, hub) {
			continue // of a spoke, whose own controllers nobody asked
		}
		if n.In+n.Out+len(n.Abstain) > 0 {
			all[key] = tally{n.In, n.Out, n.Abstain}
		}
		if len(n.Extra) > 0 {
			slices.Sort(n.Extra)
			extra[key] = n.Extra
		}
	}
	return all, extra
}

// sum adds tallies up.
func sum(all map[string]tally) (in, out, abstain int) {
	for _, n := range all {
		in, out = in+n.In, out+n.Out
		for _, k := range n.Abstain {
			abstain += k
		}
	}
	return in, out, abstain
}

// The census of everything agrees with what kubectl shows, controller object by
// controller object: in, not in, and each reason to abstain. And everything
// that the inventories list of this commit is an object of the census.
func TestCensusEqualsOracle(t *testing.T) {
	s := clusters(t)
	c := take(t, s, granted(t, s), stack.Names)
	want, extra := oracle(t, s, c)
	if diff := cmp.Diff(want, c.tallies(t)); diff != "" {
		t.Errorf("the census does not say what kubectl shows (-kubectl +census):\n%s", diff)
	}
	in, out, abstain := sum(want)
	t.Logf("%d in, %d not in, %d abstain", in, out, abstain)
	if in == 0 || abstain == 0 {
		t.Error("an agreement on nothing")
	}
	if len(extra) > 0 {
		t.Errorf("inventories list what the census does not declare: %v", extra)
	}
}

package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// stage builds what Compute takes: files of ten lines each, and a Sync.
type stage struct {
	positions position.Set
	at        map[string]position.Pos
	a         *Applied
}

func newStage(files ...string) *stage {
	s := &stage{at: map[string]position.Pos{}}
	for _, f := range files {
		s.at[f] = s.positions.Add(f, 10)
	}
	s.a = &Applied{
		Cluster: "hub", Target: "hub", Outcome: Outcome{State: Resolved},
		Sync:   &controller.Sync{Object: object.Ref{Kind: "Kustomization", Namespace: "flux-system", Name: "apps"}},
		Result: &controller.Result{Build: &kustomize.Build{}},
	}
	return s
}

func (s *stage) use(file string, role kustomize.Role) {
	s.a.Result.Uses = append(s.a.Result.Uses, kustomize.Use{Path: file, Role: role})
}

func (s *stage) object(name, file string, line int, steps ...string) *kustomize.Object {
	o := &kustomize.Object{Ref: object.Ref{Version: "v1", Kind: "ConfigMap", Name: name}, Origin: s.at[file] + position.Pos(line-1)}
	for _, f := range steps {
		o.Steps = append(o.Steps, kustomize.Step{Kind: kustomize.StepPatch, Pos: s.at[f]})
	}
	s.a.Objects = append(s.a.Objects, o)
	return o
}

func (s *stage) compute() []string {
	var out []string
	for _, p := range Compute([]*Applied{s.a}, &s.positions) {
		out = append(out, fmt.Sprintf("%s %s %s on %s by %s: %s %s", p.Path, p.Role, p.Class, p.Cluster, p.Controller, p.State, p.Reason))
	}
	return out
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestObjectsDecide: a file lands where the objects land to which it contributes,
// and one that contributes to none where its Sync applies.
func TestObjectsDecide(t *testing.T) {
	s := newStage("a.yaml", "patch.yaml", "unused.yaml", "gone.yaml")
	s.use("a.yaml", kustomize.RoleObject)
	s.use("patch.yaml", kustomize.RolePatch)
	s.use("patch.yaml", kustomize.RoleOther)
	s.use("unused.yaml", kustomize.RolePatch)
	s.use("gone.yaml", kustomize.RoleObject)
	s.a.Emptied = map[string]bool{"gone.yaml": true}
	o := s.object("release", "a.yaml", 1, "patch.yaml")
	s.object("plain", "a.yaml", 5)
	s.a.Releases = []*Release{{
		Cluster: "hub", Target: "spoke", Class: RemoteHubRender, Object: o, Applied: s.a, Outcome: Outcome{State: Resolved},
		Release: &controller.Release{Object: object.Ref{Kind: "HelmRelease", Namespace: "apps", Name: "r"}},
		Files:   []ChartFile{{Path: "chart/values.yaml", Role: kustomize.RoleValues}},
	}}
	want(t, s.compute(),
		"a.yaml object local on hub by flux-system/apps: resolved ",
		"a.yaml object remote_hub_render on spoke by flux-system/apps: resolved ",
		"chart/values.yaml values remote_hub_render on spoke by apps/r: resolved ",
		"patch.yaml patch remote_hub_render on spoke by flux-system/apps: resolved ",
		"unused.yaml patch local on hub by flux-system/apps: resolved ",
	)
}

// TestSuspended: a suspended Sync keeps the class and says so.
func TestSuspended(t *testing.T) {
	s := newStage("a.yaml")
	s.use("a.yaml", kustomize.RoleObject)
	s.object("a", "a.yaml", 1)
	s.a.Outcome = Outcome{State: Suspended, Reason: "suspended"}
	want(t, s.compute(), "a.yaml object local on hub by flux-system/apps: suspended suspended")
}

// TestBlocked: nothing of a build that cannot be known to arrive is placed as if
// it did, but what an earlier stage of the apply brought.
func TestBlocked(t *testing.T) {
	s := newStage("a.yaml", "b.yaml")
	s.use("a.yaml", kustomize.RoleObject)
	s.use("b.yaml", kustomize.RoleObject)
	s.a.Below = []kustomize.Use{{Path: "c.yaml", Role: kustomize.RoleOther}}
	early := s.object("a", "a.yaml", 1)
	s.object("b", "b.yaml", 1)
	s.a.Outcome = Outcome{State: Failed, Reason: "apply_failed"}
	s.a.Blocked = &s.a.Outcome
	s.a.Arrived = map[*kustomize.Object]bool{early: true}
	want(t, s.compute(),
		"a.yaml object local on hub by flux-system/apps: resolved ",
		"b.yaml object unresolved on hub by flux-system/apps: failed apply_failed",
		"c.yaml other unresolved on hub by flux-system/apps: failed apply_failed",
	)
	// The failure of an ancestor takes everything.
	s.a.Blocked = &Outcome{State: StateUnresolved, Reason: "parent_build_failed"}
	if got := Objects([]*Applied{s.a}); len(got) != 0 {
		t.Errorf("%d objects arrive through a failed parent", len(got))
	}
	for _, p := range Compute([]*Applied{s.a}, &s.positions) {
		if p.Class != Unresolved || p.Reason != "parent_build_failed" {
			t.Errorf("%s is %s, %s", p.Path, p.Class, p.Reason)
		}
	}
}

// TestOneLanding: two objects of one file on one cluster are one landing, the
// one without a condition.
func TestOneLanding(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		s := newStage("a.yaml")
		s.use("a.yaml", kustomize.RoleObject)
		once, always := s.object("once", "a.yaml", 1), s.object("always", "a.yaml", 5)
		s.a.Conditions = map[*kustomize.Object]string{once: "only when it is not there"}
		s.a.Objects = []*kustomize.Object{[]*kustomize.Object{once, always}[order[0]], []*kustomize.Object{once, always}[order[1]]}
		ps := Compute([]*Applied{s.a}, &s.positions)
		if len(ps) != 1 || ps[0].Detail != "" {
			t.Errorf("order %v: %d placements, %q", order, len(ps), ps[0].Detail)
		}
	}
}

// TestFileRole: the role that says most.
func TestFileRole(t *testing.T) {
	roles := []kustomize.Role{kustomize.RoleOther, kustomize.RoleValues, kustomize.RoleGeneratorInput, kustomize.RolePatch, kustomize.RoleComponent, kustomize.RoleKustomization, kustomize.RoleObject}
	var ps []*Placement
	for _, r := range roles {
		ps = append(ps, &Placement{Role: r})
		if got := FileRole(ps); got != r {
			t.Errorf("with %s it is %s", r, got)
		}
	}
	if got := FileRole(nil); got != kustomize.RoleOther {
		t.Errorf("without a placement it is %s", got)
	}
}

// TestWithUncovered: what nothing reaches is sorted in, and the placements given
// stay as they are.
func TestWithUncovered(t *testing.T) {
	reached := []*Placement{{Path: "b", Class: Local}}
	got := WithUncovered(reached, []Placement{{Path: "c"}, {Path: "a"}})
	var paths []string
	for _, p := range got {
		paths = append(paths, p.Path+" "+string(p.Class))
	}
	want(t, paths, "a uncovered", "b local", "c uncovered")
	if len(reached) != 1 || !slices.IsSortedFunc(got, (*Placement).Compare) {
		t.Error("the order is another")
	}
}

// TestEarliestLine: which of the objects of a file stands for it does not depend
// on the order in which they come out of a build.
func TestEarliestLine(t *testing.T) {
	for _, lines := range [][]int{{3, 7, 5}, {7, 5, 3}, {5, 3, 7}} {
		s := newStage("a.yaml")
		s.use("a.yaml", kustomize.RoleObject)
		for _, line := range lines {
			s.object(fmt.Sprint(line), "a.yaml", line+1)
		}
		ps := Compute([]*Applied{s.a}, &s.positions)
		if len(ps) != 1 {
			t.Fatalf("%d placements", len(ps))
		}
		if got := ps[0].Trace(&s.positions)[0].At.Line; got != 3 {
			t.Errorf("objects at %v: the trace begins at line %d, want 3", lines, got)
		}
	}
}

// TestBefore: what decides between the placements of one landing, most important
// first.
func TestBefore(t *testing.T) {
	var set position.Set
	base := set.Add("a.yaml", 10)
	c := &computation{positions: &set}
	order := []Placement{
		{at: base + 9, Outcome: Outcome{State: Resolved}},
		{at: base, Outcome: Outcome{State: Resolved}},
		{at: base + 1, Outcome: Outcome{State: Resolved, Detail: "when"}},
		{at: base + 2, Outcome: Outcome{State: Failed, Reason: "x"}},
		{at: base + 3, Outcome: Outcome{State: Failed, Reason: "a"}},
		{at: base + 3, Outcome: Outcome{State: Suspended, Reason: "a"}},
	}
	for i := range order {
		for j := range order {
			got, want := c.before(&order[i], &order[j]), i-j
			if got < 0 != (want < 0) || got > 0 != (want > 0) {
				t.Errorf("%d and %d: %d, want %d", i, j, got, want)
			}
		}
	}
}

package coverage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

func packs(t *testing.T) *Packs {
	t.Helper()
	p, err := ParsePacks("pack builtin handled What is built in\ngroup core\npack metal seen Machines\ngroup metal.example\npack cloud seen Clouds\ngroup cloud.example\n")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func kind(group, kind string, placed bool) Written {
	return Written{Kind: object.GroupKind{Group: group, Kind: kind}, Placed: placed}
}

func place(path string, class placement.Class, role kustomize.Role) *placement.Placement {
	p := &placement.Placement{Path: path, Class: class, Role: role}
	if p.State = placement.Resolved; class == placement.Unresolved {
		p.Outcome = placement.Outcome{State: placement.Failed, Reason: "build_failed", Detail: "broken"}
	}
	return p
}

// TestFiles: one state for each file, the worst that is known of it.
func TestFiles(t *testing.T) {
	object, patch := kustomize.RoleObject, kustomize.RolePatch
	considered := []Considered{
		{Path: "b/unread.yaml", Role: kustomize.RoleOther},
		{Path: "a/broken.yaml", Role: kustomize.RoleOther, Problem: "no YAML"},
		{Path: "a/ignored.yaml", Role: object, Excluded: "by .sourceignore"},
		{Path: "a/plain.yaml", Role: object, Objects: []Written{kind("", "ConfigMap", true)}},
		{Path: "a/mixed.yaml", Role: object, Objects: []Written{kind("", "ConfigMap", true), kind("metal.example", "Machine", true)}},
		{Path: "a/both.yaml", Role: object, Objects: []Written{kind("metal.example", "Machine", true)}},
		{Path: "a/patched.yaml", Role: object, Objects: []Written{kind("metal.example", "Machine", false)}},
	}
	placements := []*placement.Placement{
		place("a/both.yaml", placement.Local, object), place("a/both.yaml", placement.Unresolved, object),
		place("a/mixed.yaml", placement.RemoteDirect, object), place("a/patched.yaml", placement.Local, patch), place("a/plain.yaml", placement.Local, object),
	}
	got := map[string][3]string{}
	files := Files(considered, placements, []RowRoot{{Path: "a"}}, packs(t))
	for i, f := range files {
		got[f.Path] = [3]string{string(f.Analysis), f.Reason, f.Root}
		if i > 0 && files[i-1].Path >= f.Path {
			t.Errorf("%s after %s", f.Path, files[i-1].Path)
		}
	}
	if diff := cmp.Diff(map[string][3]string{
		"b/unread.yaml":  {"uncovered", "uncovered", Elsewhere},
		"a/broken.yaml":  {"uncovered", "bad_yaml", "a"},
		"a/ignored.yaml": {"uncovered", "excluded_from_source", "a"},
		"a/plain.yaml":   {"analysable", "", "a"},
		"a/mixed.yaml":   {"seen_not_analysed", "kind_not_handled", "a"},
		"a/both.yaml":    {"unresolved", "build_failed", "a"},
		// A patch of a kind that nobody handles is read as a patch.
		"a/patched.yaml": {"analysable", "", "a"},
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRows: a file counts in the row of the longest path, whole path elements
// compared, and the rows add up to the files.
func TestRows(t *testing.T) {
	roots := []RowRoot{{Path: "apps", Clusters: []cluster.Name{"one"}}, {Path: "apps/web"}, {Path: "empty"}}
	var considered []Considered
	var placements []*placement.Placement
	for _, p := range []string{"apps/a.yaml", "apps/web/b.yaml", "apps/website/c.yaml", "apps.yaml", "other/d.yaml"} {
		considered = append(considered, Considered{Path: p, Role: kustomize.RoleObject, Objects: []Written{kind("metal.example", "Machine", p != "apps/a.yaml")}})
		placements = append(placements, place(p, placement.Local, kustomize.RoleObject))
	}
	rows := Rows(Files(considered, placements, roots, packs(t)), roots, packs(t))
	got, sum := map[string][2]int{}, 0
	for _, r := range rows {
		got[r.Root] = [2]int{r.Files, r.Seen["Machine.metal.example"]}
		sum += r.Files
		if r.Files != r.Analysable+r.SeenNotAnalysed+r.Unresolved+r.Uncovered {
			t.Errorf("row %s does not add up", r.Root)
		}
	}
	// What lands nowhere (a.yaml) is not counted as seen.
	if diff := cmp.Diff(map[string][2]int{"apps": {2, 1}, "apps/web": {1, 1}, "empty": {0, 0}, Elsewhere: {2, 2}}, got); diff != "" || sum != len(considered) {
		t.Errorf("%d files; -want +got:\n%s", sum, diff)
	}
}

// TestRowRoots: roots and what they apply directly, once each, nothing below.
func TestRowRoots(t *testing.T) {
	applied := func(dir string, on cluster.Name, parent *placement.Applied) *placement.Applied {
		return &placement.Applied{Sync: &controller.Sync{}, Cluster: on, Directory: dir, HasDirectory: dir != "?", Parent: parent}
	}
	root := applied("clusters/a", "a", nil)
	root.Root = &placement.Root{}
	other := applied("clusters/b", "b", nil)
	other.Root = &placement.Root{}
	child := applied("apps", "a", root)
	got := RowRoots([]*placement.Applied{root, other, child, applied("apps", "b", other), applied("deep", "a", child), applied("?", "a", root)})
	want := []RowRoot{{"apps", []cluster.Name{"a", "b"}}, {"clusters/a", []cluster.Name{"a"}}, {"clusters/b", []cluster.Name{"b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCountPacks: a pack would turn those files analysable that miss nothing
// else.
func TestCountPacks(t *testing.T) {
	files := []File{
		{Analysis: SeenNotAnalysed, Objects: []Written{kind("metal.example", "Machine", true), kind("", "ConfigMap", true)}},
		{Analysis: SeenNotAnalysed, Objects: []Written{kind("metal.example", "Machine", true), kind("cloud.example", "Bucket", true)}},
		{Analysis: Unresolved, Objects: []Written{kind("cloud.example", "Bucket", true), kind("cloud.example", "Bucket", false)}},
	}
	got := map[string][2]int{}
	counts := CountPacks(files, packs(t))
	for _, c := range counts {
		got[c.Name] = [2]int{c.Objects, c.Files}
	}
	if diff := cmp.Diff(map[string][2]int{"metal": {2, 1}, "builtin": {1, 0}, "cloud": {2, 0}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if counts[0].Name != "metal" {
		t.Errorf("%s adds most files", counts[0].Name)
	}
}

// TestParsePacksRefuses names the line.
func TestParsePacksRefuses(t *testing.T) {
	for _, text := range []string{"pack a handled", "pack a maybe Title", "group core", "pack a seen T\ngroup", "pack a seen T\nother x"} {
		if _, err := ParsePacks(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

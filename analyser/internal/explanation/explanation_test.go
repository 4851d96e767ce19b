package explanation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// made is a ConfigMap with a value, written in a.yaml.
type made struct {
	positions *position.Set
	file      position.Pos
	object    *kustomize.Object
	value     *yaml.Node
}

func scalar(value string, line position.Pos) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: int(line)}
}

func mapping(pairs ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs}
}

func configMap(value string) *made {
	m := &made{positions: &position.Set{}}
	m.file = m.positions.Add("a.yaml", 20)
	m.value = scalar(value, m.file+4)
	m.object = &kustomize.Object{
		Ref: object.Ref{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "c"}, Origin: m.file + 1,
		Tree:    packed.Of(mapping(scalar("data", m.file+3), mapping(scalar("key", m.file+4), m.value)), nil),
		History: &kustomize.History{Values: map[*yaml.Node]*kustomize.Record{}},
	}
	m.object.Written = m.object.Ref
	return m
}

func (m *made) on(name cluster.Name) Subject {
	a := &placement.Applied{
		Cluster: "hub", Target: name, Outcome: placement.Outcome{State: placement.Resolved},
		Sync: &controller.Sync{Object: object.Ref{Kind: "Kustomization", Namespace: "flux-system", Name: "apps-" + string(name)}},
	}
	return Subject{Applied: a, Object: m.object, Class: placement.Local}
}

func only(t *testing.T, fields []Field) Field {
	t.Helper()
	if len(fields) != 1 {
		t.Fatalf("%d fields: %+v", len(fields), fields)
	}
	return fields[0]
}

// TestChain: the value, who set it, and what that overrode, the last one first;
// what its own document wrote is not listed unless it is asked for.
func TestChain(t *testing.T) {
	m := configMap("last")
	patch, base := m.positions.Add("patch.yaml", 9), m.positions.Add("base.yaml", 9)
	first := &kustomize.Record{Cause: kustomize.Cause{Kind: kustomize.StepPatch, What: "patches", Pos: patch + 2}, Old: scalar("first", base+7)}
	m.object.History.Values[m.value] = &kustomize.Record{
		Cause: kustomize.Cause{Kind: kustomize.StepTransformer, What: "replacements", Pos: patch + 5}, Old: scalar("second", patch+2), Before: first,
	}
	got := only(t, Of(Query{Kind: "ConfigMap", Name: "c"}, []Subject{m.on("one")}, m.positions, nil).Builds[0].Fields)
	at := func(path string, line int) position.Position { return position.Position{Path: path, Line: line} }
	want := Field{
		Path: "data.key", Value: &Value{Text: "last", Tag: "str"}, By: Setter{Kind: "transformer", What: "replacements", At: at("patch.yaml", 5)},
		Overridden: []Overridden{
			{Value: Value{Text: "second", Tag: "str"}, By: Setter{Kind: "patch", What: "patches", At: at("patch.yaml", 2)}},
			{Value: Value{Text: "first", Tag: "str"}, By: Setter{Kind: "document", At: at("base.yaml", 7)}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m = configMap("plain")
	if fields := Of(Query{}, []Subject{m.on("one")}, m.positions, nil).Builds[0].Fields; len(fields) != 0 {
		t.Errorf("what the document wrote is listed: %+v", fields)
	}
	p, err := fieldpath.Parse("data.key")
	if err != nil {
		t.Fatal(err)
	}
	got = only(t, Of(Query{Field: p}, []Subject{m.on("one")}, m.positions, nil).Builds[0].Fields)
	if want := (Setter{Kind: "document", At: at("a.yaml", 4)}); got.Value.Text != "plain" || !cmp.Equal(want, got.By) {
		t.Errorf("%+v", got)
	}
}

// TestRemoved: a value that a step took away is a field without a value.
func TestRemoved(t *testing.T) {
	m := configMap("x")
	p, err := fieldpath.Parse("data.gone")
	if err != nil {
		t.Fatal(err)
	}
	m.object.History.Removed = []kustomize.Removed{{Path: p, Record: &kustomize.Record{Cause: kustomize.Cause{Kind: kustomize.StepPatch, What: "patches", Pos: m.file + 9}, Old: scalar("was", m.file+8)}}}
	got := only(t, Of(Query{}, []Subject{m.on("one")}, m.positions, nil).Builds[0].Fields)
	if got.Value != nil || got.Path != "data.gone" || len(got.Overridden) != 1 || got.Overridden[0].Value.Text != "was" {
		t.Errorf("%+v", got)
	}
}

// TestBuilds: clusters with one content and one history share a build; one
// content by two histories is two builds with one number; the order of keys is no
// content.
func TestBuilds(t *testing.T) {
	a, b := configMap("x"), configMap("x")
	b.object.Node().Content = append(b.object.Node().Content, scalar("kind", 0), scalar("ConfigMap", 0))
	c := configMap("x")
	c.object.Node().Content = append([]*yaml.Node{scalar("kind", 0), scalar("ConfigMap", 0)}, c.object.Node().Content...)
	d := configMap("x")
	d.object.Steps = []kustomize.Step{{Kind: kustomize.StepPatch, Pos: d.file + 6}}
	got := Of(Query{}, []Subject{a.on("one"), a.on("two"), b.on("three"), c.on("four"), d.on("five")}, a.positions, nil)
	var builds []string
	for _, x := range got.Builds {
		var on []string
		for _, l := range x.Landings {
			on = append(on, string(l.Cluster))
		}
		builds = append(builds, strings.Join(on, " ")+" "+string(rune('0'+x.Content)))
	}
	if diff := cmp.Diff([]string{"one two 1", "three four 2", "five 1"}, builds); diff != "" || got.Contents != 2 {
		t.Errorf("%d contents, builds -want +got:\n%s", got.Contents, diff)
	}
}

// TestSecretsStay: what a Secret holds is shown nowhere: not as a value, not as
// what was overridden, not in another object, not as part of a longer text.
func TestSecretsStay(t *testing.T) {
	secrets := &Secrets{}
	hidden := configMap("marker-of-the-secret")
	hidden.object.Ref.Kind = "Secret"
	secrets.Add(hidden.object)
	for what, m := range map[string]*made{"a Secret": hidden, "a copy": configMap("marker-of-the-secret"), "a part": configMap("https://x:marker-of-the-secret@y")} {
		m.object.History.Values[m.value] = &kustomize.Record{Cause: kustomize.Cause{Kind: kustomize.StepPatch, Pos: m.file + 9}, Old: scalar("marker-of-the-secret", m.file+8)}
		got := only(t, Of(Query{}, []Subject{m.on("one")}, m.positions, secrets).Builds[0].Fields)
		if !got.Value.Secret || got.Value.Text != "" || !got.Overridden[0].Value.Secret || got.Overridden[0].Value.Text != "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	// A value that a step took from a Secret, though no object says it.
	m := configMap("derived")
	m.object.History.Values[m.value] = &kustomize.Record{Cause: kustomize.Cause{Kind: kustomize.StepTransformer, Pos: m.file + 9, Secret: true}}
	if got := only(t, Of(Query{}, []Subject{m.on("one")}, m.positions, secrets).Builds[0].Fields); !got.Value.Secret || got.Value.Text != "" {
		t.Errorf("%+v", got)
	}
}

// TestUnknown: a value that keeps its variable names it, and where it would come
// from.
func TestUnknown(t *testing.T) {
	m := configMap("is ${COLOR}")
	m.object.Tree = packed.Of(m.object.Node(), map[*yaml.Node]string{m.value: "COLOR"})
	s := m.on("one")
	s.Variables = map[string]Source{"COLOR": {From: "Secret flux-system/hush", Pos: m.file + 12, Secret: true}}
	got := only(t, Of(Query{}, []Subject{s}, m.positions, nil).Builds[0].Fields)
	if !got.Value.Secret || got.Value.Unknown != "COLOR" || got.By.Kind != "substitution" || len(got.By.Variables) != 1 || got.By.Variables[0].At.Line != 12 {
		t.Errorf("%+v", got)
	}
	s.Variables = nil
	got = only(t, Of(Query{}, []Subject{s}, m.positions, nil).Builds[0].Fields)
	if got.Value.Secret || got.Value.Text != "is ${COLOR}" || got.By.Variables[0].From != "" {
		t.Errorf("%+v", got)
	}
}

// TestLong: a long value is cut between characters, and says so.
func TestLong(t *testing.T) {
	m := configMap(strings.Repeat("é", maxValue))
	m.object.History.Values[m.value] = &kustomize.Record{Cause: kustomize.Cause{Kind: kustomize.StepPatch, Pos: m.file + 9}}
	got := only(t, Of(Query{}, []Subject{m.on("one")}, m.positions, nil).Builds[0].Fields)
	if !got.Value.Truncated || got.Value.Text != strings.Repeat("é", maxValue/2) {
		t.Errorf("%d bytes, truncated %v", len(got.Value.Text), got.Value.Truncated)
	}
}

package kustomize

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// A value that a replacement takes from a Secret stands nowhere in a build but in the
// Secret itself, and the build says that it cannot tell everything.
func TestConceal(t *testing.T) {
	a, err := txtar.ParseFile("testdata/limits/conceal.txtar")
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(snapshot.FromTxtar(a, "repo/"))
	b.Build(Target{Dir: "base"}) // the layer is one that was built before
	build := b.Build(Target{Dir: "top"})
	if build.Failure != nil || len(build.Objects) != 4 {
		t.Fatalf("%d objects, %v", len(build.Objects), build.Failure)
	}
	secret, named, sync, other := build.Objects[0], build.Objects[1], build.Objects[2], build.Objects[3]
	if v := lookup(lookup(secret.Node(), "stringData"), "long"); v.Value != "hush-hush" || secret.Conceals || secret.Ref.Name != "up-source" {
		t.Errorf("the Secret is %v with %q", secret.Ref, v.Value)
	}
	if named.Ref.Name != "up-"+Concealed || !named.UnknownIdentity || lookup(lookup(named.Node(), "metadata"), "name").Value != "up-"+Concealed {
		t.Errorf("what has the value as its name is %v, unknown: %t", named.Ref, named.UnknownIdentity)
	}
	content := sync.Tree.Open()
	spec := lookup(content.Node, "spec")
	for field, want := range map[string]string{"path": Concealed, "replicas": Concealed, "secretName": "source", "port": "70"} {
		n := lookup(spec, field)
		if _, unknown := content.Unknown[n]; n.Value != want || unknown != (want == Concealed) {
			t.Errorf("spec.%s is %q, unknown: %t; want %q", field, n.Value, unknown, want)
		}
	}
	if sync.UnknownIdentity || other.Conceals || lookup(lookup(other.Node(), "data"), "a").Value != "7" {
		t.Errorf("another object is concealed: %v, %v", content.Unknown, other.Tree.Open().Unknown)
	}
	if f := build.Unresolved; f == nil || f.Code != codeSecretIdentity {
		t.Errorf("unresolved: %v", f)
	}
	f := b.Build(Target{Dir: "twice"}).Failure
	if f == nil || f.Code != codeDuplicateID || strings.Contains(f.Message, "hush") || !strings.Contains(f.Message, Concealed) {
		t.Errorf("two objects of one concealed name: %v", f)
	}
}

func TestConcealText(t *testing.T) {
	for _, tt := range []struct {
		text, value string
		loose       bool
		want        string
	}{
		{"a-hush-hush-b", "hush-hush", false, "a-(secret)-b"},
		{"port 7 of 77", "7", true, "port (secret) of 77"},
		{"7", "7", false, "7"},
		{"7-7", "7", true, "(secret)-(secret)"},
	} {
		if got := conceal(tt.text, []string{tt.value}, tt.loose); got != tt.want {
			t.Errorf("%q without %q: %q, want %q", tt.text, tt.value, got, tt.want)
		}
	}
}

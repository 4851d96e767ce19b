package fieldpath

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Path
	}{
		{"spec", Path{{Key: "spec"}}},
		{".spec.replicas", Path{{Key: "spec"}, {Key: "replicas"}}},
		{"a[0][12].b", Path{{Key: "a"}, {Element: true, Index: 0}, {Element: true, Index: 12}, {Key: "b"}}},
		{"c[name=app].image", Path{{Key: "c"}, {Element: true, Index: -1, Key: "name", Value: "app"}, {Key: "image"}}},
		{`c[name="a]b"]`, Path{{Key: "c"}, {Element: true, Index: -1, Key: "name", Value: "a]b"}}},
		{`metadata.labels["a.b/c"]`, Path{{Key: "metadata"}, {Key: "labels"}, {Key: "a.b/c"}}},
		{`["a b"].c`, Path{{Key: "a b"}, {Key: "c"}}},
	} {
		got, err := Parse(c.text)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.text, err, diff)
		}
	}
	for _, bad := range []string{
		"", ".", "a.", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[01]", "a[=x]", "a[k=v", `a["x"`, `a["x]`, "a]b", `a"b`,
		"a[0]b", "a[0]..b", "a['x']", strings.Repeat("a", maxLength+1),
	} {
		if p, err := Parse(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q is read as %v, %v", bad, p, err)
		}
	}
}

func TestCovers(t *testing.T) {
	whole := Path{{Key: "metadata"}, {Key: "labels"}, {Key: "app.kubernetes.io/name"}}
	list := Path{{Key: "spec"}, {Key: "containers"}, {Element: true, Index: 1, Key: "name", Value: "app"}, {Key: "image"}}
	for _, c := range []struct {
		query string
		of    Path
		want  bool
	}{
		{"metadata", whole, true},
		{"metadata.labels", whole, true},
		{`metadata.labels["app.kubernetes.io/name"]`, whole, true},
		{"metadata.labels.app.kubernetes.io/name", whole, true},
		{"metadata.labels.app", whole, false},
		{"metadata.labels.app.kubernetes.io/name.x", whole, false},
		{"meta", whole, false},
		{"spec.containers[name=app]", list, true},
		{"spec.containers[1].image", list, true},
		{"spec.containers[0].image", list, false},
		{"spec.containers[name=web].image", list, false},
		{"spec.containers.image", list, false},
		{"spec.containers[1].image.tag", list, false},
	} {
		p, err := Parse(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers(c.of); got != c.want {
			t.Errorf("%s covers %s: %t", c.query, c.of, got)
		}
	}
}

func TestLeaves(t *testing.T) {
	var doc yaml.Node
	text := `{a: {}, b: [{name: x, v: 1}, {name: y}], c: [1, [2]], "d.e": null}`
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	Leaves(&doc, func(p Path, _, n *yaml.Node) bool {
		got = append(got, p.String()+" = "+n.Value)
		return true
	})
	want := []string{"a = ", "b[name=x].name = x", "b[name=x].v = 1", "b[name=y].name = y", "c[0] = 1", "c[1][0] = 2", `["d.e"] = null`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse: what is read is written so that it is read the same again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"spec.a[0]", `a[name="x\"y"]["b.c"]`, "[k=]", "a.b[1][2]", `["\xff"]`, "a[k=\x00]", "é.ü[ß=ö]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		again, err := parse(p.String()) // quotes may make it longer than Parse reads
		if err != nil {
			t.Fatalf("%q was written as %q: %v", s, p, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("%q was written as %q:\n%s", s, p, diff)
		}
	})
}

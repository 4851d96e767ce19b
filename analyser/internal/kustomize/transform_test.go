package kustomize

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/filters/namespace"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// bothWays are the same objects twice: without shortcuts and with them.
type bothWays [2]*resources

func newBothWays(nodes []*yaml.Node) bothWays {
	b := bothWays{{long: true}, {}}
	for _, m := range b {
		for _, n := range nodes {
			m.list = append(m.list, &entry{res: &resource.Resource{RNode: *kyaml.NewRNode(copyNode(n))}, shared: true})
		}
	}
	return b
}

// step applies a step to both and returns how they differ, and whether the step failed.
func (b bothWays) step(name string, apply func(*resources) error) (diff string, failed bool) {
	var errs [2]string
	for i, m := range b {
		func() {
			defer func() {
				if r := recover(); r != nil {
					errs[i] = "panic"
				}
			}()
			if err := apply(m); err != nil {
				errs[i] = err.Error()
			}
		}()
	}
	if errs[0] != errs[1] {
		return fmt.Sprintf("%s: the long way fails with %q, the short one with %q", name, errs[0], errs[1]), true
	}
	for i := range b[0].list {
		if d := cmp.Diff(everything(b[0].list[i].res.YNode()), everything(b[1].list[i].res.YNode())); d != "" {
			return fmt.Sprintf("%s: the long way (-) and the short one (+) differ:\n%s", name, d), false
		}
	}
	return "", errs[0] != ""
}

// someImage is the image of a container by chance, or "".
func someImage(by *rand.Rand, n *yaml.Node) string {
	found := ""
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "image" && c.Kind == yaml.ScalarNode && (found == "" || by.IntN(2) == 0) {
			found = c.Value
		}
		if f := someImage(by, c); f != "" && (found == "" || by.IntN(2) == 0) {
			found = f
		}
	}
	return found
}

// transformed sends objects through what transforms them, in an order by chance, and
// returns how the two ways differ. set counts images and references that were written.
func transformed(t *testing.T, by *rand.Rand, nodes []*yaml.Node, set *int) string {
	t.Helper()
	b := newBothWays(nodes)
	config := *defaultConfig()
	config.NameSpace = append(config.NameSpace[:len(config.NameSpace):len(config.NameSpace)],
		types.FieldSpec{Gvk: resid.Gvk{Kind: "HelmRelease"}, Path: "spec/targetNamespace", CreateIfNotPresent: by.IntN(2) == 0})
	images := config.Images
	if by.IntN(2) == 0 {
		images = append(images[:len(images):len(images)], types.FieldSpec{Path: "spec/image"}, types.FieldSpec{Gvk: resid.Gvk{Group: "apps"}, Path: "spec/template/spec/containers/image"})
	}
	for i := range 5 {
		name, apply := "", func(*resources) error { return nil }
		kind := by.IntN(5)
		if i == 0 && by.IntN(2) == 0 {
			kind = by.IntN(2) // what renames
		}
		switch kind {
		case 0:
			f := namespace.Filter{Namespace: []string{"other", "on", "1"}[by.IntN(3)], FsSlice: config.NameSpace, SetRoleBindingSubjects: namespace.DefaultSubjectsOnly}
			name, apply = "namespace", func(m *resources) error { return m.setNamespace(f) }
		case 1:
			p := &builtins.PrefixTransformerPlugin{Prefix: "p-", FieldSpecs: config.NamePrefix}
			name, apply = "prefix", func(m *resources) error { return p.Transform(m) }
		case 2:
			of := someImage(by, &yaml.Node{Content: nodes})
			if by.IntN(3) > 0 {
				of, _, _ = splitImage(of)
			}
			p := &builtins.ImageTagTransformerPlugin{FieldSpecs: images, ImageTag: types.Image{
				Name: of, NewName: []string{"", "mirror:5000/x"}[by.IntN(2)], NewTag: []string{"", "1.2"}[by.IntN(2)],
				Digest: []string{"", "sha256:ab"}[by.IntN(2)], TagSuffix: []string{"", "-x"}[by.IntN(2)],
			}}
			name, apply = "images", func(m *resources) error { return m.setImages(p) }
			*set++
		case 3:
			name, apply = "name references", func(m *resources) error { return m.fixReferences(config.NameReference) }
			*set++
		case 4:
			name, apply = "annotations", func(m *resources) error {
				for _, e := range m.list {
					writeAnnotations(e.own().YNode(), [][]string{{originAnnotation}}, m.long)
					storePreviousID(e.res, m.long)
				}
				return nil
			}
		}
		diff, failed := b.step(name, apply)
		if diff != "" || failed {
			return diff
		}
	}
	return ""
}

// TestTransformers compares transformers with and without their shortcuts on the
// objects of the golden censuses and of the corpus, as they are and mangled.
func TestTransformers(t *testing.T) {
	runs, set := 0, 0
	compare := func(by *rand.Rand, name string, nodes []*yaml.Node) {
		rounds := 2
		if someImage(by, &yaml.Node{Content: nodes}) != "" {
			rounds = 12
		}
		if strings.HasSuffix(name, ".yaml") {
			rounds /= 2 // a file of the corpus, of which there are many
		}
		for i := range rounds {
			list := nodes
			if i%2 == 1 {
				list = nil
				for _, n := range nodes {
					list = append(list, mangled(by, n, by.IntN(8) == 0))
				}
			}
			runs++
			if diff := transformed(t, by, list, &set); diff != "" {
				t.Errorf("%s: %s", name, diff)
				return
			}
		}
	}
	eachText(t, func(name, text string) {
		by := rand.New(rand.NewPCG(uint64(len(text)), 3))
		var nodes []*yaml.Node
		seen := map[string]bool{}
		for _, d := range document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Documents {
			id := d.Ref.Kind + "/" + d.Ref.Name // as in one namespace
			if d.Node() == nil || d.Node().Kind != yaml.MappingNode || seen[id] {
				continue
			}
			seen[id] = true
			if nodes = append(nodes, d.Node()); len(nodes) == 25 {
				compare(by, name, nodes)
				nodes = nil
			}
		}
		if len(nodes) > 0 {
			compare(by, name, nodes)
		}
	})
	t.Logf("%d runs", runs)
	if runs < 100 || set < 20 {
		t.Errorf("%d runs compare little", runs)
	}
}

// TestReferencesUnchanged compares references to what has its old name still, of which
// there are several, or in namespaces that cannot be referred to.
func TestReferencesUnchanged(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "transform", "references_unchanged.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		var nodes []*yaml.Node
		for _, d := range document.NewReader(&position.Set{}, document.Limits{}).Text(string(f.Data), 0).Documents {
			nodes = append(nodes, d.Node())
		}
		b := newBothWays(nodes)
		for _, m := range b {
			for _, e := range m.list {
				e.own().StorePreviousId()
			}
		}
		diff, failed := b.step(f.Name, func(m *resources) error { return m.fixReferences(defaultConfig().NameReference) })
		if diff != "" || failed {
			t.Error(diff, failed)
		}
		want := strings.Contains(string(a.Comment), f.Name+" is recorded")
		if got := strings.Contains(fmt.Sprint(everything(b[0].list[1].res.YNode())), referredBy); got != want {
			t.Errorf("%s: a reference to the second object is recorded: %v, want %v", f.Name, got, want)
		}
	}
}

// TestNewImages compares with what the filter makes of each image.
func TestNewImages(t *testing.T) {
	n := 0
	for _, image := range []string{"a", "a:1", "a@sha256:0", "a:1@sha256:0", "h:5000/a", "h:5000/a:1", "h:5000/a/b:1@sha256:0", "h:5000/a@sha256:0", "", ":1", "a:", "a@x"} {
		for _, name := range []string{"a", "h:5000/a", "h:5000/a/b", ".*", "[", ""} {
			for _, by := range []types.Image{{}, {NewName: "b"}, {NewTag: "2"}, {Digest: "d"}, {NewTag: "2", Digest: "d"}, {TagSuffix: "-s"}, {NewName: "b:1", TagSuffix: "-s"}} {
				by.Name = name
				rn := kyaml.NewMapRNode(&map[string]string{"kind": "A", "image": image})
				f := imagetag.Filter{ImageTag: by, FsSlice: types.FsSlice{{Path: "image"}}}
				if _, err := f.Filter([]*kyaml.RNode{rn}); err != nil {
					t.Fatal(err)
				}
				got := image
				if matchingImages(name)(image) {
					got = newImage(image, by)
					n++
				}
				if want := lookup(rn.YNode(), "image").Value; got != want {
					t.Errorf("%q by %+v: got %q, want %q", image, by, got, want)
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d images match", n)
	}
}

// FuzzTransformers compares on any objects.
func FuzzTransformers(f *testing.F) {
	f.Add("kind: Pod\napiVersion: v1\nmetadata: {name: a, annotations: {b: 'c'}}\nspec: {containers: [{image: 'a:1', name: x}], serviceAccountName: a}\n---\nkind: ServiceAccount\napiVersion: v1\nmetadata: {name: a, namespace: x}\n", uint64(1))
	f.Add("kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {template: {spec: {initContainers: [{image: a@sha256:0}], containers: null, volumes: [{configMap: {name: c}}]}}}\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: c, annotations: {}}\n", uint64(2))
	f.Add("kind: List\napiVersion: v1\nmetadata: {name: [a]}\nimage: x\n---\nkind: RoleBinding\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: r}\nsubjects: [{kind: ServiceAccount, name: default, namespace: x}]\nroleRef: {name: r, kind: Role, apiGroup: rbac.authorization.k8s.io}\n", uint64(3))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		var nodes []*yaml.Node
		for _, r := range document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0).Resources() {
			if !r.Reason.Rejected() && len(nodes) < 8 {
				nodes = append(nodes, r.Node)
			}
		}
		set := 0
		by := rand.New(rand.NewPCG(seed, 4))
		for range 4 {
			if diff := transformed(t, by, nodes, &set); diff != "" {
				t.Error(diff)
			}
		}
	})
}

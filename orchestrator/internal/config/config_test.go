package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/testing/protocmp"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// TestMistakes reads testdata/mistakes.txtar: each file is a configuration whose
// first line is a comment with the message that it wants, "line: message".
func TestMistakes(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "mistakes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 25 {
		t.Errorf("only %d mistakes", len(archive.Files))
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "reach.yaml")
			if err := os.WriteFile(name, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(f.Data), "\n")
			want := strings.TrimPrefix(first, "# ")
			_, err := Load(name)
			if err == nil {
				t.Fatalf("no error, want %s", want)
			}
			if got := strings.TrimPrefix(err.Error(), name+":"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestExample: the documented example is a configuration, and it uses every key
// that there is.
func TestExample(t *testing.T) {
	name := filepath.Join("..", "..", "..", "reach.example.yaml")
	c, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	want := &reachv1.CensusRequest{
		Roots: []*reachv1.Root{
			{Cluster: "hub-eu", Path: "clusters/hub-eu", DeclaredBy: "config"},
			{Cluster: "edge", Path: "edge/prod", Namespace: "gitops", Name: "edge", DeclaredBy: "config"},
			{Cluster: "lab", Path: "", DeclaredBy: "flag"},
		},
		Clusters: []*reachv1.ClusterStatement{{
			Cluster: "hub-eu", Controllers: []string{"source-controller", "kustomize-controller", "helm-controller"},
			KustomizeControllerVersion: "1.9.6", FeatureGates: map[string]bool{"StrictPostBuildSubstitutions": true},
		}},
		Spokes: []*reachv1.SpokeMapping{
			{ControllerCluster: "hub-eu", Namespace: "flux-system", Kind: "Secret", Name: "spoke-a-kubeconfig", Key: "value", Cluster: "spoke-a"},
			{ControllerCluster: "hub-eu", Namespace: "flux-system", Kind: "ConfigMap", Name: "spoke-b", Cluster: "spoke-b"},
		},
		Sources: []*reachv1.SourceMapping{
			{Kind: "OCIRepository", Namespace: "flux-system", Name: "platform", Subdirectory: "deploy", Ref: "tag:latest"},
			{Url: "ssh://git@git.example.com/acme/platform", Ref: "branch:main", Cluster: "hub-eu"},
			{Url: "https://github.com/acme/charts", External: true},
		},
		Limits: &reachv1.Limits{
			MaxBlobBytes: 67108864, MaxFiles: 1000000, MaxDocumentNodes: 1000000, MaxDocuments: 100000,
			MaxLayerDepth: 100, MaxBuildObjects: 100_000,
		},
	}
	lab, err := ParseRoot("lab=.")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.Request(lab), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(Aliases{
		Clusters:   map[string]string{"hub-eu": "blue", "spoke-a": "blue-a"},
		Repository: map[string]string{"platform": "repo", "acme": "company"},
		Words:      map[string]string{"projectx": "project"},
	}, c.Aliases); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]Suppression{{
		Rule: "reach.flux.double_owner", Path: "apps/base/**", Object: "ConfigMap/*/feature-flags", Cluster: "hub-eu",
		Reason: "Both write the same content until the move to the new layout is done.", Expires: "2027-06-30", line: 101,
	}}, c.Suppressions, cmp.AllowUnexported(Suppression{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseRoot(t *testing.T) {
	for value, want := range map[string]Root{
		"hub=hub":                            {Cluster: "hub", Path: "hub"},
		"hub=./clusters/hub/":                {Cluster: "hub", Path: "clusters/hub"},
		"hub=.":                              {Cluster: "hub"},
		"hub=a@b/c":                          {Cluster: "hub", Path: "a", Namespace: "b", Name: "c"},
		"hub=a@b@c/d":                        {Cluster: "hub", Path: "a@b", Namespace: "c", Name: "d"},
		"hub=node_modules/@acme/sub/dir":     {Cluster: "hub", Path: "node_modules/@acme/sub/dir"},
		"hub=a=b":                            {Cluster: "hub", Path: "a=b"},
		"hub/flux-system/spoke=clusters/x/y": {Cluster: "hub/flux-system/spoke", Path: "clusters/x/y"},
	} {
		got, err := ParseRoot(value)
		if err != nil {
			t.Errorf("%s: %v", value, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Root{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", value, diff)
		}
	}
	for _, value := range []string{"", "hub", "=path", "hub=", "hub=/x", "hub=../x", "hub=a/../../x", "hub=@a/b", "hub=a\nb"} {
		if got, err := ParseRoot(value); err == nil {
			t.Errorf("%q is taken for %+v", value, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "null\n", "roots:\n"} {
		if _, line, message := Parse([]byte(text)); message != "" {
			t.Errorf("%q: %d: %s", text, line, message)
		}
	}
}

// FuzzParse: no input makes the reader crash or hang, and every mistake has a
// message.
func FuzzParse(f *testing.F) {
	for _, name := range []string{filepath.Join("..", "..", "..", "reach.example.yaml"), filepath.Join("testdata", "mistakes.txtar")} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range append(txtar.Parse(data).Files, txtar.File{Data: data}) {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, line, message := Parse(data)
		if (c == nil) != (message != "") || line < 0 {
			t.Errorf("config %v, line %d, message %q", c, line, message)
		}
	})
}

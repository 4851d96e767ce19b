package source

import (
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

func TestResolve(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	home := []Home{{Kind: "GitRepository", URL: "ssh://git@example.com/o/fleet", Ref: "branch:main", Commit: commit}}
	git := func(url, ref string) controller.Source {
		return controller.Source{Object: object.Ref{Kind: "GitRepository", Namespace: "flux-system", Name: "x"}, URL: url, Ref: ref}
	}
	oci := controller.Source{Object: object.Ref{Kind: "OCIRepository", Namespace: "flux-system", Name: "x"}, URL: "oci://example.com/fleet", Ref: "tag:latest"}
	for _, c := range []struct {
		name     string
		src      controller.Source
		homes    []Home
		mappings []Mapping
		want     Meaning
		sub      string
	}{
		{"same URL in another form and same ref", git("https://example.com/o/fleet.git", "branch:main"), home, nil, ThisCommit, ""},
		{"full name of the branch", git("https://example.com/o/fleet", "name:refs/heads/main"), home, nil, ThisCommit, ""},
		{"C07: another ref is other content", git("https://example.com/o/fleet", "tag:v1"), home, nil, OtherRef, ""},
		{"C07: the pinned commit", git("https://example.com/o/fleet", "commit:"+commit), home, nil, ThisCommit, ""},
		{"C07: another commit", git("https://example.com/o/fleet", "commit:ffff"), home, nil, OtherRef, ""},
		{"C09: another repository", git("https://example.com/o/pomerium", "branch:main"), home, nil, OtherRepository, ""},
		{"another port cannot be told", git("ssh://git@example.com:2222/o/fleet", "branch:main"), home, nil, Undecided, ""},
		{"no root tells the URL", git("https://example.com/o/fleet", "branch:main"), nil, nil, Undecided, ""},
		{
			"a second root with another ref", git("https://example.com/o/fleet", "branch:dev"),
			append(home, Home{Kind: "GitRepository", URL: "https://example.com/o/fleet", Ref: "branch:dev"}), nil, ThisCommit, "",
		},
		{"C10: an OCI artifact", oci, home, nil, Undecided, ""},
		{"an OCI root", oci, []Home{{Kind: "OCIRepository", URL: "oci://example.com/fleet", Ref: "tag:latest", Subdirectory: "./k8s/"}}, nil, ThisCommit, "k8s"},
		{"mapped", oci, home, []Mapping{{Kind: "OCIRepository", Name: "x", Subdirectory: "kubernetes"}}, ThisCommit, "kubernetes"},
		{"mapped for another cluster", oci, home, []Mapping{{Name: "x", Cluster: "other"}}, Undecided, ""},
		{"mapped at another ref", oci, home, []Mapping{{Name: "x", Ref: "tag:v1"}}, OtherRef, ""},
		{"mapped as external", git("https://example.com/o/fleet", "branch:main"), home, []Mapping{{URL: "git@example.com:o/fleet", External: true}}, OtherRepository, ""},
		{"a mapping that says nothing matches nothing", git("https://example.com/o/pomerium", "branch:main"), home, []Mapping{{Kind: "GitRepository"}}, OtherRepository, ""},
	} {
		got := Resolve(c.src, "hub", c.homes, c.mappings)
		if got.Meaning != c.want || got.Subdirectory != c.sub || got.Detail == "" {
			t.Errorf("%s: %+v, want %s below %q", c.name, got, c.want, c.sub)
		}
	}
}

package census

import (
	"bytes"
	"context"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestOriginURL: where the repository comes from is what the roots' sources say,
// without user and password, also when the clone has no remote or another one;
// only where no root has such a source does the clone's remote count.
func TestOriginURL(t *testing.T) {
	const written = "https://github.com/acme-corp/fleet"
	for _, c := range []struct{ what, url, remote, want string }{
		{"the clone has no remote", written, "", written},
		{"the clone is a mirror", written, "https://mirror.example/fleet", written},
		{"the source has a password", "https://user:pass@github.com/acme-corp/fleet", "", written},
		{"the source is reached by ssh", "ssh://git@github.com/acme-corp/fleet", "", "ssh://github.com/acme-corp/fleet"},
	} {
		a, err := txtar.ParseFile("../../../testdata/census/class_local.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Files {
			a.Files[i].Data = bytes.ReplaceAll(a.Files[i].Data, []byte(written), []byte(c.url))
		}
		got, err := Take(context.Background(), snapshot.FromTxtar(a, "repo/"), Request{Engines: []controller.Engine{flux.Engine()}, OriginURL: c.remote})
		if err != nil {
			t.Fatal(err)
		}
		if got.OriginURL != c.want {
			t.Errorf("%s: %q, want %q", c.what, got.OriginURL, c.want)
		}
	}
}

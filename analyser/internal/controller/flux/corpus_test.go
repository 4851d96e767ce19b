package flux

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// TestCorpus reads every Flux object of real repositories as it is written,
// without the patches that complete some of them: nine patches that are only
// part of an object, one release that a base completes, four sources whose URL
// is a placeholder, and one ResourceSet with external inputs have a Problem.
func TestCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	kinds, wrong := map[string]int{}, 0
	e := Engine()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := document.NewReader(&position.Set{}, document.Limits{}).Text(string(b), 0)
		for _, doc := range f.Documents {
			if !e.Handles(doc.Ref.GroupKind()) {
				continue
			}
			x := e.Read(&kustomize.Object{Ref: doc.Ref, Tree: doc.Tree, Origin: doc.Pos})
			kinds[doc.Ref.Kind]++
			var problems []*controller.Problem
			for _, s := range x.Syncs {
				problems = append(problems, s.Problem)
			}
			for _, s := range x.Releases {
				problems = append(problems, s.Problem)
			}
			for _, s := range x.Sources {
				problems = append(problems, s.Problem)
			}
			for _, p := range append(problems, x.Problem) {
				if p != nil {
					wrong++
					t.Logf("%s: %s: %s", strings.TrimPrefix(path, root+"/"), doc.Ref, p.Message)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(kinds)
	if wrong != 15 {
		t.Errorf("%d objects have a problem, want 15", wrong)
	}
	if kinds["Kustomization"] < 100 || kinds["HelmRelease"] < 50 {
		t.Errorf("too few objects were read: %v", kinds)
	}
}

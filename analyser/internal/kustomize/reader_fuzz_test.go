package kustomize

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// FuzzKustomization reads and builds any kustomization file, plainly and as a
// Flux Kustomization has it. Nothing crashes or hangs, and what krusty makes of
// the file is what we make of it, unless we say that we cannot know.
func FuzzKustomization(f *testing.F) {
	view, err := txtar.ParseFile("testdata/reader/view.txtar")
	if err != nil {
		f.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range a.Files {
			if strings.HasSuffix(part.Name, "/kustomization.yaml") {
				f.Add(part.Data)
			}
		}
	}
	f.Add([]byte("resources: [app.yaml, config.yaml, base]\ncomponents: [comp]\npatches: [{path: patch.yaml}, {path: ops.yaml, target: {kind: Deployment}}]\n" +
		"configMapGenerator: [{name: g, envs: [a.env], literals: [x=y]}]\nimages: [{name: nginx, newTag: '2'}]\nreplicas: [{name: app, count: 4}]\ntransformers: [labels.yaml]\n"))
	f.Add([]byte("resources: [app.yaml, config.yaml]\nnamespace: n\nnameSuffix: -s\nlabels: [{pairs: {a: b}, includeSelectors: true}]\nvars: [{name: NAME, objref: {kind: ConfigMap, name: config, apiVersion: v1}}]\n" +
		"replacements: [{source: {kind: ConfigMap, name: config, fieldPath: data.a}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.image]}]}]\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<14 || bytes.Contains(content, []byte("openapi")) {
			t.Skip("upstream is quadratic in places, and keeps schemas in global variables")
		}
		a := &txtar.Archive{Files: append(view.Files[:len(view.Files):len(view.Files)], txtar.File{Name: "kustomization.yaml", Data: content})}
		s := snapshot.FromTxtar(a, "")
		b := newBuilder(s)
		var sum tally
		sum.compare(b, &snapshotFS{view: s}, "it", Target{}, false)
		if sum.bad() {
			t.Errorf("%v\n%s", &sum, strings.Join(sum.differences, "\n"))
		}
		b.Build(Target{Flux: &Overlay{TargetNamespace: "t", NamePrefix: "p-", Patches: []Patch{{Text: "[{op: test, path: /kind, value: Secret}]", Target: &Selector{Kind: "Secret"}}}}})
	})
}

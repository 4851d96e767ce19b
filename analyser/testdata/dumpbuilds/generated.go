package main

import (
	"path"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
	"github.com/gitops-reach/reach/hack/dump"
)

// generated builds every directory for which Flux generates a kustomization
// file.
func generated(s *snapshot.Snapshot, reply *dump.Reply) error {
	v, p := source.NewViews(s).View(controller.Source{Object: object.Ref{Kind: "GitRepository"}}, "", nil)
	if v == nil {
		reply.Error = p.Message
		return nil
	}
	positions := &position.Set{}
	b := kustomize.NewBuilder(v.Snapshot, document.NewReader(positions, document.Limits{}))
	engine := flux.Engine()
	reply.Views[v.Key] = view(v)
	for _, dir := range append([]string{""}, reply.Views[v.Key].Dirs...) {
		if !needsFile(v.Snapshot, dir) {
			continue
		}
		sync := &controller.Sync{
			Object: object.Ref{Kind: "Kustomization", Namespace: "flux-system", Name: "generated"},
			Path:   "./" + dir, Prune: true,
		}
		r := engine.Build(b, sync, nil, true, true)
		reply.Generated = append(reply.Generated, dump.Sync{
			Namespace: "flux-system", Name: path.Join("generated", dir), State: "resolved", Object: definition(sync),
			ViewKey: v.Key, Directory: dir, Build: len(reply.Builds),
		})
		reply.Builds = append(reply.Builds, build(r.Build, positions))
	}
	return nil
}

func needsFile(s *snapshot.Snapshot, dir string) bool {
	for _, d := range s.ReadDir(dir) {
		if !d.Dir && kustomize.IsKustomizationFile(d.Name) {
			return false
		}
	}
	for _, e := range s.Below(dir) {
		if strings.HasSuffix(e.Path, ".yaml") || strings.HasSuffix(e.Path, ".yml") {
			return true
		}
	}
	return false
}

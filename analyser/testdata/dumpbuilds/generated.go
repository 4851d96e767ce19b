package main

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
	"github.com/gitops-reach/reach/hack/dump"
)

// alone builds Kustomizations of the repository's artifact that no cluster
// has: those that are asked for, and one for every directory for which Flux
// generates a kustomization file.
func alone(s *snapshot.Snapshot, req *dump.Request, reply *dump.Reply) error {
	v, p := source.NewViews(s).View(controller.Source{Object: object.Ref{Kind: "GitRepository"}}, "", nil)
	if v == nil {
		return errors.New(p.Message)
	}
	positions := &position.Set{}
	docs := document.NewReader(positions, document.Limits{})
	b, engine := kustomize.NewBuilder(v.Snapshot, docs), flux.Engine()
	reply.Views[v.Key] = view(v)
	reply.Strict[""] = true
	one := func(sync *controller.Sync, definition json.RawMessage) dump.Sync {
		dir := engine.Directory(sync.Path)
		out := dump.Sync{
			Namespace: sync.Object.Namespace, Name: path.Join(sync.Object.Name, dir), State: "resolved", Object: definition,
			ViewKey: v.Key, Directory: dir, Build: len(reply.Builds),
		}
		if sync.Problem != nil {
			out.State, out.Reason = "unresolved", sync.Problem.Code
		}
		r := engine.Build(b, sync, sync.Variables.Inline, true, true)
		reply.Builds = append(reply.Builds, build(r.Build, positions))
		return out
	}
	for _, dir := range append([]string{""}, reply.Views[v.Key].Dirs...) {
		if req.Generated && needsFile(v.Snapshot, dir) {
			sync := &controller.Sync{
				Object: object.Ref{Kind: "Kustomization", Namespace: "flux-system", Name: "generated"}, Path: "./" + dir, Prune: true,
			}
			reply.Generated = append(reply.Generated, one(sync, definition(sync)))
		}
	}
	for _, k := range req.Kustomizations {
		var n yaml.Node
		if err := yaml.Unmarshal(k, &n); err != nil {
			return err
		}
		var meta struct {
			Metadata struct{ Name, Namespace string }
		}
		if err := json.Unmarshal(k, &meta); err != nil {
			return err
		}
		d := engine.Read(&kustomize.Object{Tree: packed.Of(n.Content[0], nil), Ref: object.Ref{
			Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization",
			Namespace: meta.Metadata.Namespace, Name: meta.Metadata.Name,
		}})
		if len(d.Syncs) != 1 {
			return errors.New("a Kustomization is read as something else")
		}
		reply.Kustomizations = append(reply.Kustomizations, one(&d.Syncs[0], k))
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

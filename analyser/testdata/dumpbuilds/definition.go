package main

import (
	"encoding/json"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

// definition writes out a Sync that stands in no file of its own (a declared
// root, one that an operator makes) as the Kustomization that it is.
func definition(s *controller.Sync) json.RawMessage {
	spec := map[string]any{"path": s.Path, "prune": s.Prune, "interval": "10m"}
	set := func(key string, v any, ok bool) {
		if ok {
			spec[key] = v
		}
	}
	o := &s.Overlay
	set("targetNamespace", o.TargetNamespace, o.TargetNamespace != "")
	set("namePrefix", o.NamePrefix, o.NamePrefix != "")
	set("nameSuffix", o.NameSuffix, o.NameSuffix != "")
	set("components", o.Components, len(o.Components) > 0)
	set("ignoreMissingComponents", true, o.IgnoreMissingComponents)
	set("buildMetadata", o.BuildMetadata, len(o.BuildMetadata) > 0)
	var patches, images []any
	for _, p := range o.Patches {
		patch := map[string]any{"patch": p.Text}
		if t := p.Target; t != nil {
			patch["target"] = map[string]any{
				"group": t.Group, "version": t.Version, "kind": t.Kind, "name": t.Name, "namespace": t.Namespace,
				"labelSelector": t.LabelSelector, "annotationSelector": t.AnnotationSelector,
			}
		}
		patches = append(patches, patch)
	}
	for _, i := range o.Images {
		images = append(images, map[string]any{"name": i.Name, "newName": i.NewName, "newTag": i.NewTag, "digest": i.Digest})
	}
	set("patches", patches, len(patches) > 0)
	set("images", images, len(images) > 0)
	if v := &s.Variables; v.Declared {
		var from []any
		for _, f := range v.From {
			from = append(from, map[string]any{"kind": f.Kind, "name": f.Name, "optional": f.Optional})
		}
		build := map[string]any{"substitute": v.Inline, "substituteFrom": from}
		if v.Always {
			build["substituteStrategy"] = "Always"
		}
		spec["postBuild"] = build
	}
	if len(s.CommonLabels)+len(s.CommonAnnotations) > 0 {
		spec["commonMetadata"] = map[string]any{"labels": s.CommonLabels, "annotations": s.CommonAnnotations}
	}
	j, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": s.Object.Name, "namespace": s.Object.Namespace}, "spec": spec,
	})
	if err != nil {
		panic(err) // strings and bools
	}
	return j
}

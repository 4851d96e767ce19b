package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gitops-reach/reach/hack/dump"
)

// overlay builds n random directories of a subject by Kustomizations with
// random fields, as both sides read and build them. Equal seeds give equal
// Kustomizations.
func (b *bench) overlay(s *subject, t *table, n int, seed uint64) error {
	req := s.request
	req.AllPlain, req.Generated = true, true
	base, err := b.builds(&req)
	if err != nil {
		return err
	}
	if base.Error != "" {
		return fmt.Errorf("no census: %s", base.Error)
	}
	h := fnv.New64a()
	h.Write([]byte(s.name))
	o := &overlayer{rng: rand.New(rand.NewPCG(seed, h.Sum64()))}
	for _, p := range base.Plain {
		o.dirs = append(o.dirs, p.Dir)
		o.objects = append(o.objects, p.Build.Objects...)
	}
	for _, g := range base.Generated {
		o.dirs = append(o.dirs, g.Directory)
	}
	if len(o.dirs) == 0 || len(o.objects) == 0 {
		return nil
	}
	req = s.request
	for i := range n {
		req.Kustomizations = append(req.Kustomizations, o.kustomization(i))
	}
	reply, err := b.builds(&req)
	if err != nil {
		return err
	}
	if reply.Error != "" {
		return fmt.Errorf("no census: %s", reply.Error)
	}
	w, err := b.newWork(s)
	if err != nil {
		return err
	}
	defer w.close()
	start, sum := time.Now(), newTally()
	reply.Syncs = reply.Kustomizations
	for i := range reply.Syncs {
		one := newTally()
		if err := w.syncs(reply, one, []int{i}); err != nil {
			return err
		}
		for j := range one.differences {
			one.differences[j] += "\n    by " + string(reply.Syncs[i].Object)
		}
		sum.plus(one)
	}
	t.add(s.name, "overlay", sum, time.Since(start))
	return nil
}

// overlayer makes Kustomizations.
type overlayer struct {
	rng     *rand.Rand
	dirs    []string
	objects []dump.Object
}

func pick[T any](o *overlayer, from ...T) T { return from[o.rng.IntN(len(from))] }

func (o *overlayer) maybe(oneIn int) bool { return o.rng.IntN(oneIn) == 0 }

func (o *overlayer) kustomization(i int) json.RawMessage {
	dir := pick(o, o.dirs...)
	spec := map[string]any{
		"path": pick(o, "./", "", "/") + dir, "prune": true, "interval": "10m",
		"sourceRef": map[string]any{"kind": "GitRepository", "name": "flux-system"},
	}
	if o.maybe(3) {
		spec["targetNamespace"] = pick(o, "apps", "kube-system", "default", o.object().Namespace+"x")
	}
	if o.maybe(6) {
		spec["namePrefix"] = pick(o, "a-", "${x}", "-")
	}
	if o.maybe(6) {
		spec["nameSuffix"] = pick(o, "-z", ".z")
	}
	if o.maybe(5) {
		spec["commonMetadata"] = map[string]any{
			"labels": map[string]any{"app": "common", "${k}": "${v}"}, "annotations": map[string]any{"note": "a b"},
		}
	}
	if o.maybe(8) {
		spec["buildMetadata"] = []any{pick(o, "originAnnotations", "transformerAnnotations")}
	}
	if o.maybe(5) {
		spec["images"] = []any{o.image(), o.image()}
	}
	if o.maybe(6) {
		rel, err := filepath.Rel("/"+dir, "/"+pick(o, append(o.dirs, "absent")...))
		if err == nil {
			spec["components"] = []any{filepath.ToSlash(rel)}
		}
		spec["ignoreMissingComponents"] = o.maybe(2)
	}
	var patches []any
	for o.maybe(2) && len(patches) < 4 {
		patches = append(patches, o.patch())
	}
	if len(patches) > 0 {
		spec["patches"] = patches
	}
	if o.maybe(3) {
		spec["postBuild"] = o.postBuild()
	}
	j, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": fmt.Sprintf("overlay-%d", i), "namespace": "flux-system"}, "spec": spec,
	})
	if err != nil {
		panic(err) // strings and bools
	}
	return j
}

func (o *overlayer) object() dump.Object { return pick(o, o.objects...) }

func (o *overlayer) image() map[string]any {
	name := "nginx"
	// Some image that an object runs.
	for range 20 {
		text := string(o.object().Content)
		if _, after, ok := strings.Cut(text, `"image":"`); ok {
			name, _, _ = strings.Cut(after, `"`)
			name, _, _ = strings.Cut(name, "@")
			if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
				name = name[:i]
			}
			break
		}
	}
	out := map[string]any{"name": name}
	for _, k := range []string{"newName", "newTag", "digest"} {
		if o.maybe(2) {
			out[k] = map[string]string{"newName": "mirror.example/x", "newTag": "v9", "digest": "sha256:" + strings.Repeat("ab", 32)}[k]
		}
	}
	return out
}

// target selects by some fields of an object, now and then by patterns.
func (o *overlayer) target(x dump.Object) map[string]any {
	out := map[string]any{"kind": x.Kind}
	set := func(key, value string) {
		if value != "" && o.maybe(2) {
			out[key] = pick(o, value, value, value[:1]+".*", ".*", value+"|other")
		}
	}
	set("group", x.Group)
	set("version", x.Version)
	set("name", x.Name)
	set("namespace", x.Namespace)
	if o.maybe(6) {
		out["labelSelector"] = pick(o, "app", "app.kubernetes.io/name", "!app", "app in (a,b)", "a=b")
	}
	if o.maybe(8) {
		out["annotationSelector"] = pick(o, "note", "!note")
	}
	if o.maybe(4) {
		delete(out, "kind")
	}
	return out
}

func (o *overlayer) patch() map[string]any {
	x := o.object()
	out := map[string]any{}
	if o.maybe(2) {
		ops := pick(o,
			`[{"op":"add","path":"/metadata/labels","value":{"patched":"yes"}}]`,
			`[{"op":"add","path":"/metadata/annotations/patched","value":"yes"}]`,
			`[{"op":"add","path":"/spec/patched","value":{"a":[1,2.5,null,"x"]}}]`,
			`[{"op":"replace","path":"/spec/replicas","value":3}]`,
			`[{"op":"remove","path":"/spec"}]`,
			`[{"op":"test","path":"/kind","value":"`+x.Kind+`"},{"op":"add","path":"/data","value":{"k":"v"}}]`,
			`[{"op":"replace","path":"/metadata/name","value":"renamed"}]`,
			`[{"op":"replace","path":"/metadata/namespace","value":"moved"}]`,
			`[{"op":"replace","path":"/kind","value":"Other"}]`,
			"- op: add\n  path: /metadata/annotations\n  value:\n    k: |\n      a\n      b\n")
		out["patch"], out["target"] = ops, o.target(x)
		return out
	}
	meta := map[string]any{"name": pick(o, x.Name, x.Name, x.Name, "any")}
	if x.Namespace != "" && o.maybe(2) {
		meta["namespace"] = x.Namespace
	}
	patch := map[string]any{"apiVersion": strings.TrimPrefix(x.Group+"/"+x.Version, "/"), "kind": x.Kind, "metadata": meta}
	switch o.rng.IntN(6) {
	case 0:
		patch["$patch"] = "delete"
	case 1:
		meta["labels"] = map[string]any{"patched": "yes"}
		meta["annotations"] = map[string]any{"note": nil}
	case 2:
		patch["spec"] = map[string]any{"suspend": true, "patched": []any{"a", 1}}
	case 3:
		patch["spec"] = map[string]any{"$patch": "replace", "only": "this"}
	case 4:
		patch["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "sidecar", "image": "sidecar:1"},
		}}}}
	default:
		patch["data"] = map[string]any{"patched": "${region}"}
		patch["spec"] = nil
	}
	j, _ := json.Marshal(patch)
	out["patch"] = string(j)
	if o.maybe(2) {
		out["target"] = o.target(x)
	}
	return out
}

func (o *overlayer) postBuild() map[string]any {
	values := map[string]any{}
	var names []string
	for range 30 {
		_, after, ok := strings.Cut(string(o.object().Content), "${")
		if name, _, closed := strings.Cut(after, "}"); ok && closed {
			name, _, _ = strings.Cut(name, ":")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range append(slices.Compact(names), "region", "x") {
		if !o.maybe(5) {
			values[name] = pick(o, "eu", "1", "true", "", "a: b", "x\ny", "[1]", "\"q\"", "${y}")
		}
	}
	out := map[string]any{}
	if !o.maybe(5) {
		out["substitute"] = values
	}
	if o.maybe(4) {
		out["substituteStrategy"] = "Always"
	}
	return out
}

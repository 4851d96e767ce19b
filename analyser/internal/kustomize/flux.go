package kustomize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// This file is what Flux's kustomize-controller does to a directory before it
// builds it (upstream: fluxcd/pkg/kustomize kustomize_generator.go).

// fluxKfile returns the kustomization file of a target with the overlay
// written into it.
func (b *Builder) fluxKfile(dir string, o *Overlay) *kfile {
	f := &kfile{dir: dir, name: "kustomization.yaml"}
	var k types.Kustomization
	k.TypeMeta = types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}
	if found := b.kustomizationFiles(dir); len(found) > 0 {
		// The first is rewritten; the build then finds all of them.
		orig := b.kfile(dir)
		if len(found) > 1 {
			return orig
		}
		f.entry, f.name, f.base, f.node = orig.entry, orig.name, orig.base, orig.node
		if orig.content == nil && orig.failure != nil {
			f.failure = orig.failure
			return f
		}
		// Unknown fields are lost here, so they fail no build.
		if err := k8syaml.Unmarshal(orig.content, &k); err != nil {
			message, pos := kustomizationError(err, f.node)
			if pos == 0 {
				pos = f.base
				if orig.failure != nil {
					pos = orig.failure.Pos
				}
			}
			f.failure = fail(codeBadKustomization, pos, message)
			return f
		}
		if len(k.Resources) == 0 {
			k.BuildMetadata = []string{types.OriginAnnotations}
		}
	} else {
		resources, failure := b.scan(dir)
		if failure != nil {
			f.failure = failure
			return f
		}
		k.Resources = resources
		if len(resources) == 0 {
			k.Namespace = "_placeholder"
		}
	}
	if f.failure = b.overlay(f, &k, o); f.failure != nil {
		return f
	}
	// Upstream writes the file and kustomize reads it again.
	if !b.options.NoShortcuts {
		if f.k = reread(&k); f.k != nil {
			f.failure = checkKustomization(f.k, f.base, f.node)
			return f
		}
	}
	text, err := k8syaml.Marshal(k)
	if err != nil {
		f.failure = fail(codeBadKustomization, f.base, "the kustomization file cannot be written")
		return f
	}
	f.k, f.failure = parseKustomization(text, f.base, f.node)
	return f
}

// reread is what kustomize reads when it is given a kustomization file as YAML, without
// the way through YAML, which is a good part of small builds; nil when something could
// come back from there as something else: values of charts, and text that is not plain
// (plainJSON).
func reread(k *types.Kustomization) *types.Kustomization {
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 {
		return nil // values of any type
	}
	text, err := json.Marshal(k)
	if err != nil || !plainJSON(text) {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	var out types.Kustomization
	if in.Decode(&out) != nil {
		return nil
	}
	return &out
}

// plainJSON reports JSON, as encoding/json writes it, of which each string comes back
// from YAML as it is: ASCII without control characters, and lines that neither begin
// nor end with what YAML may fold or indent.
func plainJSON(text []byte) bool {
	if bytes.Contains(text, []byte(`"\u003c\u003c"`)) {
		return false // a key "<<" merges
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ' || c >= 0x7f:
			return false
		case c != '\\':
		case text[i+1] == '"' || text[i+1] == '\\':
			i++
		case text[i+1] == 'n':
			// Not after the beginning, a space or another end of a line.
			if before := text[i-1]; before == '"' || before == ' ' || before == 'n' && text[i-2] == '\\' {
				return false
			}
			i++
		case bytes.HasPrefix(text[i:], []byte(`\u00`)) && (text[i+4] == '2' || text[i+4] == '3'):
			i += 5 // <, > and &
		default:
			return false
		}
		if text[i] == '"' && i+1 < len(text) && text[i+1] == ' ' {
			return false // a string that begins with a space
		}
	}
	return true
}

// overlay writes the fields of the Flux object into a kustomization file.
func (b *Builder) overlay(f *kfile, k *types.Kustomization, o *Overlay) *Failure {
	if o.TargetNamespace != "" {
		k.Namespace = o.TargetNamespace
	}
	if o.NamePrefix != "" {
		k.NamePrefix = o.NamePrefix
	}
	if o.NameSuffix != "" {
		k.NameSuffix = o.NameSuffix
	}
	f.overlaid, f.placed = o.Patches, map[string]position.Pos{}
	for key, set := range map[string]bool{
		"namespace": o.TargetNamespace != "", "namePrefix": o.NamePrefix != "", "nameSuffix": o.NameSuffix != "",
		"buildMetadata": len(o.BuildMetadata) > 0,
	} {
		if set {
			f.placed[key] = 0
		}
	}
	for _, p := range o.Patches {
		k.Patches = append(k.Patches, types.Patch{Patch: p.Text, Target: p.Target.selector()})
	}
	for _, c := range o.Components {
		if !isLocal(c) {
			return fail(codeNotFound, f.base, "the component "+quoteShort(c)+" is not a local, relative path")
		}
		if o.IgnoreMissingComponents && !b.exists(f.dir, c) {
			continue
		}
		k.Components = append(k.Components, c)
	}
	for _, img := range o.Images {
		f.placed[fmt.Sprintf("images/%d", mergeImage(k, img))] = 0
	}
	if len(o.BuildMetadata) > 0 {
		k.BuildMetadata = o.BuildMetadata
	}
	return nil
}

// placeOverlay finds the lines of what the overlay set in the spec of the Flux
// object.
func (f *kfile) placeOverlay(o *Overlay, spec *yaml.Node) {
	if f.placed == nil || f.k == nil {
		return
	}
	line := func(n *yaml.Node) position.Pos {
		if n == nil {
			return 0
		}
		return position.Pos(n.Line)
	}
	for key, field := range map[string]string{
		"namespace": "targetNamespace", "namePrefix": "namePrefix", "nameSuffix": "nameSuffix", "buildMetadata": "buildMetadata",
	} {
		if _, ok := f.placed[key]; ok {
			f.placed[key] = line(lookup(spec, field))
		}
	}
	at := func(field string, i int) position.Pos {
		if list := lookup(spec, field); list != nil && i < len(list.Content) {
			return line(list.Content[i])
		}
		return 0
	}
	for i, img := range o.Images {
		for j := range f.k.Images {
			if f.k.Images[j].Name == img.Name {
				pos := at("images", i)
				if pos != 0 {
					pos = lineOf(lookup(spec, "images").Content[i], pos, imageKeys...)
				}
				f.placed[fmt.Sprintf("images/%d", j)] = pos
				break
			}
		}
	}
	for i, c := range o.Components {
		for j := len(f.k.Components) - 1; j >= 0; j-- {
			if f.k.Components[j] == c {
				f.placed[fmt.Sprintf("components/%d", j)] = at("components", i)
				break
			}
		}
	}
}

// mergeImage returns the index of the image that it changed or added.
func mergeImage(k *types.Kustomization, img Image) int {
	for i := range k.Images {
		if k.Images[i].Name != img.Name {
			continue
		}
		if img.NewName != "" {
			k.Images[i].NewName = img.NewName
		}
		if img.NewTag != "" || img.Digest != "" {
			k.Images[i].NewTag, k.Images[i].Digest = img.NewTag, img.Digest
		}
		return i
	}
	k.Images = append(k.Images, types.Image{Name: img.Name, NewName: img.NewName, NewTag: img.NewTag, Digest: img.Digest})
	return len(k.Images) - 1
}

func (s *Selector) selector() *types.Selector {
	if s == nil {
		return nil
	}
	return &types.Selector{
		ResId: resid.ResId{
			Gvk:  resid.Gvk{Group: s.Group, Version: s.Version, Kind: s.Kind},
			Name: s.Name, Namespace: s.Namespace,
		},
		LabelSelector: s.LabelSelector, AnnotationSelector: s.AnnotationSelector,
	}
}

// isLocal is upstream's IsLocalRelativePath.
func isLocal(p string) bool {
	lower := strings.ToLower(p)
	for _, prefix := range []string{"git::", "gh:", "ssh://", "https://", "http://", "git@", "github.com:", "github.com/"} {
		if len(prefix) < len(p) && strings.HasPrefix(lower, prefix) {
			return false
		}
	}
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(strings.TrimPrefix(lower, "file://"), "/")
}

func (b *Builder) exists(dir, p string) bool {
	full, ok := snapshot.Join(dir, p)
	if !ok {
		return false
	}
	if b.view.IsDir(full) {
		return true
	}
	e, ok := b.view.Lookup(full)
	return ok && e.IsFile()
}

// scan lists what a generated kustomization file has as resources: manifests
// below a directory and directories with a kustomization file, in the order of
// a walk. One file that kustomize cannot read fails the whole (upstream:
// scanManifests).
func (b *Builder) scan(dir string) ([]string, *Failure) {
	var out []string
	failure := b.walk(dir, func(p string, e *snapshot.Entry) *Failure {
		rel := "." + strings.TrimPrefix("/"+p, prefixOf(dir))
		if e == nil {
			out = append(out, rel)
			return nil
		}
		if rejected := b.rejected(*e); rejected != nil {
			f := *rejected
			if f.Pos == 0 {
				f.Pos = b.base(*e)
			}
			f.Message = fmt.Sprintf("%s is not a Kubernetes manifest, which fails the generated kustomization file of %s: %s", e.Origin, shown(dir), f.Message)
			return &f
		}
		out = append(out, rel)
		return nil
	})
	return out, failure
}

func prefixOf(dir string) string {
	if dir == "" {
		return ""
	}
	return "/" + dir
}

// walk visits, in the order of filepath.Walk, the manifests below a directory
// and, with a nil entry, the directories that have a kustomization file, into
// which it does not go.
func (b *Builder) walk(dir string, visit func(p string, e *snapshot.Entry) *Failure) *Failure {
	for _, d := range b.view.ReadDir(dir) {
		p := path.Join(dir, d.Name)
		switch {
		case d.Dir:
			if len(b.kustomizationFiles(p)) > 0 {
				if f := visit(p, nil); f != nil {
					return f
				}
			} else if f := b.walk(p, visit); f != nil {
				return f
			}
		case d.Entry.IsFile() && (path.Ext(d.Name) == ".yaml" || path.Ext(d.Name) == ".yml"):
			e := d.Entry
			if f := visit(p, &e); f != nil {
				return f
			}
		}
	}
	return nil
}

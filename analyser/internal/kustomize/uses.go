package kustomize

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// This file finds what a build reads without building, so that a build that
// fails still says which files it would have read.

// reads is what one kustomization file reads, as far as that can be told.
type reads struct {
	uses     []Use
	layers   []childLayer
	external []External
	// schema reports an `openapi` field.
	schema bool
	record *record
}

// childLayer is a directory that a kustomization file refers to.
type childLayer struct {
	dir string
	// component: its kustomization file is a component of the referrer.
	component bool
	// plugin: its objects are configurations of plugins.
	plugin bool
	pos    position.Pos
}

// readsKey tells the ways in which a kustomization file is read.
type readsKey struct {
	dir    string
	plugin bool
}

// collect fills in the uses, the generated directories and the external inputs
// of a build, and reports whether a layer has a schema of its own.
func (b *Builder) collect(out *Build, top *kfile, overlay *Overlay) (schema bool) {
	c := collector{b: b, seen: map[childLayer]bool{}, uses: map[Use]bool{}}
	switch {
	case top.entry.Path != "":
		for _, e := range b.kustomizationFiles(top.dir) {
			c.use(e.Origin, RoleKustomization, 0)
		}
		c.file(b.reads(top, false))
	case overlay != nil:
		out.Generated = append(out.Generated, top.dir)
		_ = b.walk(top.dir, func(p string, e *snapshot.Entry) *Failure {
			if e == nil {
				c.layer(childLayer{dir: p})
				return nil
			}
			c.use(e.Origin, RoleObject, 0)
			return nil
		})
	}
	if overlay != nil {
		for _, p := range overlay.Components {
			if dir, f := resolveDir(b.view, top.dir, p, 0); f == nil && isLocal(p) {
				c.layer(childLayer{dir: dir, component: true})
			}
		}
	}
	out.Uses = c.sorted
	slices.SortFunc(out.Uses, func(a, b Use) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Role), string(b.Role)))
	})
	out.External = c.external
	return c.schema
}

// collector walks the files of a build, each once.
type collector struct {
	b        *Builder
	seen     map[childLayer]bool
	uses     map[Use]bool // without positions
	sorted   []Use
	external []External
	schema   bool
}

func (c *collector) use(path string, role Role, pos position.Pos) {
	if key := (Use{Path: path, Role: role}); !c.uses[key] {
		c.uses[key] = true
		c.sorted = append(c.sorted, Use{path, role, pos})
	}
}

func (c *collector) file(r *reads) {
	for _, u := range r.uses {
		c.use(u.Path, u.Role, u.Pos)
	}
	c.external = append(c.external, r.external...)
	c.schema = c.schema || r.schema
	for _, l := range r.layers {
		c.layer(l)
	}
}

func (c *collector) layer(l childLayer) {
	role := RoleKustomization
	if l.component {
		role = RoleComponent
	}
	found := c.b.kustomizationFiles(l.dir)
	for _, e := range found {
		c.use(e.Origin, role, l.pos)
	}
	key := l
	key.pos, key.component = 0, false
	if c.seen[key] || len(found) == 0 {
		return
	}
	c.seen[key] = true
	c.file(c.b.reads(c.b.kfile(l.dir), l.plugin))
}

// reads returns what a kustomization file reads. For a file as it stands in
// the view the answer is kept.
func (b *Builder) reads(f *kfile, plugin bool) *reads {
	key := readsKey{f.dir, plugin}
	b.mu.Lock()
	r := b.readsOf[key]
	if r == nil {
		if r = b.before.reads(key); r != nil {
			b.readsOf[key] = r
		}
	}
	b.mu.Unlock()
	if r == nil {
		r = &reads{record: b.newRecord()}
		own := b.under(r.record)
		_ = own.kustomizationFiles(f.dir) // it was made from f
		(&readsWalk{b: own, f: f, plugin: plugin, r: r}).walk()
		r.record.done()
		b.mu.Lock()
		b.readsOf[key] = r
		b.mu.Unlock()
	}
	b.view.asked.add(r.record)
	return r
}

type readsWalk struct {
	b      *Builder
	f      *kfile
	plugin bool
	r      *reads
}

func (w *readsWalk) walk() {
	n := w.f.node
	if n == nil {
		return
	}
	objects := RoleObject
	if w.plugin {
		objects = RoleTransformer
	}
	for _, field := range []string{"resources", "bases"} {
		w.paths(n, field, func(p *yaml.Node) { w.resource(p, objects, w.plugin) })
	}
	w.paths(n, "components", func(p *yaml.Node) { w.dir(p, childLayer{component: true, plugin: w.plugin}) })
	for _, field := range []string{"configurations", "crds"} {
		w.paths(n, field, func(p *yaml.Node) { w.file(p, p.Value, RoleTransformer) })
	}
	for _, field := range []string{"generators", "transformers", "validators"} {
		w.paths(n, field, func(p *yaml.Node) {
			if docs := w.inline(p); docs != nil {
				w.config(docs)
				return
			}
			w.resource(p, RoleTransformer, true)
		})
	}
	w.paths(n, "patchesStrategicMerge", func(p *yaml.Node) {
		if w.inline(p) == nil {
			w.file(p, p.Value, RolePatch)
		}
	})
	for _, field := range []string{"patches", "patchesJson6902"} {
		w.paths(n, field, func(p *yaml.Node) { w.pathOf(p, RolePatch) })
	}
	w.paths(n, "replacements", func(p *yaml.Node) { w.pathOf(p, RoleTransformer) })
	for _, field := range []string{"configMapGenerator", "secretGenerator"} {
		w.paths(n, field, w.sources)
	}
	for _, field := range []string{"helmCharts", "helmChartInflationGenerator"} {
		w.paths(n, field, w.chart)
	}
	if api := lookupFold(n, "openapi"); api != nil {
		w.r.schema = true
		w.pathOf(api, RoleTransformer)
	}
}

// paths visits the elements of a list field.
func (w *readsWalk) paths(n *yaml.Node, field string, visit func(*yaml.Node)) {
	list := lookupFold(n, field)
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for _, c := range list.Content {
		visit(c)
	}
}

// inline reads a string as objects; nil when it is none.
func (w *readsWalk) inline(p *yaml.Node) *templates {
	if p.Kind != yaml.ScalarNode || !strings.Contains(p.Value, ":") {
		return nil
	}
	docs := templatesOf(w.b.docs.Scalar(p))
	if docs.err != nil {
		return nil
	}
	return docs
}

// resource records an entry of `resources`: a file, a layer, or something
// elsewhere.
func (w *readsWalk) resource(p *yaml.Node, role Role, plugin bool) {
	if p.Kind != yaml.ScalarNode {
		return
	}
	pos := position.Pos(p.Line)
	if isRemoteFile(p.Value) {
		w.r.external = append(w.r.external, External{remoteKind(p.Value), p.Value, pos})
		return
	}
	if e, f := resolveFile(w.b.view, w.f.dir, p.Value, 0); f == nil {
		w.r.uses = append(w.r.uses, Use{e.Origin, role, pos})
		if plugin {
			if docs := w.b.templates(e); docs.err == nil {
				w.config(docs)
			}
		}
		return
	}
	w.dir(p, childLayer{plugin: plugin})
}

func (w *readsWalk) dir(p *yaml.Node, l childLayer) {
	if p.Kind != yaml.ScalarNode {
		return
	}
	l.pos = position.Pos(p.Line)
	if isRemoteBase(p.Value) {
		w.r.external = append(w.r.external, External{externalBase, p.Value, l.pos})
		return
	}
	dir, f := resolveDir(w.b.view, w.f.dir, p.Value, 0)
	if f != nil || contains(dir, w.f.dir) {
		return
	}
	l.dir = dir
	w.r.layers = append(w.r.layers, l)
}

// file records a file that a node names.
func (w *readsWalk) file(n *yaml.Node, p string, role Role) {
	pos := position.Pos(n.Line)
	if n.Kind != yaml.ScalarNode || p == "" {
		return
	}
	if isRemoteFile(p) {
		w.r.external = append(w.r.external, External{externalFile, p, pos})
		return
	}
	if e, f := resolveFile(w.b.view, w.f.dir, p, 0); f == nil {
		w.r.uses = append(w.r.uses, Use{e.Origin, role, pos})
	}
}

// pathOf records the file of a mapping with a path.
func (w *readsWalk) pathOf(n *yaml.Node, role Role) {
	if p := lookupFold(n, "path"); p != nil {
		w.file(p, p.Value, role)
	}
}

// sources records the inputs of a generator.
func (w *readsWalk) sources(n *yaml.Node) {
	for _, field := range []string{"envs", "files"} {
		w.paths(n, field, func(p *yaml.Node) {
			v := p.Value
			if field == "files" {
				v = fileSource(v)
			}
			w.file(p, v, RoleGeneratorInput)
		})
	}
	if p := lookupFold(n, "env"); p != nil {
		w.file(p, p.Value, RoleGeneratorInput)
	}
}

// chart records the values of a Helm chart.
func (w *readsWalk) chart(n *yaml.Node) {
	str := func(field string) string {
		if v := lookupFold(n, field); v != nil {
			return v.Value
		}
		return ""
	}
	name, repo := str("name"), str("repo")
	if name == "" {
		name, repo = str("chartName"), str("chartRepoUrl")
	}
	if repo != "" {
		name = repo + "/" + name
	}
	w.r.external = append(w.r.external, External{externalChart, name, position.Pos(n.Line)})
	for _, field := range []string{"valuesFile", "values"} {
		if p := lookupFold(n, field); p != nil {
			w.file(p, p.Value, RoleValues)
		}
	}
	w.paths(n, "additionalValuesFiles", func(p *yaml.Node) { w.file(p, p.Value, RoleValues) })
}

// config records the files that configurations of plugins name.
func (w *readsWalk) config(docs *templates) {
	for i := range docs.list {
		n := docs.list[i].res.YNode()
		switch docs.list[i].ref.Kind {
		case "ConfigMapGenerator", "SecretGenerator":
			w.sources(n)
		case "HelmChartInflationGenerator":
			w.chart(n)
		case "PatchTransformer", "PatchJson6902Transformer":
			w.pathOf(n, RolePatch)
		case "PatchStrategicMergeTransformer":
			w.paths(n, "paths", func(p *yaml.Node) { w.file(p, p.Value, RolePatch) })
		case "ReplacementTransformer":
			w.paths(n, "replacements", func(p *yaml.Node) { w.pathOf(p, RoleTransformer) })
		case "ValueAddTransformer":
			if p := lookup(n, "targetFilePath"); p != nil {
				w.file(p, p.Value, RoleTransformer)
			}
		}
	}
}

package kustomize

import (
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// plugin is a configured generator, transformer or validator of a file.
type plugin struct {
	plugin resmap.Configurable
	pos    position.Pos
	origin *resource.Origin
}

// builtinPlugins makes the plugins that need neither helm nor another program
// (upstream: api/internal/plugins/builtinhelpers).
var builtinPlugins = map[string]func() resmap.Configurable{
	"AnnotationsTransformer":         func() resmap.Configurable { return builtins.NewAnnotationsTransformerPlugin() },
	"ConfigMapGenerator":             func() resmap.Configurable { return builtins.NewConfigMapGeneratorPlugin() },
	"IAMPolicyGenerator":             func() resmap.Configurable { return builtins.NewIAMPolicyGeneratorPlugin() },
	"HashTransformer":                func() resmap.Configurable { return builtins.NewHashTransformerPlugin() },
	"ImageTagTransformer":            func() resmap.Configurable { return builtins.NewImageTagTransformerPlugin() },
	"LabelTransformer":               func() resmap.Configurable { return builtins.NewLabelTransformerPlugin() },
	"NamespaceTransformer":           func() resmap.Configurable { return builtins.NewNamespaceTransformerPlugin() },
	"PatchJson6902Transformer":       func() resmap.Configurable { return builtins.NewPatchJson6902TransformerPlugin() },
	"PatchStrategicMergeTransformer": func() resmap.Configurable { return builtins.NewPatchStrategicMergeTransformerPlugin() },
	"PatchTransformer":               func() resmap.Configurable { return builtins.NewPatchTransformerPlugin() },
	"PrefixTransformer":              func() resmap.Configurable { return builtins.NewPrefixTransformerPlugin() },
	"SuffixTransformer":              func() resmap.Configurable { return builtins.NewSuffixTransformerPlugin() },
	"ReplicaCountTransformer":        func() resmap.Configurable { return builtins.NewReplicaCountTransformerPlugin() },
	"SecretGenerator":                func() resmap.Configurable { return builtins.NewSecretGeneratorPlugin() },
	"ValueAddTransformer":            func() resmap.Configurable { return builtins.NewValueAddTransformerPlugin() },
	"ReplacementTransformer":         func() resmap.Configurable { return builtins.NewReplacementTransformerPlugin() },
}

// prefixSuffix is upstream's combination of the two transformers.
type prefixSuffix struct{ list *[2]resmap.TransformerPlugin }

func newPrefixSuffix() prefixSuffix {
	return prefixSuffix{&[2]resmap.TransformerPlugin{builtins.NewPrefixTransformerPlugin(), builtins.NewSuffixTransformerPlugin()}}
}

func (p prefixSuffix) Config(h *resmap.PluginHelpers, c []byte) error {
	for _, t := range p.list {
		if err := t.Config(h, c); err != nil {
			return err
		}
	}
	return nil
}

func (p prefixSuffix) Transform(m resmap.ResMap) error {
	for _, t := range p.list {
		if err := t.Transform(m); err != nil {
			return err
		}
	}
	return nil
}

// plugins loads the plugins that a field lists, inline, in files or in layers.
func (t *target) plugins(list []string, field string) ([]plugin, error) {
	if len(list) == 0 {
		return nil, nil
	}
	acc := t.newAccumulation()
	var paths []string
	var at []position.Pos
	for i, p := range list {
		docs := t.inlineObjects(p, t.file.item(field, i))
		if docs.err != nil {
			paths, at = append(paths, p), append(at, t.file.at(field, i))
			continue
		}
		var entries []*entry
		for j := range docs.list {
			e := docs.list[j].entry()
			if e.origin == 0 {
				e.origin = t.file.at(field, i)
			}
			entries = append(entries, e)
		}
		if t.origin != nil {
			origin := t.origin.Append(t.file.name)
			for _, e := range entries {
				_ = e.own().SetOrigin(origin)
			}
		}
		if err := acc.add(entries...); err != nil {
			return nil, err
		}
	}
	if err := t.accumulateResources(acc, paths, func(i int) position.Pos { return at[i] }, RoleTransformer); err != nil {
		return nil, err
	}
	var out []plugin
	for _, e := range acc.list {
		p, err := t.plugin(e)
		if err != nil {
			return nil, err
		}
		if p != nil {
			out = append(out, *p)
		}
	}
	return out, nil
}

// plugin configures one plugin from its object.
func (t *target) plugin(e *entry) (*plugin, error) {
	gvk := e.res.GetGvk()
	if gvk.Group != "" || gvk.Version != "builtin" {
		return nil, fail(codePlugin, e.origin, "only built-in plugins are allowed, not "+quoteShort(gvk.Kind))
	}
	if gvk.Kind == "HelmChartInflationGenerator" {
		t.outside.external = append(t.outside.external, External{Kind: externalChart, URL: pluginChart(e), Pos: e.origin})
		return nil, fail(codePlugin, e.origin, "a chart needs kustomize to run helm, which is switched off")
	}
	var c resmap.Configurable
	if gvk.Kind == "PrefixSuffixTransformer" {
		c = newPrefixSuffix()
	} else if f := builtinPlugins[gvk.Kind]; f != nil {
		c = f()
	} else {
		return nil, fail(codePlugin, e.origin, "there is no built-in plugin "+quoteShort(gvk.Kind))
	}
	config, err := e.res.AsYAML()
	if err != nil {
		return nil, fail(codePlugin, e.origin, "the configuration of a plugin cannot be read")
	}
	remote := false
	l := &loader{view: t.b.view, dir: t.file.dir, remote: func(url string) {
		remote = true
		t.outside.external = append(t.outside.external, External{Kind: externalFile, URL: url, Pos: e.origin})
	}}
	err = c.Config(resmap.NewPluginHelpers(l, upstream.GetFieldValidator(), resmap.NewFactory(upstream.GetResourceFactory()), types.DisabledPluginConfig()), config)
	if remote {
		t.undecided(e.origin)
		return nil, nil
	}
	if err != nil {
		f := wrap(err, codePlugin, e.origin, "the plugin cannot be configured")
		return nil, fail(f.Code, e.origin, f.Message)
	}
	origin, err := resource.OriginFromCustomPlugin(e.res)
	if err != nil {
		return nil, fail(codePlugin, e.origin, "the origin of a plugin cannot be read")
	}
	return &plugin{plugin: c, pos: e.origin, origin: origin}, nil
}

func pluginChart(e *entry) string {
	repo, _ := e.res.GetString("repo")
	name, _ := e.res.GetString("name")
	return chartURL(types.HelmChart{Name: name, Repo: repo})
}

// externalTransformers configures `transformers`.
func (t *target) externalTransformers(*accumulation) ([]transformer, error) {
	list, err := t.plugins(t.k.Transformers, "transformers")
	if err != nil {
		return nil, err
	}
	var out []transformer
	for _, p := range list {
		tr, ok := p.plugin.(resmap.Transformer)
		if !ok {
			return nil, fail(codePlugin, p.pos, "this is no transformer")
		}
		out = append(out, transformer{
			apply: func(m *resources) error { return m.traced(tr, p.pos) },
			code:  codeBadTransformer, pos: p.pos, what: "the transformer cannot be applied", origin: p.origin,
		})
	}
	return out, nil
}

// traced runs a plugin and records it on the objects that it changed.
func (m *resources) traced(tr resmap.Transformer, pos position.Pos) error {
	before := make(map[*entry]*yaml.Node, len(m.list))
	for _, e := range m.list {
		before[e] = e.res.YNode()
		if !e.shared {
			before[e] = copyNode(before[e])
		}
	}
	if err := tr.Transform(m); err != nil {
		return err
	}
	for _, e := range m.list {
		old, was := before[e]
		if e.origin == 0 {
			e.origin = pos
		}
		if was && !e.res.IsNil() && sameValue(old, e.res.YNode()) {
			continue
		}
		if was && !e.res.IsNil() {
			alignLines(old, e.res.YNode())
		}
		e.step(StepTransformer, pos)
		e.note(Cause{Kind: StepTransformer, What: "transformers", Pos: pos})
	}
	return nil
}

// externalGenerators runs `generators`.
func (t *target) externalGenerators() ([]generated, error) {
	list, err := t.plugins(t.k.Generators, "generators")
	if err != nil {
		return nil, err
	}
	var out []generated
	for _, p := range list {
		g, ok := p.plugin.(resmap.Generator)
		if !ok {
			return nil, fail(codePlugin, p.pos, "this is no generator")
		}
		remote := len(t.outside.external)
		made, err := g.Generate()
		if len(t.outside.external) > remote {
			t.undecided(p.pos)
			continue
		}
		if err != nil {
			return nil, generatorError(err, p.pos)
		}
		if made == nil {
			continue
		}
		for _, r := range made.Resources() {
			out = append(out, generated{res: r, field: "generators", pos: p.pos, origin: p.origin})
		}
	}
	return out, nil
}

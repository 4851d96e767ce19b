package kustomize

import (
	"errors"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/kv"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// upstream are the stateless parts of kustomize that plugins ask for.
var upstream = provider.NewDefaultDepProvider()

// generated is what one generator yields.
type generated struct {
	res *resource.Resource
	// field is the field of the kustomization file that asked for it.
	field  string
	pos    position.Pos
	inputs []position.Pos
	// unknownName: an input is encrypted, so the hash cannot be computed.
	unknownName bool
	origin      *resource.Origin
	// data are the lines of the sources, by the key that each makes.
	data map[string]position.Pos
}

func (g *generated) cause() Cause { return Cause{Kind: StepGenerator, What: g.field, Pos: g.pos} }

// placeData gives the values that the generator read the lines of their sources.
func (g *generated) placeData(n *yaml.Node) {
	for _, section := range []string{"data", "binaryData"} {
		m := lookup(n, section)
		if m == nil || m.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if pos := g.data[m.Content[i].Value]; pos != 0 {
				m.Content[i+1].Line, m.Content[i+1].Column = int(pos), 0
			}
		}
	}
}

// runGenerators runs the generators of the file and merges what they make
// (upstream: runGenerators in api/internal/target/kusttarget.go).
func (t *target) runGenerators(acc *accumulation) error {
	var list []generated
	for i := range t.k.ConfigMapGenerator {
		args := t.k.ConfigMapGenerator[i]
		args.Options = types.MergeGlobalOptionsIntoLocal(args.Options, t.k.GeneratorOptions)
		g, err := t.generate("configMapGenerator", i, "ConfigMapGenerator", args.KvPairSources, func(l *loader) (*resource.Resource, error) {
			return upstream.GetResourceFactory().MakeConfigMap(kv.NewLoader(l, upstream.GetFieldValidator()), &args)
		})
		if err != nil {
			return err
		}
		list = append(list, g...)
	}
	for i := range t.k.SecretGenerator {
		args := t.k.SecretGenerator[i]
		args.Options = types.MergeGlobalOptionsIntoLocal(args.Options, t.k.GeneratorOptions)
		g, err := t.generate("secretGenerator", i, "SecretGenerator", args.KvPairSources, func(l *loader) (*resource.Resource, error) {
			return upstream.GetResourceFactory().MakeSecret(kv.NewLoader(l, upstream.GetFieldValidator()), &args)
		})
		if err != nil {
			return err
		}
		list = append(list, g...)
	}
	if len(t.k.HelmCharts) > 0 {
		pos := t.file.at("helmCharts", 0)
		if t.file.item("helmCharts", 0) == nil {
			pos = t.file.field("helmChartInflationGenerator")
		}
		t.outside.external = append(t.outside.external, External{Kind: externalChart, URL: chartURL(t.k.HelmCharts[0]), Pos: pos})
		return fail(codePlugin, pos, "helmCharts needs kustomize to run helm, which is switched off")
	}
	more, err := t.externalGenerators()
	if err != nil {
		return err
	}
	for _, g := range append(list, more...) {
		if err := acc.absorb(g, t); err != nil {
			return err
		}
	}
	return nil
}

func chartURL(c types.HelmChart) string {
	switch {
	case c.Repo == "":
		return c.Name
	default:
		return c.Repo + "/" + c.Name
	}
}

// generate runs one entry of a generator field.
func (t *target) generate(field string, i int, kind string, sources types.KvPairSources, make func(*loader) (*resource.Resource, error)) ([]generated, error) {
	pos := t.file.at(field, i)
	remote := ""
	l := &loader{view: t.b.view, dir: t.file.dir, remote: func(url string) { remote = url }}
	res, err := make(l)
	if remote != "" {
		t.outside.external = append(t.outside.external, External{Kind: externalFile, URL: remote, Pos: pos})
		t.undecided(pos)
		return nil, nil
	}
	inputs := t.inputs(sources, t.file.item(field, i))
	if err != nil {
		failure := generatorError(err, pos)
		for _, in := range inputs {
			if _, f := resolveFile(t.b.view, t.file.dir, in.path, in.pos); f != nil && failure.Code == f.Code {
				failure.Pos = max(in.pos, pos)
				break
			}
		}
		return nil, failure
	}
	g := generated{res: res, field: field, pos: pos, origin: t.builtinOrigin(kind), data: t.sources(sources, t.file.item(field, i))}
	for _, in := range inputs {
		e, f := resolveFile(t.b.view, t.file.dir, in.path, in.pos)
		if f != nil {
			continue
		}
		g.inputs = append(g.inputs, t.b.base(e))
		if t.overlay != nil && !t.overlay.KeepsEncrypted && t.b.encrypted(e) {
			g.unknownName = true
		}
	}
	return []generated{g}, nil
}

// generatorError keeps the failures of our loader; the messages of upstream
// quote lines of inputs, which may be secret.
func generatorError(err error, pos position.Pos) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return fail(f.Code, pos, f.Message)
	}
	return fail(codeBadGenerator, pos, "the generator cannot be run: look for a missing name, a source that is not key=value, or a key that is given twice")
}

// absorb adds, replaces or merges a generated object (upstream:
// resWrangler.appendReplaceOrMerge).
func (acc *accumulation) absorb(g generated, t *target) error {
	if g.origin != nil {
		m := &resources{list: []*entry{{res: g.res}}}
		if err := m.AddOriginAnnotation(g.origin); err != nil {
			return fail(codeBadGenerator, g.pos, "the origin cannot be written to an object")
		}
	}
	e := &entry{res: g.res, origin: g.pos, unknownName: g.unknownName && g.res.NeedHashSuffix()}
	id := g.res.CurId()
	e.written.Kind, e.written.Group, e.written.Version = id.Kind, id.Group, id.Version
	e.written.Namespace = id.Namespace
	contributions := &entry{}
	contributions.step(StepGenerator, g.pos)
	for _, in := range g.inputs {
		contributions.step(StepInput, in)
	}
	node := g.res.YNode()
	g.placeData(node)
	matches := acc.byAnyID(id.Equals)
	if len(matches) == 0 {
		switch g.res.Behavior() {
		case types.BehaviorMerge, types.BehaviorReplace:
			return fail(codeBadGenerator, g.pos, "there is no "+idString(id)+" to merge into or to replace")
		}
		setLines(node, int(g.pos))
		e.step(StepLayer, g.pos)
		e.steps = append(e.steps, contributions.steps...)
		if t.b.options.Trace {
			e.traced = &traced{&yaml.Node{Kind: yaml.MappingNode}, &History{}}
			e.note(g.cause())
		}
		return acc.add(e)
	}
	if len(matches) > 1 {
		return fail(codeDuplicateID, g.pos, "several objects match "+idString(id))
	}
	old := matches[0]
	fresh := copyNode(node) // with the lines of its data
	setLines(fresh, int(g.pos))
	switch g.res.Behavior() {
	case types.BehaviorReplace:
		_ = g.res.CopyMergeMetaDataFieldsFrom(old.res)
	case types.BehaviorMerge:
		if err := mergeGenerated(g.res, old.res); err != nil {
			return fail(codeBadGenerator, g.pos, "the generated object cannot be merged into "+idString(id))
		}
	default:
		return fail(codeDuplicateID, g.pos, idString(id)+" exists already: the generator needs behavior merge or replace")
	}
	e.steps = append(old.steps[:len(old.steps):len(old.steps)], contributions.steps...)
	e.origin, e.written = old.origin, old.written
	e.unknownName = g.res.NeedHashSuffix() && (e.unknownName || old.unknownName && g.res.Behavior() == types.BehaviorMerge)
	alignLines(fresh, node)
	alignLines(old.res.YNode(), node)
	e.traced = old.traced
	e.note(g.cause())
	setLines(node, int(g.pos))
	return acc.put(e)
}

// put puts an entry in the place of the one with its current id.
func (m *resources) put(e *entry) error {
	id, at := e.res.CurId(), -1
	for i, o := range m.list {
		if id.Equals(o.res.CurId()) {
			if at >= 0 {
				return fail(codeDuplicateID, e.origin, "several objects are "+idString(id))
			}
			at = i
		}
	}
	if at < 0 {
		return fail(codeBadGenerator, e.origin, "there is no "+idString(id)+" to replace")
	}
	m.list[at] = e
	return nil
}

// mergeGenerated merges data and metadata of an older object into a generated
// one, which wins.
func mergeGenerated(res, old *resource.Resource) error {
	origin, err := old.GetOrigin()
	if err != nil {
		return err
	}
	data := old
	if res.GetApiVersion() == "v1" && res.GetKind() == "Secret" {
		if data, err = withoutStringData(old); err != nil {
			return err
		}
	}
	_ = res.CopyMergeMetaDataFieldsFrom(old)
	res.MergeDataMapFrom(data)
	res.MergeBinaryDataMapFrom(old)
	if origin != nil {
		return res.SetOrigin(origin)
	}
	return nil
}

var errNotScalar = errors.New("a value of stringData is not a scalar")

// withoutStringData returns a copy of a Secret with stringData encoded into
// data, as the API server would.
func withoutStringData(secret *resource.Resource) (*resource.Resource, error) {
	c := secret.DeepCopy()
	text, err := c.Pipe(kyaml.Lookup("stringData"))
	if err != nil {
		return nil, err
	}
	if !kyaml.IsMissingOrNull(text) {
		values := map[string]string{}
		err := text.VisitFields(func(f *kyaml.MapNode) error {
			if f.Value == nil || f.Value.YNode() == nil || f.Value.YNode().Kind != kyaml.ScalarNode {
				return errNotScalar
			}
			values[kyaml.GetValue(f.Key)] = kyaml.GetValue(f.Value)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := c.LoadMapIntoSecretData(values); err != nil {
			return nil, err
		}
	}
	return c, c.PipeE(kyaml.Clear("stringData"))
}

var _ resmap.ResMap = (*resources)(nil)

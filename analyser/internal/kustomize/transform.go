package kustomize

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/filters/annotations"
	"sigs.k8s.io/kustomize/api/filters/namespace"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// The annotations of build metadata.
const (
	originAnnotation      = "config.kubernetes.io/origin"
	transformerAnnotation = "alpha.config.kubernetes.io/transformations"
)

// transformer is one configured step of a layer.
type transformer struct {
	apply  func(*resources) error
	code   string
	pos    position.Pos
	what   string
	origin *resource.Origin
	// cause of what it changes; the zero Cause when apply notes it itself.
	cause Cause
	// each, when set, is the cause of one value.
	each func(fieldpath.Path, *yaml.Node, *yaml.Node) Cause
}

// runTransformers configures all transformers of the file, then runs them, in
// upstream's order (configureBuiltinTransformers in
// api/internal/target/kusttarget_configplugin.go).
func (t *target) runTransformers(acc *accumulation) error {
	var list []transformer
	for _, configure := range []func(*accumulation) ([]transformer, error){
		t.mergePatches, t.patches, t.namespace, t.prefix, t.suffix, t.labels,
		t.annotations, t.jsonPatches, t.replicas, t.images, t.replacements,
		t.externalTransformers,
	} {
		more, err := configure(acc)
		if err != nil {
			return err
		}
		list = append(list, more...)
	}
	for _, tr := range list {
		t.b.options.Working()
		if err := tr.apply(&acc.resources); err != nil {
			err = wrap(err, tr.code, tr.pos, tr.what)
			if err = t.tolerate(err); err != nil {
				return err
			}
		}
		if tr.cause.Kind != "" {
			for _, e := range acc.list {
				e.noteEach(tr.cause, tr.each)
			}
		}
		if tr.origin != nil {
			if err := acc.AddTransformerAnnotation(tr.origin); err != nil {
				return fail(codeBadTransformer, tr.pos, "the origin cannot be written to an object")
			}
			noteAll(acc.list, t.metadataCause())
		}
		acc.DropEmpties()
	}
	return nil
}

// noteAll notes a step that may have changed any of the entries.
func noteAll(list []*entry, c Cause) {
	for _, e := range list {
		e.note(c)
	}
}

// changes says that a transformer changes values, by element i of its field or,
// with i < 0, by the field as a whole.
func (t *target) changes(tr transformer, field string, i int) transformer {
	pos := t.file.field(field)
	key := field
	if i >= 0 {
		pos, key = t.file.at(field, i), fmt.Sprintf("%s/%d", field, i)
	}
	tr.cause = Cause{Kind: StepTransformer, What: field, Pos: t.file.setBy(key, pos)}
	return tr
}

// byKey says that a transformer sets values under the keys of a mapping of the
// kustomization file, each on the line of its key.
func byKey(tr transformer, values *yaml.Node) transformer {
	tr.each = func(p fieldpath.Path, _, _ *yaml.Node) Cause {
		c := tr.cause
		if v := lookup(values, p[len(p)-1].Key); v != nil && v.Line != 0 {
			c.Pos = position.Pos(v.Line)
		}
		return c
	}
	return tr
}

// builtin makes a transformer of a kustomization file's field.
func (t *target) builtin(kind, field string, apply func(*resources) error) transformer {
	return transformer{
		apply: apply, code: codeBadTransformer, pos: t.file.field(field),
		what: field + " cannot be applied to every object", origin: t.builtinOrigin(kind),
	}
}

// builtinOrigin is the origin annotation of a field's generator or transformer.
func (t *target) builtinOrigin(kind string) *resource.Origin {
	if t.origin == nil {
		return nil
	}
	return &resource.Origin{
		Repo: t.origin.Repo, Ref: t.origin.Ref,
		ConfiguredIn: joinPath(t.origin.Path, t.file.name),
		ConfiguredBy: kyaml.ResourceIdentifier{TypeMeta: kyaml.TypeMeta{APIVersion: "builtin", Kind: kind}},
	}
}

// transformWith runs a plugin of kustomize.
func transformWith(p resmap.Transformer) func(*resources) error {
	return func(m *resources) error { return p.Transform(m) }
}

func (t *target) namespace(acc *accumulation) ([]transformer, error) {
	if t.k.Namespace == "" {
		return nil, nil
	}
	f := namespace.Filter{
		Namespace: t.k.Namespace, FsSlice: acc.config.NameSpace,
		SetRoleBindingSubjects: namespace.DefaultSubjectsOnly,
	}
	tr := t.builtin("NamespaceTransformer", "namespace", func(m *resources) error { return m.setNamespace(f) })
	return []transformer{t.changes(tr, "namespace", -1)}, nil
}

func (t *target) prefix(acc *accumulation) ([]transformer, error) {
	if t.k.NamePrefix == "" {
		return nil, nil
	}
	p := &builtins.PrefixTransformerPlugin{Prefix: t.k.NamePrefix, FieldSpecs: acc.config.NamePrefix}
	return []transformer{t.changes(t.builtin("PrefixTransformer", "namePrefix", transformWith(p)), "namePrefix", -1)}, nil
}

func (t *target) suffix(acc *accumulation) ([]transformer, error) {
	if t.k.NameSuffix == "" {
		return nil, nil
	}
	p := &builtins.SuffixTransformerPlugin{Suffix: t.k.NameSuffix, FieldSpecs: acc.config.NameSuffix}
	return []transformer{t.changes(t.builtin("SuffixTransformer", "nameSuffix", transformWith(p)), "nameSuffix", -1)}, nil
}

func (t *target) labels(acc *accumulation) ([]transformer, error) {
	var out []transformer
	if len(t.k.Labels) == 0 && len(t.k.CommonLabels) == 0 {
		return nil, nil
	}
	add := func(field string, i int, labels map[string]string, specs types.FsSlice) {
		values := lookupFold(t.file.node, field)
		p := &builtins.LabelTransformerPlugin{Labels: labels, FieldSpecs: specs}
		tr := t.builtin("LabelTransformer", field, transformWith(p))
		if field == "labels" {
			tr.pos = t.file.at(field, i)
			values = lookupFold(t.file.item(field, i), "pairs")
		} else {
			i = -1
		}
		out = append(out, byKey(t.changes(tr, field, i), values))
	}
	for i, l := range t.k.Labels {
		specs, err := labelSpecs(acc.config, l)
		if err != nil {
			return nil, fail(codeBadConfiguration, t.file.at("labels", i), "the field specs of labels contradict each other")
		}
		add("labels", i, l.Pairs, specs)
	}
	add("commonLabels", 0, t.k.CommonLabels, acc.config.CommonLabels)
	return out, nil
}

// labelSpecs are the fields that an entry of `labels` sets.
func labelSpecs(c *fieldConfig, l types.Label) (types.FsSlice, error) {
	specs, err := types.FsSlice(l.FieldSpecs).DeepCopy().MergeAll(c.Labels)
	if err != nil {
		return nil, err
	}
	if l.IncludeSelectors {
		return specs.MergeAll(c.CommonLabels)
	}
	if l.IncludeTemplates {
		if specs, err = specs.MergeAll(c.TemplateLabels); err != nil {
			return nil, err
		}
	}
	if l.IncludeVolumeClaimTemplates {
		if specs, err = specs.MergeAll(c.VolumeClaimTemplateLabels); err != nil {
			return nil, err
		}
	}
	return specs.MergeOne(types.FieldSpec{Path: "metadata/labels", CreateIfNotPresent: true})
}

func (t *target) annotations(acc *accumulation) ([]transformer, error) {
	if len(t.k.CommonAnnotations) == 0 {
		return nil, nil
	}
	p := &builtins.AnnotationsTransformerPlugin{Annotations: t.k.CommonAnnotations, FieldSpecs: acc.config.CommonAnnotations}
	tr := t.builtin("AnnotationsTransformer", "commonAnnotations", transformWith(p))
	return []transformer{byKey(t.changes(tr, "commonAnnotations", -1), lookupFold(t.file.node, "commonAnnotations"))}, nil
}

func annotate(key, value string) kio.Filter {
	return annotations.Filter{
		Annotations: map[string]string{key: value},
		FsSlice:     types.FsSlice{{Path: "metadata/annotations", CreateIfNotPresent: true}},
	}
}

func (t *target) replicas(acc *accumulation) ([]transformer, error) {
	var out []transformer
	for i, r := range t.k.Replicas {
		p := &builtins.ReplicaCountTransformerPlugin{Replica: r, FieldSpecs: acc.config.Replicas}
		tr := t.builtin("ReplicaCountTransformer", "replicas", transformWith(p))
		tr.code, tr.pos = codeNoMatch, t.file.at("replicas", i)
		tr.what = "replicas names no object with replicas: " + quoteShort(r.Name)
		tr = t.changes(tr, "replicas", i)
		tr.cause.Pos = t.file.setBy(fmt.Sprintf("replicas/%d", i), lineOf(t.file.item("replicas", i), tr.cause.Pos, "count"))
		out = append(out, tr)
	}
	return out, nil
}

func (t *target) images(acc *accumulation) ([]transformer, error) {
	var out []transformer
	for i, img := range t.k.Images {
		p := &builtins.ImageTagTransformerPlugin{ImageTag: img, FieldSpecs: acc.config.Images}
		tr := t.builtin("ImageTagTransformer", "images", func(m *resources) error { return m.setImages(p) })
		field := "images"
		if lookupFold(t.file.node, field) == nil {
			field = "imageTags" // the deprecated name
		}
		tr.pos = t.file.at(field, i)
		tr = t.changes(tr, "images", i)
		tr.cause.Pos = t.file.setBy(fmt.Sprintf("images/%d", i), lineOf(t.file.item(field, i), tr.pos, imageKeys...))
		out = append(out, tr)
	}
	return out, nil
}

// imageKeys are what an entry of images sets, what shows most in an image first.
var imageKeys = []string{"digest", "newTag", "newName"}

// lineOf is the line of the first of some keys that an entry of a list has, or
// pos.
func lineOf(entry *yaml.Node, pos position.Pos, keys ...string) position.Pos {
	for _, k := range keys {
		if v := lookupFold(entry, k); v != nil && v.Line != 0 {
			return position.Pos(v.Line)
		}
	}
	return pos
}

// runValidators runs the validators, which must change nothing but a label of
// their own.
func (t *target) runValidators(acc *accumulation) error {
	list, err := t.plugins(t.k.Validators, "validators")
	if err != nil {
		return err
	}
	for _, v := range list {
		tr, ok := v.plugin.(resmap.Transformer)
		if !ok {
			return fail(codePlugin, v.pos, "this is no validator")
		}
		before := make([]*kyaml.RNode, len(acc.list))
		for i, e := range acc.list {
			before[i] = e.own().Copy()
		}
		if err := tr.Transform(&acc.resources); err != nil {
			return wrap(err, codeBadTransformer, v.pos, "a validator refuses the objects")
		}
		if err := unchanged(before, acc.list); err != nil {
			return wrap(err, codeBadTransformer, v.pos, "a validator changes objects")
		}
		noteAll(acc.list, Cause{Kind: StepTransformer, What: "validators", Pos: v.pos})
	}
	return nil
}

var errChanged = errors.New("changed")

// unchanged compares objects with what they were, but for the label that
// validators may set.
func unchanged(before []*kyaml.RNode, list []*entry) error {
	if len(before) != len(list) {
		return errChanged
	}
	for i, e := range list {
		c := e.res.DeepCopy()
		labels := c.GetLabels()
		if _, ok := labels[konfig.ValidatedByLabelKey]; ok {
			delete(labels, konfig.ValidatedByLabelKey)
			if err := c.SetLabels(labels); err != nil {
				return err
			}
		}
		if !sameValue(before[i].YNode(), c.YNode()) {
			return errChanged
		}
	}
	return nil
}

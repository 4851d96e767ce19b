package kustomize

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// mergeConfigurations adds what the layer configures: the defaults, its
// `configurations` and its `crds`.
func (t *target) mergeConfigurations(acc *accumulation) error {
	custom := &fieldConfig{}
	for i, p := range t.k.Configurations {
		pos := t.file.at("configurations", i)
		content, err := t.configuration(p, pos)
		if err != nil {
			return err
		}
		if content == nil {
			continue
		}
		c, err := parseFieldConfig(content)
		if err != nil {
			return fail(codeBadConfiguration, pos, "the configuration file is not valid")
		}
		if custom, err = custom.merge(c); err != nil {
			return fail(codeBadConfiguration, pos, "the configuration contradicts itself or another: a field is created by one and not by the other")
		}
	}
	own, err := defaultConfig().merge(custom)
	if err != nil {
		return fail(codeBadConfiguration, t.file.field("configurations"), "the configuration contradicts kustomize's defaults")
	}
	merged, err := acc.config.merge(own)
	if err != nil {
		return fail(codeBadConfiguration, t.file.field("configurations"), "the configuration contradicts that of another layer")
	}
	acc.config = merged
	for i, p := range t.k.Crds {
		pos := t.file.at("crds", i)
		content, err := t.configuration(p, pos)
		if err != nil {
			return err
		}
		if content == nil {
			continue
		}
		c, err := crdConfig(content)
		if err != nil {
			return fail(codeBadConfiguration, pos, "the definitions in a crds file cannot be read")
		}
		if acc.config, err = acc.config.merge(c); err != nil {
			return fail(codeBadConfiguration, pos, "the definitions in a crds file contradict the configuration")
		}
	}
	return nil
}

// configuration reads a configuration file; nil when it is somewhere else.
func (t *target) configuration(p string, pos position.Pos) ([]byte, error) {
	if isRemoteFile(p) {
		t.outside.external = append(t.outside.external, External{Kind: externalFile, URL: p, Pos: pos})
		t.undecided(pos)
		return nil, nil
	}
	e, f := resolveFile(t.b.view, t.file.dir, p, pos)
	if f != nil {
		return nil, f
	}
	content, err := t.b.view.ReadEntry(e)
	if err != nil {
		return nil, fail(codeNotFound, pos, "cannot read "+e.Origin)
	}
	if content == nil {
		content = []byte{}
	}
	return content, nil
}

// definition is one type of an OpenAPI document, in the form of k8s.io
// kube-openapi's generator.
type definition struct {
	Schema spec.Schema
}

var errEmpty = errors.New("empty file")

// crdConfig reads a `crds` file: OpenAPI definitions whose extensions say which
// fields hold names, labels and annotations (upstream:
// api/internal/accumulator/loadconfigfromcrds.go).
func crdConfig(content []byte) (*fieldConfig, error) {
	if len(content) == 0 {
		return nil, errEmpty // upstream panics
	}
	var defs map[string]definition
	var err error
	if content[0] == '{' {
		err = json.Unmarshal(content, &defs)
	} else {
		err = yaml.Unmarshal(content, &defs)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(defs))
	for name := range defs {
		names = append(names, name)
	}
	sort.Strings(names)
	out := &fieldConfig{}
	for _, name := range names {
		p := defs[name].Schema.Properties
		if !has(p, "kind") || !has(p, "apiVersion") || !has(p, "metadata") {
			continue
		}
		c := &fieldConfig{}
		w := crdWalk{defs: defs, config: c, gvk: resid.Gvk{Kind: name[strings.LastIndex(name, ".")+1:]}}
		if err := w.walk(name, nil); err != nil {
			return nil, err
		}
		if out, err = out.merge(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func has(p map[string]spec.Schema, name string) bool {
	_, ok := p[name]
	return ok
}

// crdWalk follows the references of one type.
type crdWalk struct {
	defs   map[string]definition
	config *fieldConfig
	gvk    resid.Gvk
	steps  int
}

// maxCRDSteps bounds the walk: types may contain each other, on which upstream
// does not return.
const maxCRDSteps = 10_000

func (w *crdWalk) walk(typeName string, at []string) error {
	def, ok := w.defs[typeName]
	if !ok {
		return nil
	}
	if w.steps++; w.steps > maxCRDSteps || len(at) > 100 {
		return fmt.Errorf("more than %d steps", maxCRDSteps)
	}
	names := make([]string, 0, len(def.Schema.Properties))
	for name := range def.Schema.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		p := def.Schema.Properties[name]
		here := append(at[:len(at):len(at)], name)
		if err := w.property(p, here); err != nil {
			return err
		}
		if p.Ref.GetURL() != nil {
			if err := w.walk(p.Ref.String(), here); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *crdWalk) property(p spec.Schema, at []string) (err error) {
	field := func(path ...string) types.FieldSpec {
		return types.FieldSpec{Gvk: w.gvk, Path: strings.Join(path, "/")}
	}
	c := w.config
	if _, ok := p.Extensions.GetString("x-kubernetes-annotation"); ok {
		if c.CommonAnnotations, err = c.CommonAnnotations.MergeOne(field(at...)); err != nil {
			return err
		}
	}
	if _, ok := p.Extensions.GetString("x-kubernetes-label-selector"); ok {
		if c.CommonLabels, err = c.CommonLabels.MergeOne(field(at...)); err != nil {
			return err
		}
	}
	if _, ok := p.Extensions.GetString("x-kubernetes-identity"); ok {
		if c.NamePrefix, err = c.NamePrefix.MergeOne(field(at...)); err != nil {
			return err
		}
	}
	version, ok := p.Extensions.GetString("x-kubernetes-object-ref-api-version")
	if !ok {
		return nil
	}
	kind, ok := p.Extensions.GetString("x-kubernetes-object-ref-kind")
	if !ok {
		return nil
	}
	key, ok := p.Extensions.GetString("x-kubernetes-object-ref-name-key")
	if !ok {
		key = "name"
	}
	c.NameReference, err = c.NameReference.merge(nameRefs{{
		Gvk:       resid.Gvk{Kind: kind, Version: version},
		Referrers: types.FsSlice{field(append(at[:len(at):len(at)], key)...)},
	}})
	return err
}

func joinPath(dir, name string) string { return path.Join(dir, name) }

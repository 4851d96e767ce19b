package kustomize

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/filters/refvar"
	"sigs.k8s.io/kustomize/api/hasher"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// finish runs the steps that come once, after all layers: hashes, name
// references, variables, local configuration, order, metadata (upstream:
// makeCustomizedResMap in api/internal/target and Kustomizer.Run in
// api/krusty).
func (t *target) finish(acc *accumulation) ([]*Object, error) {
	if err := acc.addHashes(); err != nil {
		return nil, err
	}
	if len(acc.config.NameReference) > 0 {
		if err := acc.fixReferences(acc.config.NameReference); err != nil {
			return nil, err
		}
	}
	for _, v := range acc.vars.AsSlice() {
		if found, _ := varTarget(acc, v); found != nil && v.ObjRef.Kind == "Secret" && secretPath(v.FieldRef.FieldPath) {
			t.secrets.add(hidden(found.res.YNode())...)
		}
	}
	if err := t.tolerate(acc.resolveVars()); err != nil {
		return nil, err
	}
	if err := acc.dropLocal(); err != nil {
		return nil, err
	}
	if o := t.k.SortOptions; o != nil {
		if f := acc.sort(*o); f != nil {
			return nil, wrap(f, f.Code, t.file.field("sortOptions"), "")
		}
	}
	if slices.Contains(t.metadata, types.ManagedByLabelOption) {
		p := &builtins.LabelTransformerPlugin{
			Labels:     map[string]string{konfig.ManagedbyLabelKey: "kustomize-" + provenance.GetProvenance().Semver()},
			FieldSpecs: []types.FieldSpec{{Path: "metadata/labels", CreateIfNotPresent: true}},
		}
		if err := p.Transform(&acc.resources); err != nil {
			return nil, fail(codeBadTransformer, t.file.field("buildMetadata"), "an object cannot be labelled")
		}
		noteAll(acc.list, t.metadataCause())
	}
	var drop [][]string // each as one step, as upstream does
	if !slices.Contains(t.metadata, types.OriginAnnotations) {
		drop = append(drop, []string{originAnnotation})
	}
	if !slices.Contains(t.metadata, types.TransformerAnnotations) {
		drop = append(drop, []string{transformerAnnotation})
	}
	objects := make([]*Object, 0, len(acc.list))
	for _, e := range acc.list {
		o, err := e.object(drop, acc.long)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// addHashes appends the hash of the content to the names of generated objects.
func (acc *accumulation) addHashes() error {
	for _, e := range acc.list {
		if !e.res.NeedHashSuffix() {
			continue
		}
		r := e.own()
		// Of another kind, which only a patch can have made of it, kustomize hashes its
		// tree in memory, with the lines and columns on which it happened to be parsed
		// (upstream: api/hasher, Hash).
		if k := r.GetKind(); k != "ConfigMap" && k != "Secret" {
			e.unknownName = true
		}
		if e.unknownName {
			storePreviousID(r, acc.long)
			continue
		}
		h, err := r.Hash(&hasher.Hasher{})
		if err != nil {
			return fail(codeBadGenerator, e.origin, "the hash of "+idString(r.CurId())+" cannot be computed")
		}
		line := nameLine(r.YNode())
		storePreviousID(r, acc.long)
		_ = r.SetName(r.GetName() + "-" + h)
		setNameLine(r.YNode(), line)
		e.note(Cause{Kind: StepGenerator, What: "hash", Pos: e.generator()})
	}
	return nil
}

// generator is the line of the last generator of the entry.
func (e *entry) generator() position.Pos {
	for _, s := range slices.Backward(e.steps) {
		if s.Kind == StepGenerator {
			return s.Pos
		}
	}
	return e.origin
}

func nameLine(n *yaml.Node) int {
	if name := lookup(lookup(n, "metadata"), "name"); name != nil {
		return name.Line
	}
	return 0
}

func setNameLine(n *yaml.Node, line int) {
	if name := lookup(lookup(n, "metadata"), "name"); name != nil {
		name.Line = line
	}
}

// varTarget returns the object that a variable reads, and how many match.
func varTarget(acc *accumulation, v types.Var) (*entry, int) {
	gvk := v.ObjRef.GVK()
	id := resid.NewResIdWithNamespace(gvk, v.ObjRef.Name, v.ObjRef.Namespace)
	matches := id.GvknEquals
	if id.Namespace != "" || id.IsClusterScoped() {
		matches = id.Equals
	}
	found := acc.byAnyID(matches)
	if len(found) != 1 {
		return nil, len(found)
	}
	return found[0], 1
}

// resolveVars replaces $(NAME) in the fields that may hold it.
func (acc *accumulation) resolveVars() error {
	values, secret := map[string]any{}, false
	for _, v := range acc.vars.AsSlice() {
		secret = secret || v.ObjRef.Kind == "Secret" && secretPath(v.FieldRef.FieldPath)
		value, err := acc.varValue(v)
		if err != nil {
			return err
		}
		values[v.Name] = value
	}
	if len(values) == 0 {
		return nil
	}
	value := func(key string) any {
		switch v := values[key].(type) {
		case string, int, int32, int64, float32, float64, bool:
			return v
		}
		return "$(" + key + ")"
	}
	for _, e := range acc.list {
		for _, spec := range acc.config.VarReference {
			if !e.res.GetGvk().IsSelected(&spec.Gvk) || !mayHold(e.res.YNode(), spec.Path) {
				continue
			}
			r := e.own()
			if err := r.ApplyFilter(refvar.Filter{MappingFunc: value, FieldSpec: spec}); err != nil {
				return fail(codeVariable, e.origin, "variables cannot be replaced in "+spec.Path+" of "+idString(r.CurId()))
			}
			e.touched = e.touched || secret
			e.noteEach(Cause{}, acc.varCause)
		}
	}
	return nil
}

// varCause is the cause of a value that variables were replaced in: the
// declaration of the first of them.
func (acc *accumulation) varCause(_ fieldpath.Path, old, _ *yaml.Node) Cause {
	c := Cause{Kind: StepTransformer, What: "vars"}
	if old == nil {
		return c
	}
	for _, v := range acc.vars.AsSlice() {
		if strings.Contains(old.Value, "$("+v.Name+")") {
			c.Secret = c.Secret || v.ObjRef.Kind == "Secret"
			if c.Pos == 0 {
				c.Pos = acc.varsAt[v.Name]
			}
		}
	}
	return c
}

func (acc *accumulation) varValue(v types.Var) (any, error) {
	for _, e := range acc.list {
		for _, name := range e.res.GetRefVarNames() {
			if name != v.Name {
				continue
			}
			value, err := e.res.GetFieldValue(v.FieldRef.FieldPath)
			if err != nil {
				return nil, fail(codeVariable, e.origin, fmt.Sprintf("the variable %s reads a field that %s does not have", quoteShort(v.Name), idString(e.res.CurId())))
			}
			return value, nil
		}
	}
	return nil, fail(codeVariable, 0, "the variable "+quoteShort(v.Name)+" reads an object that is not in the build")
}

// dropLocal removes local configuration (upstream: IgnoreLocal). Every object
// must still be one.
func (acc *accumulation) dropLocal() error {
	local := false
	kept := make(map[resid.ResId]bool, len(acc.list))
	keys := make(map[idKey]bool, len(acc.list))
	for _, e := range acc.list {
		if e.res.IsNilOrEmpty() {
			local = true
			continue
		}
		md, err := e.res.GetValidatedMetadata()
		if err != nil {
			return fail(codeNotAnObject, e.origin, "the build leaves "+idString(e.res.CurId())+" without kind or name")
		}
		if v, ok := md.Annotations[konfig.IgnoredByKustomizeAnnotation]; ok && v != "false" {
			local = true
			continue
		}
		id := e.res.CurId()
		if keys[keyOf(id)] {
			return duplicateID(e, id)
		}
		kept[id], keys[keyOf(id)] = true, true
	}
	if !local {
		return nil
	}
	// Upstream keeps what has the id of anything kept, and fails when an id to
	// remove is there twice.
	count := map[resid.ResId]int{}
	for _, e := range acc.list {
		count[e.res.CurId()]++
	}
	var list []*entry
	for _, e := range acc.list {
		id := e.res.CurId()
		if kept[id] {
			list = append(list, e)
		} else if count[id] > 1 {
			return fail(codeDuplicateID, e.origin, "several objects are "+idString(id))
		}
	}
	acc.list = list
	return nil
}

// object makes the result of an entry: without the annotations that kustomize
// writes for itself, and with the others as text. One that kustomize builds and
// cannot write says so in Unwritable.
func (e *entry) object(drop [][]string, long bool) (*Object, error) {
	n := e.res.YNode()
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, fail(codeNotAnObject, e.origin, "the build leaves something that is no object")
	}
	if !cleanAnnotations(n, drop) {
		n = e.own().YNode()
		writeAnnotations(n, drop, long)
	}
	id := e.res.CurId()
	o := &Object{
		Ref:  object.Ref{Group: id.Group, Version: id.Version, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name},
		Tree: packed.Of(n, nil), Origin: e.origin, Written: e.written, Steps: slices.Clip(e.steps), UnknownName: e.unknownName,
	}
	if at := unwritable(n, true); at != nil {
		o.Unwritable = cannotWrite(at, id)
		return o, nil
	}
	n, err := asWritten(n)
	if err != nil {
		o.Unwritable = fail(codeBadYAML, e.origin, "kustomize cannot write "+idString(id))
		return o, nil
	}
	if e.base != nil && e.traced == nil {
		reuse(e.base, n)
	}
	o.Tree, o.History = packed.Of(n, nil), e.history(n)
	return o, nil
}

// cleanAnnotations reports whether writeAnnotations would change nothing.
func cleanAnnotations(n *yaml.Node, drop [][]string) bool {
	meta := lookup(n, "metadata")
	if meta == nil {
		return false
	}
	a := lookup(meta, "annotations")
	if a == nil {
		return true
	}
	for i := 0; i+1 < len(meta.Content); i += 2 {
		if meta.Content[i].Value == "annotations" && meta.Content[i+1] != a {
			return false // upstream looks at the first of them
		}
	}
	if a.Kind != yaml.MappingNode || len(a.Content) == 0 {
		return false
	}
	for i := 0; i+1 < len(a.Content); i += 2 {
		k, v := a.Content[i], a.Content[i+1]
		dropped := slices.Contains(resource.BuildAnnotations, k.Value) ||
			slices.ContainsFunc(drop, func(keys []string) bool { return slices.Contains(keys, k.Value) })
		if dropped || k.Kind != yaml.ScalarNode || k.Tag != kyaml.NodeTagString || v.Kind != yaml.ScalarNode || v.Tag != kyaml.NodeTagString {
			return false
		}
		for j := 0; j < i; j += 2 {
			if a.Content[j].Value == k.Value {
				return false
			}
		}
	}
	return true
}

// writeAnnotations removes annotations and turns the values of the others into
// text, as upstream does (Resource.RemoveBuildAnnotations, SetOrigin,
// ClearTransformations), but keeps their lines. What stands twice under one key
// depends on how often it is written.
func writeAnnotations(n *yaml.Node, drop [][]string, long bool) {
	var old *yaml.Node
	if meta := lookup(n, "metadata"); meta != nil {
		old = copyNode(meta)
	}
	rn := kyaml.NewRNode(n)
	remove := func(keys []string) {
		m := rn.GetAnnotations()
		for _, key := range keys {
			delete(m, key)
		}
		_ = setAnnotations(rn, m, long)
	}
	if len(rn.GetAnnotations()) > 0 {
		remove(resource.BuildAnnotations)
	}
	for _, keys := range drop {
		remove(keys)
	}
	alignLines(old, lookup(n, "metadata"))
}

// cannotWrite is the failure for an unwritable node of an object.
func cannotWrite(n *yaml.Node, id resid.ResId) *Failure {
	return fail(codeBadYAML, position.Pos(n.Line), "kustomize cannot write "+idString(id)+": a key that is given twice or is no text, or a number that JSON does not have")
}

// unwritable finds a node that kustomize cannot write as JSON, which it does
// with every object of a build (upstream: RNode.MarshalJSON).
func unwritable(n *yaml.Node, root bool) *yaml.Node {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == kyaml.NodeTagFloat {
			var f float64
			if n.Decode(&f) != nil || f != f || f > maxFloat || f < -maxFloat {
				return n
			}
		}
		return nil
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || !root && k.ShortTag() != kyaml.NodeTagString {
				return k
			}
			if len(n.Content) <= 32 {
				for j := 0; j < i; j += 2 {
					if n.Content[j].Value == k.Value {
						return k
					}
				}
			}
			if at := unwritable(n.Content[i+1], false); at != nil {
				return at
			}
		}
		if len(n.Content) > 32 {
			seen := make(map[string]bool, len(n.Content)/2)
			for i := 0; i < len(n.Content); i += 2 {
				if seen[n.Content[i].Value] {
					return n.Content[i]
				}
				seen[n.Content[i].Value] = true
			}
		}
	default:
		for _, c := range n.Content {
			if at := unwritable(c, false); at != nil {
				return at
			}
		}
	}
	return nil
}

const maxFloat = 1.7976931348623157e308

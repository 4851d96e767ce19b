package kustomize

import (
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// fieldSchema is what builtin.txt says about a field, as far as merging goes: the
// same as kyaml's openapi.ResourceSchema would, without copies of all of a schema for
// every field that is looked at. nil is no schema.
type fieldSchema struct {
	// refers to a definition, which stands for everything else.
	refers *builtinDefinition
	// of is the definition of which the fields are, or nil.
	of *builtinDefinition
	// associative: elements of the list are merged by keys.
	associative bool
	keys        []string
	// elements of a list, values of a mapping of any keys.
	elements, values *fieldSchema
}

// definitionSchema is a definition, read when it is needed.
type definitionSchema struct {
	once   sync.Once
	self   *fieldSchema
	fields map[string]*fieldSchema
}

func (d *builtinDefinition) fieldSchema() *fieldSchema {
	d.schemaOf.once.Do(func() {
		in := schemaReader{nodeReader{text: d.node}}
		d.schemaOf.self = in.field()
		d.schemaOf.self.of = d
		d.schemaOf.fields = make(map[string]*fieldSchema, strings.Count(d.properties, "\n"))
		for line := range strings.Lines(d.properties) {
			name, node, _ := strings.Cut(strings.TrimSuffix(line[1:], "\n"), " ")
			in := schemaReader{nodeReader{text: node}}
			d.schemaOf.fields[name] = in.field()
		}
	})
	return d.schemaOf.self
}

// schemaReader reads the notation of builtin.txt.
type schemaReader struct{ nodeReader }

func (in *schemaReader) field() *fieldSchema {
	s := &fieldSchema{}
	list := false
	if in.take('@') {
		s.refers = builtinIndex().definitions[in.until("([{]}")]
	} else {
		list = in.text[0] == 'a'
		in.text = in.text[1:]
	}
	if in.take('(') {
		f := strings.Split(in.until(")"), ";")
		in.text = in.text[1:]
		s.associative = slices.Contains(strings.Split(f[0], ","), "merge")
		switch {
		case len(f) > 2:
			s.keys = f[2:]
		case f[1] != "":
			s.keys = f[1:]
		}
	}
	if in.take('[') {
		if e := in.field(); list {
			s.elements = e
		}
		in.text = in.text[1:]
	}
	if in.take('{') {
		s.values = in.field()
		in.text = in.text[1:]
	}
	return s
}

// resolve follows references.
func (s *fieldSchema) resolve() *fieldSchema {
	for s != nil && s.refers != nil {
		s = s.refers.fieldSchema()
	}
	return s
}

// field is the schema of a field of a mapping.
func (s *fieldSchema) field(name string) *fieldSchema {
	if s == nil {
		return nil
	}
	if s.of != nil {
		if f := s.of.schemaOf.fields[name]; f != nil {
			return f.resolve()
		}
	}
	return s.values.resolve()
}

// element is the schema of the elements of a list.
func (s *fieldSchema) element() *fieldSchema {
	if s == nil {
		return nil
	}
	return s.elements.resolve()
}

// schemaOf is the schema of an object, told by its apiVersion and kind as they stand in
// a mapping. known is false for kinds that only kyaml knows: its own Kustomization.
func schemaOf(n *yaml.Node) (s *fieldSchema, known bool) {
	version, kind := lookup(n, "apiVersion"), lookup(n, "kind")
	if version == nil || kind == nil || version.Value == "" || kind.Value == "" {
		return nil, true
	}
	for _, d := range builtinKinds()[kind.Value] {
		for _, gvk := range d.kinds {
			if v, ok := strings.CutSuffix(strings.TrimPrefix(gvk, "/"), "/"+kind.Value); ok && v == version.Value {
				return d.fieldSchema(), true
			}
		}
	}
	return nil, openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: version.Value, Kind: kind.Value}) == nil
}

package kustomize

import (
	_ "embed"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// builtin.txt holds what kyaml's built-in schema says and merges look at.
//
//go:embed builtin.txt
var builtinText string

// builtinDefinition is a definition of builtin.txt, by name.
type builtinDefinition struct {
	name string
	// kinds are group/version/kind.
	kinds []string
	// node is the schema itself, without properties.
	node string
	// properties are lines "<tab>name node".
	properties string
	// schemaOf is what merges of our own look at.
	schemaOf definitionSchema
}

// builtinKind are the definitions of one kind, of all groups and versions.
type builtinKind []*builtinDefinition

// builtinTable is builtin.txt, indexed.
type builtinTable struct {
	definitions map[string]*builtinDefinition
	kinds       map[string]builtinKind
}

var builtinIndex = sync.OnceValue(func() *builtinTable {
	out := &builtinTable{definitions: map[string]*builtinDefinition{}, kinds: map[string]builtinKind{}}
	for text := builtinText; text != ""; {
		head, rest, _ := strings.Cut(text, "\n")
		if head == "" || head[0] == '#' {
			text = rest
			continue
		}
		end := 0
		for end < len(rest) && rest[end] == '\t' {
			end += strings.IndexByte(rest[end:], '\n') + 1
		}
		fields := strings.Fields(head)
		d := &builtinDefinition{name: fields[0], node: fields[1], kinds: fields[2:], properties: rest[:end]}
		out.definitions[d.name] = d
		for _, gvk := range d.kinds {
			kind := gvk[strings.LastIndexByte(gvk, '/')+1:]
			if list := out.kinds[kind]; len(list) == 0 || list[len(list)-1] != d {
				out.kinds[kind] = append(list, d)
			}
		}
		text = rest[end:]
	}
	return out
})

// builtinKinds are the definitions by kind.
func builtinKinds() map[string]builtinKind { return builtinIndex().kinds }

// builtinDefinitions are all definitions. They refer to each other as those of
// kyaml do.
func builtinDefinitions() spec.Definitions {
	out := spec.Definitions{}
	for name, d := range builtinIndex().definitions {
		out[name] = *d.schema(func(name string) spec.Schema {
			return spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/" + name)}}
		})
	}
	return out
}

// definitions are those of a kind, with what they refer to in the place of
// references: kyaml follows each of them whenever it meets it, and lets what it
// finds stand for everything that is said beside it.
func (k builtinKind) definitions() spec.Definitions {
	done := map[string]*spec.Schema{}
	var resolve func(name string) spec.Schema
	resolve = func(name string) spec.Schema {
		if s := done[name]; s != nil {
			return *s
		}
		// Known before its properties are, which are a map: a definition may
		// hold itself.
		d := builtinIndex().definitions[name]
		s := d.head(resolve)
		done[name] = s
		d.fill(s, resolve)
		return *s
	}
	out := spec.Definitions{}
	for _, d := range k {
		out[d.name] = resolve(d.name)
	}
	return out
}

// schema is the definition; refer makes what stands in the place of a reference.
func (d *builtinDefinition) schema(refer func(string) spec.Schema) *spec.Schema {
	s := d.head(refer)
	d.fill(s, refer)
	return s
}

// head is the definition with its map of properties empty.
func (d *builtinDefinition) head(refer func(string) spec.Schema) *spec.Schema {
	in := nodeReader{d.node, refer}
	s := in.node()
	if len(d.kinds) > 0 {
		var list []any
		for _, gvk := range d.kinds {
			f := strings.SplitN(gvk, "/", 3)
			list = append(list, map[string]any{"group": f[0], "version": f[1], "kind": f[2]})
		}
		s.AddExtension("x-kubernetes-group-version-kind", list)
	}
	if n := strings.Count(d.properties, "\n"); n > 0 {
		s.Properties = make(map[string]spec.Schema, n)
	}
	return &s
}

func (d *builtinDefinition) fill(s *spec.Schema, refer func(string) spec.Schema) {
	for line := range strings.Lines(d.properties) {
		name, node, _ := strings.Cut(strings.TrimSuffix(line[1:], "\n"), " ")
		in := nodeReader{node, refer}
		s.Properties[name] = in.node()
	}
}

// nodeReader reads a schema in the notation of builtin.txt.
type nodeReader struct {
	text  string
	refer func(string) spec.Schema
}

var nodeTypes = map[byte]spec.StringOrArray{
	's': {"string"}, 'i': {"integer"}, 'n': {"number"}, 'b': {"boolean"}, 'o': {"object"}, 'a': {"array"},
}

func (in *nodeReader) node() spec.Schema {
	var s spec.Schema
	reference := in.take('@')
	if reference {
		s = in.refer(in.until("([{]}"))
	} else if t, ok := nodeTypes[in.text[0]]; ok {
		s.Type, in.text = t, in.text[1:]
	} else {
		in.text = in.text[1:]
		s.Description = "anything" // not the empty schema, which means none
	}
	if in.take('(') {
		f := strings.Split(in.until(")"), ";")
		in.text = in.text[1:]
		if reference && s.Ref.String() == "" {
			return s // what it stands for, which is not ours to change
		}
		s.AddExtension("x-kubernetes-patch-strategy", f[0])
		if f[1] != "" {
			s.AddExtension("x-kubernetes-patch-merge-key", f[1])
		}
		if len(f) > 2 {
			var keys []any
			for _, k := range f[2:] {
				keys = append(keys, k)
			}
			s.AddExtension("x-kubernetes-list-map-keys", keys)
		}
	}
	if in.take('[') {
		item := in.node()
		s.Items = &spec.SchemaOrArray{Schema: &item}
		in.text = in.text[1:]
	}
	if in.take('{') {
		value := in.node()
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &value}
		in.text = in.text[1:]
	}
	return s
}

func (in *nodeReader) take(c byte) bool {
	if in.text == "" || in.text[0] != c {
		return false
	}
	in.text = in.text[1:]
	return true
}

// until takes what stands before the first of the characters, or everything.
func (in *nodeReader) until(chars string) string {
	i := strings.IndexAny(in.text, chars)
	if i < 0 {
		i = len(in.text)
	}
	out := in.text[:i]
	in.text = in.text[i:]
	return out
}

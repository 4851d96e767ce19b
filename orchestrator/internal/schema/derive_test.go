package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// generator collects the definitions that are met.
type generator struct {
	// closed refuses members that the contract does not have.
	closed bool
	docs   map[string]string
	defs   object
	seen   map[reflect.Type]bool
}

// derive is the document; a closed one refuses fields that it does not know.
func derive(t testing.TB, closed bool) []byte {
	t.Helper()
	g := &generator{closed: closed, docs: docs(t), seen: map[reflect.Type]bool{}}
	root := g.ref(reflect.TypeFor[report.Census]())
	for _, name := range report.DataFiles() {
		g.ref(reflect.TypeOf(report.NewRecord(name)).Elem())
	}
	out, err := json.MarshalIndent(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:gitops-reach:" + strings.ReplaceAll(report.Schema, "/", ":")},
		{"title", "The data of a reach census, " + report.Schema},
		{"$comment", "This schema is that of census.json. A line of another file has the schema at the anchor that census.json names for it, such as #Placement."},
		root[0],
		{"$defs", g.defs},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// ref is a reference to the definition of a struct, which it makes.
func (g *generator) ref(t reflect.Type) object {
	if !g.seen[t] {
		g.seen[t] = true
		at := len(g.defs)
		g.defs = append(g.defs, member{name: t.Name()})
		definition := g.structure(t)
		g.defs[at].value = definition
	}
	return object{{"$ref", "#/$defs/" + t.Name()}}
}

func (g *generator) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	g.fields(t, &properties, &required)
	out := object{{"$anchor", t.Name()}}
	if doc := g.docs[t.Name()]; doc != "" {
		out = append(out, member{"description", doc})
	}
	out = append(out, member{"type", "object"}, member{"properties", properties}, member{"required", required})
	if g.closed {
		out = append(out, member{"additionalProperties", false})
	}
	return out
}

func (g *generator) fields(t reflect.Type, properties *object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			g.fields(f.Type, properties, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		value := object{}
		if doc := g.docs[t.Name()+"."+f.Name]; doc != "" {
			// A comment speaks of the Go name, a reader of the data of its own.
			if rest, ok := strings.CutPrefix(doc, f.Name+" "); ok {
				doc = name + " " + rest
			}
			value = append(value, member{"description", doc})
		}
		*properties = append(*properties, member{name, append(value, g.value(f.Type)...)})
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

func (g *generator) value(t reflect.Type) object {
	switch t.Kind() {
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return object{{"type", "integer"}, {"minimum", 0}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", g.value(t.Elem())}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", g.value(t.Elem())}}
	case reflect.Pointer:
		return g.value(t.Elem())
	case reflect.Struct:
		return g.ref(t)
	}
	panic(fmt.Sprintf("the contract holds a %s, for which there is no schema", t))
}

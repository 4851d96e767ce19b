package schema

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// deriveFacts is the schema of a line of facts: ProtoJSON of the message Fact with
// the names of the protocol, as reach writes it. A closed one refuses fields that
// it does not know.
func deriveFacts(t testing.TB, closed bool) []byte {
	t.Helper()
	g := &protoGenerator{closed: closed, seen: map[protoreflect.FullName]bool{}}
	fact := (&reachv1.Fact{}).ProtoReflect().Descriptor()
	root := g.message(fact)
	out, err := json.MarshalIndent(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", ID("facts")},
		{"title", "What was seen on a cluster: a line of a file of facts"},
		{"$comment", "ProtoJSON of reach.v1.Fact (proto/reach/v1/facts.proto has the meaning of each field); lines that begin with # are comments."},
		root[0],
		{"$defs", g.defs},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

type protoGenerator struct {
	closed bool
	defs   object
	seen   map[protoreflect.FullName]bool
}

// message is a reference to the definition of a message, which it makes.
func (g *protoGenerator) message(m protoreflect.MessageDescriptor) object {
	if m.FullName() == "google.protobuf.Timestamp" {
		return object{{"type", "string"}, {"format", "date-time"}}
	}
	if !g.seen[m.FullName()] {
		g.seen[m.FullName()] = true
		at := len(g.defs)
		g.defs = append(g.defs, member{name: string(m.Name())})
		properties := object{}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			properties = append(properties, member{string(f.Name()), g.field(f)})
		}
		out := object{{"type", "object"}, {"properties", properties}}
		for i := range m.Oneofs().Len() {
			if one := m.Oneofs().Get(i); !one.IsSynthetic() {
				choices := []object{}
				for j := range one.Fields().Len() {
					choices = append(choices, object{{"required", []string{string(one.Fields().Get(j).Name())}}})
				}
				out = append(out, member{"oneOf", choices})
			}
		}
		if m.Name() == "Fact" {
			out = append(out, member{"required", []string{"cluster"}})
		}
		if g.closed {
			out = append(out, member{"additionalProperties", false})
		}
		g.defs[at].value = out
	}
	return object{{"$ref", "#/$defs/" + string(m.Name())}}
}

func (g *protoGenerator) field(f protoreflect.FieldDescriptor) object {
	switch {
	case f.IsMap():
		return object{{"type", "object"}, {"additionalProperties", g.value(f.MapValue())}}
	case f.IsList():
		return object{{"type", "array"}, {"items", g.value(f)}}
	}
	return g.value(f)
}

func (g *protoGenerator) value(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return g.message(f.Message())
	case protoreflect.EnumKind:
		values := []string{}
		for i := range f.Enum().Values().Len() {
			values = append(values, string(f.Enum().Values().Get(i).Name()))
		}
		return object{{"enum", values}}
	case protoreflect.BoolKind:
		return object{{"type", "boolean"}}
	case protoreflect.StringKind:
		return object{{"type", "string"}}
	case protoreflect.Int32Kind:
		return object{{"type", "integer"}}
	case protoreflect.Int64Kind:
		// ProtoJSON writes these as text and reads both.
		return object{{"type", []string{"string", "integer"}}, {"pattern", "^-?[0-9]+$"}}
	}
	panic("facts hold a " + f.Kind().String() + ", for which there is no schema")
}

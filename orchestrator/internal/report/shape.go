package report

import (
	"reflect"
	"strings"
	"sync"
)

// shape is what the functions that go over every record know about a type of the
// contract: its fields with their JSON names, and which strings may hold a name.
// It is worked out once per type, since a census has many records.
type shape struct {
	kind reflect.Kind
	// word is the form of the field that the value stands in, see isWord.
	word string
	// elem is the shape of what a slice holds.
	elem *shape
	// fields of a struct in their order; those of embedded structs stand in its
	// place.
	fields []field
	byName map[string]*shape
	// strings reports whether any string stands in the value that may hold a
	// name.
	strings bool
}

type field struct {
	name      string
	index     []int
	omitEmpty bool
	shape     *shape
}

var shapes sync.Map // of reflect.Type to *shape

// shapeOf returns the shape of a struct of the contract.
func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := newShape(t, "")
	shapes.Store(t, s)
	return s
}

func newShape(t reflect.Type, word string) *shape {
	if t.Kind() == reflect.Pointer {
		// What may be left out, and is never null.
		return newShape(t.Elem(), word)
	}
	s := &shape{kind: t.Kind(), word: word}
	switch s.kind {
	case reflect.String:
		s.strings = true
	case reflect.Map:
		// Every map of the contract is a map[string]int.
		s.strings = word == ""
	case reflect.Slice:
		s.elem = newShape(t.Elem(), word)
		s.strings = s.elem.strings
	case reflect.Struct:
		s.byName = map[string]*shape{}
		for i := range t.NumField() {
			f := t.Field(i)
			of := newShape(f.Type, f.Tag.Get("word"))
			s.strings = s.strings || of.strings
			if f.Anonymous {
				for _, inner := range of.fields {
					inner.index = append([]int{i}, inner.index...)
					s.fields = append(s.fields, inner)
					s.byName[inner.name] = inner.shape
				}
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			s.fields = append(s.fields, field{name: name, index: []int{i}, omitEmpty: options == "omitempty", shape: of})
			s.byName[name] = of
		}
	}
	return s
}

// of returns the field's value in a struct.
func (f *field) of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}

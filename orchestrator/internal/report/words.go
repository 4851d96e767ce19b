package report

import (
	"reflect"
	"strings"
)

// isWord reports whether s looks like what a field with the struct tag
// `word:"form"` holds when it is not a name.
func isWord[T string | []byte](form string, s T) bool {
	switch form {
	case "true":
		return only(s, "_.:/+-#", true)
	case "kind":
		// An API kind: PascalCase.
		return len(s) == 0 || 'A' <= s[0] && s[0] <= 'Z' && only(s, "", true)
	case "code":
		return len(s) == 0 || 'a' <= s[0] && s[0] <= 'z' && only(s, "_", false)
	}
	return false
}

// only reports whether s consists of ASCII letters and digits and further
// characters.
func only[T string | []byte](s T, further string, upper bool) bool {
	for i := range len(s) {
		b := s[i]
		if 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || upper && 'A' <= b && b <= 'Z' {
			continue
		}
		if strings.IndexByte(further, b) < 0 {
			return false
		}
	}
	return true
}

// Rename replaces every string of a record that may hold a chosen name by
// f(string): all fields but those that hold words of the contract. record is a
// pointer to a struct of the contract. Map keys that f makes equal are added up.
func Rename(record any, f func(string) string) {
	v := reflect.ValueOf(record).Elem()
	shapeOf(v.Type()).rename(v, f)
	if row, ok := record.(*CoverageRow); ok {
		row.Cluster = joined(row.Clusters)
	}
}

func (s *shape) rename(v reflect.Value, f func(string) string) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch s.kind {
	case reflect.String:
		if old := v.String(); !isWord(s.word, old) {
			if renamed := f(old); renamed != old {
				v.SetString(renamed)
			}
		}
	case reflect.Struct:
		for i := range s.fields {
			if field := &s.fields[i]; field.shape.strings {
				field.shape.rename(field.of(v), f)
			}
		}
	case reflect.Slice:
		if s.strings {
			for i := range v.Len() {
				s.elem.rename(v.Index(i), f)
			}
		}
	case reflect.Map:
		s.renameKeys(v, f)
	}
}

func (s *shape) renameKeys(v reflect.Value, f func(string) string) {
	counts, ok := v.Interface().(map[string]int)
	if !s.strings || !ok || len(counts) == 0 {
		return
	}
	renamed := make(map[string]int, len(counts))
	for key, n := range counts {
		renamed[f(key)] += n
	}
	v.Set(reflect.ValueOf(renamed))
}

// Names calls f for every string of a record that Rename would replace, map
// keys included.
func Names(record any, f func(string)) {
	v := reflect.ValueOf(record).Elem()
	shapeOf(v.Type()).names(v, f)
}

func (s *shape) names(v reflect.Value, f func(string)) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch s.kind {
	case reflect.String:
		if !isWord(s.word, v.String()) {
			f(v.String())
		}
	case reflect.Struct:
		for i := range s.fields {
			s.fields[i].shape.names(s.fields[i].of(v), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.elem.names(v.Index(i), f)
		}
	case reflect.Map:
		if s.strings {
			for _, key := range v.MapKeys() {
				f(key.String())
			}
		}
	}
}

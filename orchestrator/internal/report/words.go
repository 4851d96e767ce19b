package report

import (
	"reflect"
	"strings"
)

// isWord reports whether s looks like what a field with the struct tag
// `word:"form"` holds when it is not a name.
func isWord(form, s string) bool {
	switch form {
	case "true":
		return only(s, "_.:/+-#", true)
	case "kind":
		// An API kind: PascalCase.
		return s == "" || 'A' <= s[0] && s[0] <= 'Z' && only(s, "", true)
	case "code":
		return s == "" || 'a' <= s[0] && s[0] <= 'z' && only(s, "_", false)
	}
	return false
}

// only reports whether s consists of ASCII letters and digits and further
// characters.
func only(s, further string, upper bool) bool {
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
	rename(reflect.ValueOf(record).Elem(), "", f)
	if row, ok := record.(*CoverageRow); ok {
		row.Cluster = joined(row.Clusters)
	}
}

func rename(v reflect.Value, word string, f func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if !isWord(word, v.String()) {
			v.SetString(f(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			rename(v.Field(i), v.Type().Field(i).Tag.Get("word"), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			rename(v.Index(i), word, f)
		}
	case reflect.Map:
		renameKeys(v, word, f)
	}
}

func renameKeys(v reflect.Value, word string, f func(string) string) {
	if word != "" || v.Len() == 0 {
		return
	}
	// Every map of the contract is a map[string]int.
	counts, ok := v.Interface().(map[string]int)
	if !ok {
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
	names(reflect.ValueOf(record).Elem(), "", f)
}

func names(v reflect.Value, word string, f func(string)) {
	switch v.Kind() {
	case reflect.String:
		if !isWord(word, v.String()) {
			f(v.String())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			names(v.Field(i), v.Type().Field(i).Tag.Get("word"), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			names(v.Index(i), word, f)
		}
	case reflect.Map:
		if word == "" {
			for _, key := range v.MapKeys() {
				f(key.String())
			}
		}
	}
}

package report

import (
	"reflect"
	"regexp"
)

// What a field with the struct tag `word` may hold without being a name.
var wordForms = map[string]*regexp.Regexp{
	"true": regexp.MustCompile(`^[A-Za-z0-9_.:/+-]*$`),
	"kind": regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)?$`),
	"code": regexp.MustCompile(`^([a-z][a-z0-9_]*)?$`),
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
		if form := wordForms[word]; form != nil && form.MatchString(v.String()) {
			return
		}
		v.SetString(f(v.String()))
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
		if form := wordForms[word]; form == nil || !form.MatchString(v.String()) {
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

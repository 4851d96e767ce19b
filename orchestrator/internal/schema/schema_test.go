package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// fill gives every field a value that is not its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	}
}

var update = flag.Bool("update", false, "write schema.json anew")

// TestDerived: the derived schemas are what the contract and the protocol say.
func TestDerived(t *testing.T) {
	for kind, want := range map[string][]byte{"census": derive(t, false), "facts": deriveFacts(t, false)} {
		if *update {
			if err := os.WriteFile("files/"+kind+".json", want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		document, _ := Of(kind)
		if diff := cmp.Diff(string(want), document); diff != "" {
			t.Errorf("the contract (-) and %s.json (+) differ, run go test ./orchestrator/internal/schema -update:\n%s", kind, diff)
		}
	}
}

// TestEveryFieldIsDescribed: a schema that refuses what it does not know accepts
// every field of every record, and misses each that is left out.
func TestEveryFieldIsDescribed(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(derive(t, true)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("file:///schema.json", document); err != nil {
		t.Fatal(err)
	}
	records := []any{&report.Census{}}
	for _, name := range report.DataFiles() {
		records = append(records, report.NewRecord(name))
	}
	for _, record := range records {
		fill(reflect.ValueOf(record).Elem())
		name := reflect.TypeOf(record).Elem().Name()
		schema, err := compiler.Compile("file:///schema.json#" + name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		value["further"] = 1
		if schema.Validate(value) == nil {
			t.Errorf("%s: a field that nobody knows is accepted", name)
		}
		delete(value, "further")
		left := 0
		for field := range value {
			kept := value[field]
			delete(value, field)
			if schema.Validate(value) != nil {
				left++
			}
			value[field] = kept
		}
		if left == 0 {
			t.Errorf("%s: no field is required", name)
		}
	}
}

// TestDescriptions: the words of the contract are in the schema.
func TestDescriptions(t *testing.T) {
	text := string(derive(t, false))
	for _, want := range []string{
		"class is \\\"local\\\", \\\"remote_direct\\\"", `"$anchor": "Placement"`, "draft/2020-12", `"minimum": 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the schema does not hold %s", want)
		}
	}
	if strings.Contains(text, "SchemaFile is") {
		t.Error("a description speaks of a Go name")
	}
}

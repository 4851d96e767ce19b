package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/config"
	"github.com/gitops-reach/reach/orchestrator/internal/oracle"
)

func compile(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("file:///schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("file:///schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func of(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	text, ok := Of(kind)
	if !ok {
		t.Fatalf("there is no schema %s", kind)
	}
	return compile(t, text)
}

// TestKinds: every schema is listed and bears its $id, which the data names.
func TestKinds(t *testing.T) {
	entries, err := files.ReadDir("files")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(Kinds) {
		t.Errorf("%d files for %d kinds", len(entries), len(Kinds))
	}
	for _, k := range Kinds {
		text, _ := Of(k.Name)
		if !strings.Contains(text, fmt.Sprintf(`"$id": %q`, ID(k.Name))) {
			t.Errorf("%s does not bear %s", k.Name, ID(k.Name))
		}
		of(t, k.Name)
	}
	if alias.SchemaID != ID("aliases") || oracle.SchemaID != ID("oracle") {
		t.Error("a package names another schema")
	}
	for _, none := range []string{"", "report", "../files/config", "."} {
		if _, ok := Of(none); ok {
			t.Errorf("there is a schema %q", none)
		}
	}
}

// plain is a YAML node as JSON has it: a date is text.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0])
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, plain(item))
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return out
	case yaml.AliasNode:
		return plain(n.Alias)
	}
	if n.Tag == "!!timestamp" || n.Tag == "!!str" {
		return n.Value
	}
	var out any
	if n.Decode(&out) != nil {
		return n.Value
	}
	if i, ok := out.(int); ok {
		return json.Number(fmt.Sprint(i))
	}
	return out
}

// TestConfig: the schema takes whatever the reader takes, and refuses each of its
// mistakes but those that JSON Schema cannot tell.
func TestConfig(t *testing.T) {
	schema := of(t, "config")
	example, err := os.ReadFile("../../../reach.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	empty := "roots:\nclusters:\nspokes:\nsources:\naliases:\nlimits:\nsuppressions:\n"
	inside := "roots: [{cluster: a, path: a/..b/c..}]\nsources: [{name: x, subdirectory: ./a, external: false}, {url: y, ref: , external: true}]\n"
	for _, text := range []string{string(example), "{}", empty, inside} {
		if _, line, message := config.Parse([]byte(text)); message != "" {
			t.Fatalf("%d: %s", line, message)
		}
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(plain(&n)); err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	beyond := []string{
		"alias", "anchor", "repeated_key", "repeated_cluster", "second_document", "suppression_date_elsewhere", "suppression_pattern",
	}
	archive, err := txtar.ParseFile("../config/testdata/mistakes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		var n yaml.Node
		if err := yaml.Unmarshal(f.Data, &n); err != nil {
			continue // no YAML
		}
		err := schema.Validate(plain(&n))
		if told := err != nil; told == slices.Contains(beyond, f.Name) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// TestConfigKeys: the schema has the keys of the configuration and no other.
func TestConfigKeys(t *testing.T) {
	text, _ := Of("config")
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	definitions := document["definitions"].(map[string]any)
	var walk func(at string, s map[string]any, typ reflect.Type)
	walk = func(at string, s map[string]any, typ reflect.Type) {
		if ref, ok := s["$ref"].(string); ok {
			s = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		}
		switch typ.Kind() {
		case reflect.Pointer:
			walk(at, s, typ.Elem())
		case reflect.Slice:
			walk(at+"[]", s["items"].(map[string]any), typ.Elem())
		case reflect.Struct:
			properties := s["properties"].(map[string]any)
			var want []string
			for i := range typ.NumField() {
				if key := typ.Field(i).Tag.Get("yaml"); key != "" {
					want = append(want, key)
					if p, ok := properties[key].(map[string]any); ok {
						walk(at+"."+key, p, typ.Field(i).Type)
					}
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(properties))); diff != "" {
				t.Errorf("%s: the configuration (-) and the schema (+) differ:\n%s", at, diff)
			}
		}
	}
	walk("", document, reflect.TypeFor[config.Config]())
}

// TestAliases and TestOracle: schema and reader say the same of a document.
func TestAliases(t *testing.T) {
	schema := of(t, "aliases")
	var written bytes.Buffer
	mapping := alias.Mapping{
		Clusters:   map[string]string{"prod-eu": "hub-1", "prod-eu/a/b": "x y", "é": "ü"},
		Repository: map[string]string{"platform": "r"},
	}
	if err := mapping.JSON(&written); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(written.String(), `"$schema": "`+ID("aliases")) {
		t.Error("the file does not name its schema")
	}
	documents := []string{written.String()}
	for _, clusters := range []string{
		`{}`, `{"":"x"}`, `{"a":""}`, `{"a":" x"}`, `{"a":"x "}`, `{"a":"x/y"}`, `{"a":"x\\y"}`, `{"a":"x\ty"}`, `{"a":7}`, `{"a":"x<"}`, `{"a":"x|y"}`, `[]`,
	} {
		documents = append(documents, `{"schema":"reach.aliases/v1","clusters":`+clusters+`,"repository":{},"words":{}}`)
	}
	documents = append(documents, `{"schema":"reach.aliases/v2","clusters":{},"repository":{},"words":{}}`,
		`{"schema":"reach.aliases/v1","clusters":{},"repository":{},"words":{},"more":{}}`, `[]`)
	for _, d := range documents {
		file := filepath.Join(t.TempDir(), "aliases.json")
		if err := os.WriteFile(file, []byte(d), 0o600); err != nil {
			t.Fatal(err)
		}
		_, read := alias.Load(file)
		agree(t, schema, d, read)
	}
}

func agree(t *testing.T, schema *jsonschema.Schema, document string, read error) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if told := schema.Validate(value); (told == nil) != (read == nil) {
		t.Errorf("%s\nthe schema: %v\nthe reader: %v", document, told, read)
	}
}

func TestOracle(t *testing.T) {
	schema, number := of(t, "oracle"), 3
	var written bytes.Buffer
	err := oracle.Write(&written, &oracle.File{Tool: "t", Commit: "c", Rows: []oracle.Row{
		{Cluster: "hub", Namespace: "a", Name: "b", Class: "local", Target: "hub", State: oracle.Rendered, Objects: &number},
		{Cluster: "hub", Namespace: "a", Name: "c", Class: "remote_direct", Target: "s", State: oracle.NotRendered, Reason: "suspended"},
		{Cluster: "hub", Namespace: "a", Name: "d", State: oracle.Failed, Reason: "build_failed"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(written.String(), `"$schema":"`+ID("oracle")) {
		t.Error("the file does not name its schema")
	}
	documents := []string{written.String(), "[]", `{"schema":"reach.oracle/v1","kustomizations":[]}`, `{"schema":"reach.oracle/v1"}`, `{"schema":"v2","kustomizations":[]}`, `{"kustomizations":[]}`, `{"schema":"reach.oracle/v1","kustomizations":[],"more":1}`}
	for _, row := range []string{
		`{"name":"a","class":"local"}`, `{"name":"a"}`, `{"name":"a","state":"failed"}`, `{"name":"a","class":"","state":"failed"}`,
		`{"name":"a","class":"","state":"rendered"}`, `{"name":"a","class":"remote_direct"}`, `{"name":"a","class":"remote_direct","target":""}`,
		`{"name":"a","class":"remote_direct","target":"s"}`, `{"name":"a/b","class":"local"}`, `{"name":"","class":"local"}`, `{"class":"local"}`,
		`{"name":"a","class":"other"}`, `{"name":"a","class":"local","state":"maybe"}`, `{"name":"a","class":"local","reason":"No"}`,
		`{"name":"a","class":"local","reason":""}`, `{"name":"a","class":"local","objects":-1}`, `{"name":"a","class":"local","objects":null}`,
		`{"name":"a","class":"local","objects":"1"}`, `{"name":"a","class":"local","further":1}`, `{"namespace":"a/b","name":"a","class":"local"}`,
		`{"name":"a","class":"remote_hub_render"}`, `{"name":"a","class":"uncovered"}`,
		`{"name":"a","class":"unresolved","cluster":"h","namespace":"n","state":"not_rendered","reason":"a_b"}`,
	} {
		documents = append(documents, "["+row+"]")
	}
	for _, d := range documents {
		_, _, message := oracle.Parse([]byte(d))
		read := fmt.Errorf("%s", message)
		if message == "" {
			read = nil
		}
		agree(t, schema, d, read)
	}
}

// TestFacts: the facts of the golden censuses are what the schema says, also when
// it refuses what it does not know, and it convicts what is no fact.
func TestFacts(t *testing.T) {
	open, closed := of(t, "facts"), compile(t, string(deriveFacts(t, true)))
	archives, err := filepath.Glob("../../../testdata/census/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	n, seen := 0, map[string]bool{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name != "facts" {
				continue
			}
			for line := range strings.Lines(string(f.Data)) {
				if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
					continue
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for key := range value.(map[string]any) {
					seen[key] = true
				}
				for _, schema := range []*jsonschema.Schema{open, closed} {
					if err := schema.Validate(value); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				n++
			}
		}
	}
	if n < 100 || len(seen) < 10 {
		t.Errorf("only %d facts of %d kinds", n, len(seen))
	}
	for _, line := range []string{
		`{"access":{}}`, `{"cluster":"a"}`, `{"cluster":"a","access":{},"nodes":{}}`, `{"cluster":"a","access":{"outcome":"FINE"}}`,
		`{"cluster":"a","nodes":{"nodes":"three"}}`, `{"cluster":"a","holder":{"generation":"x"}}`, `{"cluster":"a","access":{"read_at":"today"}}`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if open.Validate(value) == nil {
			t.Errorf("%s is taken for a fact", line)
		}
	}
}

package golden

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats of reach report, and the file of the census that each is byte for
// byte.
var formats = map[string]string{
	"html": "report.html", "md": "report.md", "json": "census.json", "sarif": "report.sarif", "junit": "report.junit.xml",
	"dot": "topology.dot", "mermaid": "topology.mmd", "schema": "schema.json",
}

// checkFormats wants of a report that each of its pages comes again from the
// data alone, and that every file is what it says it is.
func checkFormats(t *testing.T, reach, dir string) {
	t.Helper()
	for format, file := range formats {
		again, err := exec.Command(reach, "report", dir, "--format", format).Output()
		if err != nil {
			t.Errorf("reach report --format %s: %v", format, err)
		}
		if !bytes.Equal(again, read(t, dir, file)) {
			t.Errorf("reach report --format %s is not %s", format, file)
		}
	}
	for _, err := range schemaErrors(t, dir) {
		t.Error(err)
	}
	if err := sarif(t).Validate(decode(t, read(t, dir, "report.sarif"))); err != nil {
		t.Errorf("report.sarif: %v", err)
	}
	tokens := xml.NewDecoder(bytes.NewReader(read(t, dir, "report.junit.xml")))
	for {
		if _, err := tokens.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("report.junit.xml: %v", err)
		}
	}
}

func read(t *testing.T, dir, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// schemaErrors checks census.json and each line of each file against the schema
// that census.json names for it.
func schemaErrors(t *testing.T, dir string) []error {
	t.Helper()
	var errs []error
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("file:///report/schema.json", decode(t, read(t, dir, "schema.json"))); err != nil {
		t.Fatal(err)
	}
	compile := func(reference string) *jsonschema.Schema {
		schema, err := compiler.Compile("file:///report/" + reference)
		if err != nil {
			t.Fatalf("%s: %v", reference, err)
		}
		return schema
	}
	var census struct {
		Schema string `json:"$schema"`
		Data   []struct{ File, Schema string }
	}
	data := read(t, dir, "census.json")
	if err := json.Unmarshal(data, &census); err != nil {
		t.Fatal(err)
	}
	if err := compile(census.Schema).Validate(decode(t, data)); err != nil {
		errs = append(errs, fmt.Errorf("census.json: %w", err))
	}
	if len(census.Data) != 10 {
		errs = append(errs, fmt.Errorf("census.json names %d data files", len(census.Data)))
	}
	for _, file := range census.Data {
		schema, n := compile(file.Schema), 0
		for line := range strings.Lines(string(read(t, dir, file.File))) {
			n++
			if err := schema.Validate(decode(t, []byte(line))); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", file.File, n, err))
			}
		}
	}
	return errs
}

// sarif is the schema that OASIS publishes.
func sarif(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := sarifSchema()
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

var sarifSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	return compiler.Compile("../../orchestrator/internal/sarif/testdata/sarif-schema-2.1.0.json")
})

// TestSchemasConvict: each check can fail.
func TestSchemasConvict(t *testing.T) {
	reach := build(t)
	data, err := os.ReadFile(census + "/class_local.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, reach, c)
	if errs := schemaErrors(t, dir); len(errs) != 0 {
		t.Fatal(errs)
	}
	for file, change := range map[string][2]string{
		"placements.jsonl": {`"role":"object"`, `"role":7`},
		"objects.jsonl":    {`"verdict":`, `"verdikt":`},
		"census.json":      {`"commit_time":`, `"time":`},
	} {
		whole := read(t, dir, file)
		planted := bytes.Replace(whole, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(planted, whole) {
			t.Fatalf("%s does not hold %s", file, change[0])
		}
		if err := os.WriteFile(filepath.Join(dir, file), planted, 0o644); err != nil {
			t.Fatal(err)
		}
		if errs := schemaErrors(t, dir); len(errs) != 1 || !strings.Contains(errs[0].Error(), file) {
			t.Errorf("%s with %s: %v", file, change[1], errs)
		}
		if err := os.WriteFile(filepath.Join(dir, file), whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wrong := strings.Replace(string(read(t, dir, "report.sarif")), `"version": "2.1.0"`, `"version": "2.2.0"`, 1)
	if err := sarif(t).Validate(decode(t, []byte(wrong))); err == nil {
		t.Error("a wrong version is accepted as SARIF 2.1.0")
	}
}

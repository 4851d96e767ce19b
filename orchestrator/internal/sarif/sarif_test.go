package sarif

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func render(t *testing.T, findings ...report.Finding) map[string]any {
	t.Helper()
	var out bytes.Buffer
	h := New(&out)
	header := report.Header{Repository: "r", Names: "alias", Tool: report.Tool{Version: "1.2.3-dev"}}
	census := report.Census{Header: header, Rules: []report.Rule{{Rule: "reach.flux.path_missing", Severity: "error", Count: 1, Doc: "A path."}}}
	if err := h.Begin(&header); err != nil {
		t.Fatal(err)
	}
	for i := range findings {
		if err := h.Finding(&findings[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.End(&census); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("not SARIF 2.1.0: %v", err)
	}
	var log map[string]any
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	return log
}

func results(log map[string]any) []any {
	return log["runs"].([]any)[0].(map[string]any)["results"].([]any)
}

func fingerprintOf(result any) string {
	return result.(map[string]any)["partialFingerprints"].(map[string]any)[fingerprint].(string)
}

// TestFingerprint: it stays when the line moves or the words change, and tells
// findings apart.
func TestFingerprint(t *testing.T) {
	base := report.Finding{Rule: "reach.flux.path_missing", Severity: "error", Path: "a.yaml", Line: 3, Message: "m", Name: "x"}
	moved, other := base, base
	moved.Line, moved.Message, moved.Remedy = 40, "other words", "r"
	other.Name = "y"
	one := fingerprintOf(results(render(t, base))[0])
	if got := fingerprintOf(results(render(t, moved))[0]); got != one {
		t.Error("the fingerprint moves with the line")
	}
	both := results(render(t, base, other, moved))
	if fingerprintOf(both[0]) == fingerprintOf(both[1]) || fingerprintOf(both[0]) == fingerprintOf(both[2]) {
		t.Error("findings of one log share a fingerprint")
	}
	if fingerprintOf(both[0]) != one {
		t.Error("the fingerprint depends on the findings after it")
	}
}

// TestHostileFindings: any path is a valid reference, and no text makes a link.
func TestHostileFindings(t *testing.T) {
	for _, path := range []string{"a b/ü.yaml", "http:x/y", "%41", "#a", "?q", "..\\x", "a\x1b", "-", "x:y"} {
		log := render(t, report.Finding{Rule: "unknown", Severity: "fatal", Path: path, Line: 1, Message: "see [here](http://evil.example)", Trace: []report.Hop{{Kind: "file", Path: path, Line: 1}}})
		text := results(log)[0].(map[string]any)["message"].(map[string]any)["text"].(string)
		if strings.Contains(text, "](") {
			t.Errorf("the text makes a link: %s", text)
		}
	}
	// What has no place is located all the same.
	location := results(render(t, report.Finding{Rule: "r", Severity: "info", Message: "m"}))[0].(map[string]any)["locations"].([]any)
	if len(location) != 1 {
		t.Errorf("locations %v", location)
	}
}

// TestSchemaIsThePublishedOne: nobody made it more lenient.
func TestSchemaIsThePublishedOne(t *testing.T) {
	text, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil || !strings.Contains(string(text), `"id": "`+schemaURI+`"`) || strings.Count(string(text), `"additionalProperties": false`) < 40 {
		t.Error("testdata/sarif-schema-2.1.0.json is not the schema of the standard", err)
	}
}

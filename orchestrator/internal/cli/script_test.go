package cli

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gitops-reach/reach/orchestrator/internal/schema"
)

var update = flag.Bool("update", false, "rewrite what golden files expect")

// TestMain makes two commands for the scripts: reach is the program as it is
// built, reach-replay the same with an analyser that replays $STREAM.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"reach": func() {
			os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
		},
		"reach-replay": func() {
			os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ(), launchFake))
		},
	})
}

// TestScript runs the scripts that show what a user sees.
func TestScript(t *testing.T) {
	stream, err := filepath.Abs("testdata/acme.textproto")
	if err != nil {
		t.Fatal(err)
	}
	binary := buildAnalyser(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for _, v := range [][2]string{
				{"STREAM", stream},
				{"ANALYSER", binary},
				// 2025-12-03 10:53:20 UTC, three days after the commit of STREAM.
				{"SOURCE_DATE_EPOCH", "1764759200"},
				{"GIT_CONFIG_NOSYSTEM", "1"},
				{"GIT_AUTHOR_NAME", "Acme"},
				{"GIT_AUTHOR_EMAIL", "acme@acme.example"},
				{"GIT_COMMITTER_NAME", "Acme"},
				{"GIT_COMMITTER_EMAIL", "acme@acme.example"},
				{"GIT_AUTHOR_DATE", "2025-11-30T10:53:20Z"},
				{"GIT_COMMITTER_DATE", "2025-11-30T10:53:20Z"},
			} {
				env.Setenv(v[0], v[1])
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"validate": validate},
		Condition: func(name string) (bool, error) {
			if name == "analyser" {
				return binary != "", nil
			}
			return false, nil
		},
	})
}

// validate KIND FILE checks a JSON file against the schema that reach schema prints
// for its kind, and that the file names it.
func validate(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: validate KIND FILE")
	}
	text, ok := schema.Of(args[0])
	if !ok {
		ts.Fatalf("there is no schema %q", args[0])
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	ts.Check(err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	ts.Check(compiler.AddResource("file:///schema.json", document))
	compiled, err := compiler.Compile("file:///schema.json")
	ts.Check(err)
	data, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	err = compiled.Validate(data)
	if named, _ := data.(map[string]any); err == nil && named["$schema"] != schema.ID(args[0]) {
		err = fmt.Errorf("the file names the schema %v", named["$schema"])
	}
	if neg == (err == nil) {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// buildAnalyser builds the real analyser into a folder of the test, or returns
// "" with a line in the log when there is none to build.
func buildAnalyser(t *testing.T) string {
	source := filepath.Join("..", "..", "..", "analyser")
	if _, err := os.Stat(filepath.Join(source, "main.go")); err != nil {
		t.Log("no analyser to build: scripts that need one are skipped")
		return ""
	}
	binary := filepath.Join(t.TempDir(), "reach-analyser")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the analyser: %v\n%s", err, out)
	}
	return binary
}

package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
			os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ(), startFake))
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
		Condition: func(name string) (bool, error) {
			if name == "analyser" {
				return binary != "", nil
			}
			return false, nil
		},
	})
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

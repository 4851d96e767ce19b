// Package action tests the GitHub Action at the root of the repository: what its
// metadata says, and what its scripts do, run as a runner runs them, with a gh
// that writes down what it is asked.
package action

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

type metadata struct {
	Name, Description, Author string
	Branding                  map[string]string
	Inputs                    map[string]struct{ Description, Default string }
	Outputs                   map[string]struct{ Description, Value string }
	Runs                      struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID, Name, Uses, Run, Shell, If string
	With, Env                      map[string]string
}

func load(t *testing.T) metadata {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var m metadata
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

var (
	pinned    = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	reference = regexp.MustCompile(`\$\{\{\s*([\w.-]+)[^}]*\}\}`)
	script    = regexp.MustCompile(`^"\$GITHUB_ACTION_PATH/(\.github/action/[a-z]+\.sh)"$`)
)

// problems are what is wrong with the metadata: steps that are not pinned, text
// of a workflow inside a script, names of inputs and steps that do not exist.
func problems(m metadata) []string {
	var out []string
	ids := map[string]bool{}
	known := func(where, expression string) {
		for _, found := range reference.FindAllStringSubmatch(expression, -1) {
			parts := strings.Split(found[1], ".")
			switch {
			case parts[0] == "inputs" && m.Inputs[parts[1]].Description == "":
				out = append(out, where+" uses an input that is not declared: "+found[1])
			case parts[0] == "steps" && !ids[parts[1]]:
				out = append(out, where+" uses a step that did not run: "+found[1])
			}
		}
	}
	if m.Runs.Using != "composite" || m.Name == "" || m.Description == "" {
		out = append(out, "it is no composite action with a name and a description")
	}
	for _, s := range m.Runs.Steps {
		switch {
		case s.Uses != "" && !pinned.MatchString(s.Uses):
			out = append(out, s.Name+": "+s.Uses+" is not pinned to a commit")
		case s.Run != "" && s.Shell != "bash":
			out = append(out, s.Name+" does not say its shell")
		case strings.Contains(s.Run, "${{"):
			out = append(out, s.Name+" puts what a workflow says into a script")
		case s.Uses == "" && s.Run == "":
			out = append(out, s.Name+" does nothing")
		}
		for _, v := range s.With {
			known(s.Name, v)
		}
		for _, v := range s.Env {
			known(s.Name, v)
		}
		known(s.Name, "${{ "+s.If+" }}")
		ids[s.ID] = true
	}
	for name, o := range m.Outputs {
		known("output "+name, o.Value)
	}
	return out
}

func TestMetadata(t *testing.T) {
	m := load(t)
	for _, p := range problems(m) {
		t.Error(p)
	}
	scripts := 0
	for _, s := range m.Runs.Steps {
		if found := script.FindStringSubmatch(s.Run); found != nil {
			scripts++
			info, err := os.Stat(filepath.Join(root, found[1]))
			if err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s cannot be run: %v", found[1], err)
			}
		}
	}
	if scripts != 4 {
		t.Errorf("%d scripts are run", scripts)
	}
}

// TestMetadataConvicts: each check can fail.
func TestMetadataConvicts(t *testing.T) {
	for want, breakIt := range map[string]func(*metadata){
		"not pinned":           func(m *metadata) { m.Runs.Steps[0].Uses = "actions/setup-go@v6" },
		"does not say":         func(m *metadata) { m.Runs.Steps[1].Shell = "" },
		"into a script":        func(m *metadata) { m.Runs.Steps[1].Run = "echo ${{ inputs.args }}" },
		"is not declared":      func(m *metadata) { m.Runs.Steps[2].Env["X"] = "${{ inputs.absent }}" },
		"step that did not":    func(m *metadata) { m.Runs.Steps[2].Env["X"] = "${{ steps.later.outputs.x }}" },
		"is no composite":      func(m *metadata) { m.Runs.Using = "docker" },
		"does nothing":         func(m *metadata) { m.Runs.Steps[1].Run = "" },
		"output report uses a": func(m *metadata) { m.Runs.Steps[2].ID = "other" },
	} {
		m := load(t)
		breakIt(&m)
		if got := strings.Join(problems(m), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
}

// runner is what GitHub gives a step.
type runner struct {
	t             *testing.T
	temp, outputs string
	env           []string
}

// programs builds both programs, once for all tests.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reach-action-")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"reach": "orchestrator", "reach-analyser": "analyser"} {
		if out, err := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(dir, name), filepath.Join(root, pkg)).CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	built = dir
	return dir, nil
})

var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// newRunner has both programs in place of those that build.sh makes, and a gh
// that keeps what it is asked in the folder calls.
func newRunner(t *testing.T) *runner {
	t.Helper()
	if testing.Short() {
		t.Skip("builds both programs: not in the short tests")
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	if err := os.Symlink(bin, filepath.Join(temp, "reach-bin")); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(temp, "fake")
	if err := os.MkdirAll(filepath.Join(temp, "calls"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(fake, "gh"), `#!/bin/sh
set -eu
n=$(ls "$RUNNER_TEMP/calls" | wc -l | tr -d ' ')
printf '%s\n' "$@" >"$RUNNER_TEMP/calls/$n.args"
for a; do
	case $a in
	body=@*) cp "${a#body=@}" "$RUNNER_TEMP/calls/body" ;;
	*/reach-sarif.*) cp "$a" "$RUNNER_TEMP/calls/sarif" ;;
	--paginate) cat "$RUNNER_TEMP/comments" ;;
	esac
done
`, 0o755)
	write(t, filepath.Join(temp, "comments"), "", 0o644)
	outputs := filepath.Join(temp, "outputs")
	return &runner{t, temp, outputs, append(os.Environ(),
		"PATH="+fake+":"+os.Getenv("PATH"), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+outputs, "GITHUB_ACTION_PATH="+path,
		"GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary"), "GITHUB_REPOSITORY=acme-corp/acme-platform",
		"GITHUB_SHA=0123456789012345678901234567890123456789", "GITHUB_REF=refs/pull/7/merge",
	)}
}

// step runs the script of a step with its environment and returns its status.
func (r *runner) step(name string, env ...string) (int, string) {
	r.t.Helper()
	c := exec.Command("bash", filepath.Join(root, ".github", "action", name+".sh"))
	c.Env = append(r.env, env...)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		r.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

func asExit(err error, target **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*target = e
	return ok
}

func (r *runner) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.temp, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// platform is a clone with one finding, which is no error.
func platform(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "platform")
	write(t, filepath.Join(dir, "clusters", "hub", "team.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n", 0o644)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	return dir
}

// TestScripts: a census, its SARIF in code scanning, its page as one comment.
func TestScripts(t *testing.T) {
	r := newRunner(t)
	census := []string{
		"INPUT_REPOSITORY=" + platform(t), "INPUT_REVISION=HEAD", "INPUT_ARGS=--root hub=clusters/hub\n--verbose", "INPUT_NAMES=real", "INPUT_FAIL_ON=info",
	}
	if status, out := r.step("census", census...); status != 0 {
		t.Fatalf("the census fails: %s", out)
	}
	report := filepath.Join(r.temp, "reach-report")
	// clusters/hub has no kustomization file, which is worth an info.
	if got, want := r.read("outputs"), "report="+report+"\nstatus=3\nfindings=1\n"; got != want {
		t.Errorf("the outputs are %q, want %q", got, want)
	}
	if page := r.read("reach-report/report.md"); r.read("summary") != page {
		t.Error("the summary of the step is not report.md")
	}

	if status, out := r.step("sarif", "REPORT="+report, "GH_TOKEN=x"); status != 0 {
		t.Fatalf("SARIF is not sent: %s", out)
	}
	if got := r.read("calls/0.args"); !strings.HasPrefix(got, "api\n--method\nPOST\nrepos/acme-corp/acme-platform/code-scanning/sarifs\n") {
		t.Errorf("gh is asked %q", got)
	}
	var sent struct{ Commit_sha, Ref, Sarif, Tool_name string }
	if err := json.Unmarshal([]byte(r.read("calls/sarif")), &sent); err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(sent.Sarif)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(strings.NewReader(string(packed)))
	if err != nil {
		t.Fatal(err)
	}
	log, err := io.ReadAll(plain)
	if err != nil || string(log) != r.read("reach-report/report.sarif") {
		t.Errorf("what is sent is not report.sarif (%v)", err)
	}
	if sent.Commit_sha != "0123456789012345678901234567890123456789" || sent.Ref != "refs/pull/7/merge" {
		t.Errorf("it is sent for %s at %s", sent.Commit_sha, sent.Ref)
	}

	comment := []string{"REPORT=" + report, "PULL_REQUEST=7", "GH_TOKEN=x"}
	if status, out := r.step("comment", comment...); status != 0 || !strings.Contains(out, "wrote a comment") {
		t.Fatalf("the first comment: %s", out)
	}
	body := r.read("calls/body")
	if !strings.HasPrefix(body, "<!-- reach census -->\n# Reach census of ") || !strings.HasSuffix(body, r.read("reach-report/report.md")) {
		t.Errorf("the comment is %q", body)
	}
	write(t, filepath.Join(r.temp, "comments"), "4711\n", 0o644)
	if status, out := r.step("comment", comment...); status != 0 || !strings.Contains(out, "replaced comment 4711") {
		t.Fatalf("the second comment: %s", out)
	}
	write(t, filepath.Join(report, "report.md"), strings.Repeat("| a row of a table |\n", 5000), 0o644)
	if status, out := r.step("comment", comment...); status != 0 {
		t.Fatalf("a long comment: %s", out)
	}
	if long := r.read("calls/body"); len(long) > 65000 || !strings.Contains(long, "(The rest is in report.md") || strings.Contains(long, "a row of a table |\n\n(The rest") == false {
		t.Errorf("a long comment has %d bytes and ends %q", len(long), long[len(long)-80:])
	}
}

// TestCensusFails: no report, no outputs, the status of reach itself.
func TestCensusFails(t *testing.T) {
	r := newRunner(t)
	status, out := r.step("census", "INPUT_REPOSITORY="+t.TempDir(), "INPUT_REVISION=HEAD", "INPUT_ARGS=", "INPUT_NAMES=real", "INPUT_FAIL_ON=never")
	if status != 1 {
		t.Errorf("no repository: status %d: %s", status, out)
	}
	if _, err := os.Stat(r.outputs); err == nil {
		t.Error("a census that failed has outputs")
	}
}

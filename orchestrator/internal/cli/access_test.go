package cli

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/gitops-reach/reach/hack/misbehave"
	"github.com/gitops-reach/reach/orchestrator/internal/facts"
	"github.com/gitops-reach/reach/orchestrator/internal/session/sessiontest"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// listener is an analyser that keeps the facts it is told.
type listener struct {
	*fakeAnalyser
	told []*reachv1.Fact
}

func (l *listener) Facts(_ context.Context, each func(func(*reachv1.Fact) error) error) (*reachv1.FactsResponse, error) {
	err := each(func(f *reachv1.Fact) error { l.told = append(l.told, proto.Clone(f).(*reachv1.Fact)); return nil })
	return &reachv1.FactsResponse{Facts: int64(len(l.told))}, err
}

// listening runs a command with a listener, and returns what it was told.
func listening(t *testing.T, env []string, args ...string) (code int, stderr string, told []*reachv1.Fact) {
	t.Helper()
	messages, err := readStream(filepath.Join("testdata", "acme.textproto"))
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{fakeAnalyser: &fakeAnalyser{messages: messages}}
	var errs bytes.Buffer
	code = run(args, io.Discard, &errs, env, fakeLaunch(l))
	return code, errs.String(), l.told
}

// emptyClone is a git repository without a commit; the stream speaks for it.
func emptyClone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return dir
}

func hub(t *testing.T, faults ...misbehave.Fault) (*misbehave.Server, string) {
	t.Helper()
	cluster, _ := sessiontest.Load(t, "../observe/testdata/hub.txtar")
	server, err := misbehave.NewServer(cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Tell(faults...)
	return server, sessiontest.Kubeconfig(t, server, "jane@corp")
}

var noonEnv = []string{"SOURCE_DATE_EPOCH=1764759200"}

// TestAccess reads a cluster, keeps the facts, and repeats the census without
// access: the analyser is told the same, and nothing of the access is in a
// report.
func TestAccess(t *testing.T) {
	server, kubeconfig := hub(t)
	repo, dir := emptyClone(t), t.TempDir()
	saved := filepath.Join(dir, "hub.facts")
	code, stderr, told := listening(t, noonEnv, "census", repo, "--out", filepath.Join(dir, "one"),
		"--kubeconfig", kubeconfig, "--context", "prod-eu=jane@corp", "--save-facts", saved)
	if code != 0 || !strings.Contains(stderr, "prod-eu read (") || strings.Contains(stderr, server.URL()) {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if len(told) < 20 || told[0].GetAccess() == nil || told[0].GetCluster() != "prod-eu" {
		t.Fatalf("%d facts, the first is %v", len(told), told[0])
	}
	for _, f := range told {
		if f.GetAccess().GetContext() != "" {
			t.Error("the analyser was told the name of the context")
		}
	}
	info, err := os.Stat(saved)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	var kept []*reachv1.Fact
	if err := facts.ReadFile(saved, func(f *reachv1.Fact) error { kept = append(kept, f); return nil }); err != nil {
		t.Fatal(err)
	}
	if kept[0].GetAccess().GetContext() != "jane@corp" || len(kept) != len(told) {
		t.Errorf("%d facts are kept, the first is %v", len(kept), kept[0])
	}
	server.Close()
	code, stderr, again := listening(t, noonEnv, "census", repo, "--out", filepath.Join(dir, "two"), "--facts", saved)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if diff := cmp.Diff(told, again, protocmp.Transform()); diff != "" {
		t.Errorf("from the file: %s", diff)
	}
	if strings.Contains(stderr, "more than once") {
		t.Errorf("one file: %s", stderr)
	}
	if _, stderr, _ := listening(t, noonEnv, "census", repo, "--out", filepath.Join(dir, "three"), "--facts", saved, "--facts", saved); !strings.Contains(stderr, "facts: prod-eu was read more than once") {
		t.Errorf("a file that is named twice: %s", stderr)
	}
	if out, err := exec.Command("diff", "-r", filepath.Join(dir, "one"), filepath.Join(dir, "two")).CombinedOutput(); err != nil {
		t.Errorf("the reports differ: %s", out)
	}
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == saved || strings.HasSuffix(name, "aliases.json") {
			return err
		}
		data, err := os.ReadFile(name)
		for _, no := range []string{"jane", "127.0.0.1", "hunter2"} {
			if bytes.Contains(data, []byte(no)) {
				t.Errorf("%s holds %q", name, no)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAccessFails: a cluster that cannot be read does not end the census.
func TestAccessFails(t *testing.T) {
	_, kubeconfig := hub(t, misbehave.Unauthorized())
	code, stderr, told := listening(t, append(noonEnv, "KUBECONFIG="+kubeconfig), "census", emptyClone(t), "--out", filepath.Join(t.TempDir(), "out"), "--context", "prod-eu=jane@corp")
	if code != 0 || !strings.Contains(stderr, "prod-eu could not be read: the server does not accept the credential (401)") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if told[0].GetAccess().GetOutcome() != reachv1.Outcome_OUTCOME_UNAUTHENTICATED {
		t.Errorf("told %v", told[0])
	}
}

// TestOneClusterTwice: what would be told of the second name is about the first.
func TestOneClusterTwice(t *testing.T) {
	_, kubeconfig := hub(t)
	for _, read := range readModes {
		code, stderr, told := listening(t, append(noonEnv, "KUBECONFIG="+kubeconfig), "census", emptyClone(t), "--out", filepath.Join(t.TempDir(), "out"),
			"--context", "east=jane@corp", "--context", "west=jane@corp", "--read", read)
		if code != exitUsage || !strings.Contains(stderr, "--context gives east and west one cluster") || len(told) != 0 {
			t.Errorf("%s: exit code %d, %d facts: %s", read, code, len(told), stderr)
		}
	}
}

// TestNamespaceTwice: a namespace that is named twice is asked for once, and a
// name that steers a terminal does not.
func TestNamespaceTwice(t *testing.T) {
	server, kubeconfig := hub(t)
	var asked []int
	for _, namespaces := range [][]string{{"web"}, {"web", "web"}} {
		args := []string{"census", emptyClone(t), "--out", filepath.Join(t.TempDir(), "out"), "--context", "a\x1b[31mb=jane@corp"}
		for _, n := range namespaces {
			args = append(args, "--namespace", "a\x1b[31mb="+n)
		}
		before := len(server.Asked())
		if code, stderr, _ := listening(t, append(noonEnv, "KUBECONFIG="+kubeconfig), args...); code != 0 || strings.Contains(stderr, "\x1b") {
			t.Errorf("exit code %d: %q", code, stderr)
		}
		asked = append(asked, len(server.Asked())-before)
	}
	if asked[0] != asked[1] {
		t.Errorf("%d requests for a namespace, %d when it is named twice", asked[0], asked[1])
	}
}

// TestNothingGranted: a server that only says its version was not read.
func TestNothingGranted(t *testing.T) {
	_, kubeconfig := hub(t, misbehave.On(func(r *http.Request) bool { return r.URL.Path != "/version" }, misbehave.Forbid()))
	code, stderr, _ := listening(t, append(noonEnv, "KUBECONFIG="+kubeconfig), "census", emptyClone(t), "--out", filepath.Join(t.TempDir(), "out"), "--context", "prod-eu=jane@corp")
	if code != 0 || !strings.Contains(stderr, "prod-eu answered, and nothing of it could be read (") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestAccessIsGranted: nothing is asked unless it was named, and a grant that
// cannot be meant is refused before anything is asked.
func TestAccessIsGranted(t *testing.T) {
	server, kubeconfig := hub(t)
	repo, env := emptyClone(t), append(noonEnv, "KUBECONFIG="+kubeconfig)
	out := filepath.Join(t.TempDir(), "out")
	if code, stderr, told := listening(t, env, "census", repo, "--out", out); code != 0 || len(told) != 0 {
		t.Errorf("exit code %d, %d facts: %s", code, len(told), stderr)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"is not CLUSTER=CONTEXT", []string{"--context", "jane@corp"}},
		{"twice", []string{"--context", "a=jane@corp", "--context", "a=jane@corp"}},
		{`no kubeconfig has a context "other": they have jane@corp`, []string{"--context", "a=other"}},
		{"--kubeconfig without --context", []string{"--kubeconfig", kubeconfig}},
		{"--save-facts without --context", []string{"--save-facts", out + ".facts"}},
		{"is not CLUSTER=NAMESPACE", []string{"--context", "a=jane@corp", "--namespace", "b=web"}},
		{"--as-group without --as", []string{"--context", "a=jane@corp", "--as-group", "b"}},
		{"none of objects, inventories", []string{"--context", "a=jane@corp", "--read", "everything"}},
		{"no such file", []string{"--context", "a=jane@corp", "--kubeconfig", out + ".none"}},
		{"no namespace can have that name", []string{"--context", "a=jane@corp", "--namespace", "a=Web/../x"}},
		{"cannot be written: no such file", []string{"--context", "a=jane@corp", "--save-facts", filepath.Join(out, "none", "x")}},
		{"is a folder", []string{"--context", "a=jane@corp", "--save-facts", repo + "/.."}},
		{"lies inside the clone", []string{"--context", "a=jane@corp", "--save-facts", filepath.Join(repo, "x")}},
	} {
		code, stderr, _ := listening(t, env, append([]string{"census", repo, "--out", out}, c.args...)...)
		if code == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, stderr)
		}
	}
	code, stderr, _ := listening(t, noonEnv, "census", repo, "--out", out, "--context", "a=jane@corp")
	if code != exitUsage || !strings.Contains(stderr, "none is looked for") {
		t.Errorf("without a kubeconfig: exit code %d, %s", code, stderr)
	}
	if asked := server.Asked(); len(asked) != 0 {
		t.Errorf("%d requests were made", len(asked))
	}
}

package cli

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// renamed is the stream of acme with other names.
func renamed(t *testing.T, names *strings.Replacer) []*reachv1.CensusResponse {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "acme.textproto"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*reachv1.CensusResponse
	for block := range strings.SplitSeq(names.Replace(string(data)), "\n---\n") {
		m := &reachv1.CensusResponse{}
		if err := prototext.Unmarshal([]byte(block), m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// TestNoNameInAnyOutput: whatever clusters, owner, repository and host are
// called, no output of a census holds such a name: no file of the report, no
// line on the terminal, no name of a folder.
func TestNoNameInAnyOutput(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	name := func() string {
		var out strings.Builder
		for i := range 2 + random.IntN(2) {
			if i > 0 {
				out.WriteByte("-_."[random.IntN(3)])
			}
			for range 2 + random.IntN(3) {
				// Letters of which no word of the report is made.
				out.WriteByte("qxzjkvw"[random.IntN(7)])
			}
		}
		return out.String()
	}
	names := make([][]string, 15)
	streams := make([][]*reachv1.CensusResponse, len(names))
	for i := range names {
		names[i] = []string{name(), name(), name(), name(), name(), name()}
		n := names[i]
		streams[i] = renamed(t, strings.NewReplacer("prod-eu", n[0], "PROD_EU", strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(n[0])),
			"prod-us", n[1], "spoke-eu", n[2], "git.acme.example", n[3], "acme-platform", n[4], "acme", n[5]))
	}
	workplace(t)
	for i, stream := range streams {
		out, log, err := take(t.Context(), &fakeAnalyser{messages: stream})
		if err != nil {
			t.Fatalf("%v: %v", names[i], err)
		}
		texts := map[string]string{"standard output": out, "standard error": log}
		err = filepath.WalkDir("reach-report", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, "aliases-") {
				return err
			}
			data, err := os.ReadFile(path)
			texts[path] = path + "\n" + string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(texts) < 11 {
			t.Fatalf("only %d outputs", len(texts))
		}
		for where, text := range texts {
			for _, n := range names[i] {
				pattern := regexp.MustCompile(`[-_.]`).ReplaceAllString(n, "[-_. ]")
				if found := regexp.MustCompile(`(?i)` + pattern).FindString(text); found != "" {
					t.Errorf("%s holds %q", where, found)
				}
			}
		}
		if err := os.RemoveAll("reach-report"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrdinaryNames: clusters may bear words that the report uses itself; it is
// published all the same, and no field holds the name.
func TestOrdinaryNames(t *testing.T) {
	var streams [][]*reachv1.CensusResponse
	words := []string{"hub", "local", "cluster", "resolved", "Kustomization", "placements", "file", "production", "a", "1", "openshift", "fluxcd", "apps", "flux", "error", "reach", "census"}
	for i, word := range words {
		streams = append(streams, renamed(t, strings.NewReplacer("prod-eu", word, "prod-us", words[(i+1)%len(words)])))
	}
	workplace(t)
	for i, stream := range streams {
		if _, _, err := take(t.Context(), &fakeAnalyser{messages: stream}, "--out", "out"); err != nil {
			t.Errorf("clusters %q and %q: %v", words[i], words[(i+1)%len(words)], err)
			continue
		}
		data, err := os.ReadFile(filepath.Join("out", "placements.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), `"cluster":"`+words[i]+`"`) {
			t.Errorf("a field holds %q", words[i])
		}
		if err := os.RemoveAll("out.aliases.json"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAliasesStandForOneThing: a folder of the repository, the namespace of an
// object and the name of a kubeConfig that are called as a default alias keep
// their words, and no cluster is given one of them.
func TestAliasesStandForOneThing(t *testing.T) {
	stream := renamed(t, strings.NewReplacer(`"old/namespace.yaml"`, `"hub-1/namespace.yaml"`, `"shop"`, `"hub-2"`,
		"Secret edge/kubeconfig#value", "Secret spoke_1/kubeconfig#value"))
	workplace(t)
	if _, _, err := take(t.Context(), &fakeAnalyser{messages: stream}, "--out", "out"); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range []string{"files.jsonl", "objects.jsonl", "census.json"} {
		data, err := os.ReadFile(filepath.Join("out", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	for _, want := range []struct{ file, text string }{
		{"files.jsonl", `"path":"hub-1/namespace.yaml"`},
		{"files.jsonl", `"path":"clusters/hub-3/apps.yaml"`},
		{"objects.jsonl", `"namespace":"hub-2"`},
		{"census.json", `"kubeconfig": "Secret spoke_1/kubeconfig#value"`},
		{"census.json", `"name": "spoke-2"`},
		{"census.json", `"name": "spoke-3"`},
	} {
		if !strings.Contains(texts[want.file], want.text) {
			t.Errorf("%s lacks %s", want.file, want.text)
		}
	}
	for _, alias := range []string{`"hub-1"`, `"hub-2"`, `"spoke-1"`} {
		if strings.Contains(texts["census.json"], `"name": `+alias) {
			t.Errorf("a cluster is called %s", alias)
		}
	}
}

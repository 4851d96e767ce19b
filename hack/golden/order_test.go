package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ordered are golden censuses in which the order of the documents in a file means
// nothing: no build fails (kustomize fails at the first document that it cannot
// use), and all documents of a file take the same way (the trace of a file is that
// of its first).
var ordered = []string{
	"class_remote_hub_render", "finding_double_owner", "release_names", "spoke_identity",
}

const rounds = 5

// TestAnyOrder takes censuses of one commit whose files git stored in random
// order, in one pack or loose: every file of the report is the same bytes. Then
// the documents within each file stand in random order, all of them as long as
// the longest: the data is the same bytes but for the lines, which are those to
// which the documents moved.
func TestAnyOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	reach := build(t)
	for _, name := range append(ordered, "acme-platform") {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(census, name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(7, uint64(len(data))))
			var first map[string][]byte
			for i := range rounds {
				dir := repository(t, c)
				store(t, dir, random, i)
				got := whole(t, report(t, reach, dir, c))
				if first == nil {
					first = got
				}
				for _, f := range slices.Sorted(maps.Keys(first)) {
					if !bytes.Equal(first[f], got[f]) {
						t.Errorf("round %d: %s is another", i, f)
					}
				}
				if len(first) != len(got) || len(first) < 10 {
					t.Errorf("round %d: %d files, first %d", i, len(got), len(first))
				}
			}
			if name == "acme-platform" {
				return // some of its builds fail
			}
			padded, moved := *c, 0
			padded.Files = maps.Clone(c.Files)
			documents := map[string][]string{}
			for p, content := range c.Files {
				if docs := split(p, string(content)); len(docs) > 1 {
					documents[p] = docs
					padded.Files[p] = []byte(strings.Join(docs, ""))
				}
			}
			want := records(t, report(t, reach, repository(t, &padded), c), nil)
			for i := range rounds {
				shuffled, at := padded, map[string]func(int) int{}
				shuffled.Files = maps.Clone(padded.Files)
				for _, p := range slices.Sorted(maps.Keys(documents)) {
					docs := documents[p]
					order := random.Perm(len(docs))
					var b strings.Builder
					size := strings.Count(docs[0], "\n")
					back := make([]int, len(docs))
					for to, from := range order {
						b.WriteString(docs[from])
						if back[to] = from; to != from {
							moved++
						}
					}
					shuffled.Files[p] = []byte(b.String())
					at[p] = func(line int) int {
						if line < 1 || line > size*len(docs) {
							return line
						}
						return back[(line-1)/size]*size + (line-1)%size + 1
					}
				}
				got := records(t, report(t, reach, repository(t, &shuffled), c), at)
				for f := range want {
					if d := difference(want[f], got[f]); d != "" {
						t.Errorf("documents in order %d: %s: %s", i, f, d)
					}
				}
			}
			if moved == 0 {
				t.Error("no document moved: nothing is shown")
			}
		})
	}
}

// store rewrites how git keeps the objects of a commit.
func store(t *testing.T, dir string, random *rand.Rand, round int) {
	t.Helper()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	switch round % 3 {
	case 1:
		git("-c", fmt.Sprintf("pack.windowMemory=%dk", 1+random.IntN(64)), "repack", "-q", "-a", "-d", "-f", "--depth="+strconv.Itoa(1+random.IntN(50)))
	case 2:
		out, err := exec.Command("git", "-C", dir, "rev-list", "--objects", "--all").Output()
		if err != nil {
			t.Fatal(err)
		}
		ids := strings.Split(strings.TrimSpace(string(out)), "\n")
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, half := range [][]string{ids[:len(ids)/2], ids[len(ids)/2:]} {
			cmd := exec.Command("git", "-C", dir, "pack-objects", "-q", filepath.Join(dir, ".git/objects/pack/pack"))
			cmd.Stdin = strings.NewReader(strings.Join(half, "\n") + "\n")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		git("prune-packed", "-q")
	}
}

func report(t *testing.T, reach, dir string, c *Case) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report")
	args := append([]string{"census", dir, "--names", "real", "--out", out}, c.Flags...)
	if c.Config != nil {
		config := filepath.Join(t.TempDir(), "reach.yaml")
		if err := os.WriteFile(config, c.Config, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", config)
	}
	if out, err := exec.Command(reach, args...).CombinedOutput(); err != nil {
		t.Fatalf("reach %v: %v\n%s", args, err, out)
	}
	return out
}

// whole are all files of a report folder.
func whole(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Name()] = read(t, dir, f.Name())
	}
	return out
}

var comment = regexp.MustCompile(`(?m)^#.*\n`)

// split are the documents of a manifest, each with its separator, all padded to
// one length; nil for what is no list of documents.
func split(p, content string) []string {
	if ext := path.Ext(p); ext != ".yaml" && ext != ".yml" || strings.HasPrefix(path.Base(p), "kustomization.") ||
		strings.Contains(content, "{{") || strings.HasPrefix(content, "---") || comment.MatchString(content) {
		return nil
	}
	docs := strings.Split(strings.TrimSuffix(content, "\n"), "\n---\n")
	longest := 0
	for i, d := range docs {
		docs[i] = "---\n" + strings.TrimRight(d, "\n") + "\n"
		longest = max(longest, strings.Count(docs[i], "\n"))
	}
	for i, d := range docs {
		docs[i] = d + strings.Repeat("#\n", longest-strings.Count(d, "\n"))
	}
	return docs
}

// records are those of the data files of a report, sorted, with every line
// of a file put back to where its document was; the commit is left out.
func records(t *testing.T, dir string, at map[string]func(int) int) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for f, data := range whole(t, dir) {
		if path.Ext(f) != ".jsonl" {
			continue
		}
		for line := range strings.Lines(string(data)) {
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			j, err := json.Marshal(back(v, at))
			if err != nil {
				t.Fatal(err)
			}
			out[f] = append(out[f], string(j))
		}
		slices.Sort(out[f])
	}
	return out
}

var place = regexp.MustCompile(`([A-Za-z0-9_./-]+\.ya?ml):(\d+)`)

func back(v any, at map[string]func(int) int) any {
	switch v := v.(type) {
	case map[string]any:
		p, _ := v["path"].(string)
		line, ok := v["line"].(float64)
		for k, e := range v {
			v[k] = back(e, at)
		}
		if ok && at[p] != nil {
			v["line"] = at[p](int(line))
		}
		if v["kind"] == "file" {
			delete(v, "line") // the first of its documents stands for a file
		}
	case []any:
		for i, e := range v {
			v[i] = back(e, at)
		}
	case string:
		return place.ReplaceAllStringFunc(v, func(s string) string {
			p, n, _ := strings.Cut(s, ":")
			line, _ := strconv.Atoi(n)
			if at[p] == nil {
				return s
			}
			return fmt.Sprintf("%s:%d", p, at[p](line))
		})
	}
	return v
}

// difference is the first record that only one of the two has.
func difference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return "missing " + want[i]
		case i >= len(want):
			return "more " + got[i]
		case want[i] != got[i]:
			return fmt.Sprintf("%s, first %s", got[i], want[i])
		}
	}
	return ""
}

// Package leak shows that no secret of a repository leaves the analyser.
package leak

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

var place = regexp.MustCompile(`@(64:)?([a-z0-9]+)@`)

// marker is what stands for the secret of a place.
func marker(place string) string {
	return fmt.Sprintf("mk%xq", sha256.Sum256([]byte(place)))[:18]
}

// repository writes the archive as a clone and returns the places by marker.
func repository(t *testing.T, dir string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/secrets.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, places := map[string][]byte{}, map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = place.ReplaceAllFunc(f.Data, func(match []byte) []byte {
			m := place.FindSubmatch(match)
			value := marker(string(m[2]))
			places[value] = string(m[2])
			if len(m[1]) > 0 {
				return []byte(base64.StdEncoding.EncodeToString([]byte(value)))
			}
			return []byte(value)
		})
	}
	template := files["template"]
	delete(files, "template")
	for name := range files {
		if parts := strings.Split(name, "/"); parts[0] == "cases" {
			sync := "clusters/hub/" + parts[1] + ".yaml"
			if _, own := files[sync]; !own {
				files[sync] = bytes.ReplaceAll(template, []byte("NAME"), []byte(parts[1]))
			}
		}
	}
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@acme.example", "commit", "-q", "-m", "a"},
	} {
		c := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return places
}

// programs builds both, with a relay in the analyser's place that keeps what
// the two say to each other.
func programs(t *testing.T) (reach, relay string) {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{"reach": "orchestrator", "reach-analyser": "analyser", "relay": "hack/leak/testdata/relay"} {
		c := exec.Command("go", "build", "-o", filepath.Join(dir, name), "./"+source)
		c.Dir = "../.."
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
	return filepath.Join(dir, "reach"), filepath.Join(dir, "relay")
}

// outputs takes a census and returns everything that came of it, by where.
func outputs(t *testing.T, repository string, flags ...string) map[string][]byte {
	t.Helper()
	reach, relay := programs(t)
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, reach, append([]string{"census", repository, "-v", "--analyser", relay, "--out", filepath.Join(out, "report")}, flags...)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("census: %v\n%s", err, &stderr)
	}
	all := map[string][]byte{"standard output": stdout.Bytes(), "standard error": stderr.Bytes()}
	for _, dir := range []string{out, filepath.Dir(relay)} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || dir != out && !strings.HasPrefix(d.Name(), "said") {
				return err
			}
			content, err := os.ReadFile(path)
			all[filepath.Base(path)] = content
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// encodings are the ways in which a value may be written: as it is, and in
// base64 wherever it begins in what was encoded.
func encodings(value string) []string {
	out := []string{value, strings.ToUpper(value)}
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
		// Without the characters that its neighbours take part in.
		from := []int{0, 2, 3}[shift]
		out = append(out, text[from:len(text)-2])
	}
	return out
}

// No output of a census holds a secret, however it is written.
func TestNoSecretLeaves(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	clone := t.TempDir()
	places := repository(t, clone)
	for _, flags := range [][]string{{"--names", "real"}, nil} {
		all := outputs(t, clone, flags...)
		if len(all) < 10 || len(all["said-out"]) == 0 || len(all["objects.jsonl"]) == 0 {
			t.Fatalf("only %d outputs", len(all))
		}
		var found []string
		for where, content := range all {
			for value, name := range places {
				for _, text := range encodings(value) {
					if i := bytes.Index(content, []byte(text)); i >= 0 {
						around := content[max(0, i-150):min(len(content), i+len(text)+60)]
						found = append(found, fmt.Sprintf("%s: the secret of %s: %q", where, name, around))
						break
					}
				}
			}
		}
		slices.Sort(found)
		for _, f := range found {
			t.Error(f)
		}
	}
}

// plain are places that hold no secret: explain shows what an author wrote into
// a ConfigMap, a HelmRelease or the spec of a Kustomization.
var plain = map[string]bool{"configliteral": true, "substitute": true, "values": true}

// No explanation of an object holds a secret either.
func TestNoSecretIsExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	clone, out := t.TempDir(), t.TempDir()
	places := repository(t, clone)
	reach, _ := programs(t)
	report := filepath.Join(out, "report")
	if said, err := exec.Command(reach, "census", clone, "--names", "real", "--out", report).CombinedOutput(); err != nil {
		t.Fatalf("census: %v\n%s", err, said)
	}
	lines, err := os.ReadFile(filepath.Join(report, "objects.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	explained := 0
	for line := range bytes.Lines(lines) {
		var o struct{ Kind, Namespace, Name string }
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind != "Secret" && o.Kind != "ConfigMap" && o.Kind != "HelmRelease" {
			continue
		}
		name := o.Kind + "/" + o.Namespace + "/" + o.Name
		c := exec.Command(reach, "explain", clone, name, "--names", "real", "--format", "json")
		said, err := c.CombinedOutput()
		if err == nil {
			explained++
		}
		for value, place := range places {
			if plain[place] {
				continue
			}
			for _, text := range encodings(value) {
				if i := bytes.Index(said, []byte(text)); i >= 0 {
					t.Errorf("%s: the secret of %s: %q", name, place, said[max(0, i-150):min(len(said), i+len(text)+60)])
					break
				}
			}
		}
	}
	if explained < 5 {
		t.Errorf("only %d objects were explained", explained)
	}
}

// The search finds what is there.
func TestSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	value := marker("a")
	for _, text := range []string{
		value, "x" + value, strings.ToUpper(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
		base64.StdEncoding.EncodeToString([]byte("a" + value + "b")),
		base64.StdEncoding.EncodeToString([]byte("ab" + value + "bc")),
	} {
		if !slices.ContainsFunc(encodings(value), func(e string) bool { return strings.Contains(text, e) }) {
			t.Errorf("%q is not found in %q", value, text)
		}
	}
}

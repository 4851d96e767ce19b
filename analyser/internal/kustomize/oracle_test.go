package kustomize

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// The oracle must not reach out: what it fetches goes to a proxy that is not
// there, and it finds no git to run.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	flag.Parse()
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil && flag.Lookup("test.fuzz").Value.String() == "" {
		os.Stderr = null // krusty warns of deprecated fields
	}
	for _, v := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		os.Setenv(v, "http://127.0.0.1:9")
	}
	os.Exit(m.Run())
}

// snapshotFS is a read-only file system over a snapshot, at srcRoot.
type snapshotFS struct {
	view  *snapshot.Snapshot
	files map[string]string // files that are not in the view
}

const srcRoot = "/src"

var errReadOnly = errors.New("read-only")

func (f *snapshotFS) rel(p string) (string, bool) {
	p = path.Clean("/" + p)
	if p == srcRoot {
		return "", true
	}
	return strings.CutPrefix(p, srcRoot+"/")
}

func (f *snapshotFS) Create(string) (filesys.File, error) { return nil, errReadOnly }
func (f *snapshotFS) Mkdir(string) error                  { return errReadOnly }
func (f *snapshotFS) MkdirAll(string) error               { return errReadOnly }
func (f *snapshotFS) RemoveAll(string) error              { return nil }
func (f *snapshotFS) Open(string) (filesys.File, error)   { return nil, errReadOnly }
func (f *snapshotFS) WriteFile(string, []byte) error      { return errReadOnly }
func (f *snapshotFS) Glob(string) ([]string, error)       { return nil, errReadOnly }
func (f *snapshotFS) Walk(string, filepath.WalkFunc) error {
	return errReadOnly
}

func (f *snapshotFS) IsDir(p string) bool {
	r, ok := f.rel(p)
	return ok && f.view.IsDir(r)
}

func (f *snapshotFS) Exists(p string) bool {
	r, ok := f.rel(p)
	if !ok {
		return false
	}
	if f.view.IsDir(r) {
		return true
	}
	_, err := f.ReadFile(p)
	return err == nil
}

func (f *snapshotFS) ReadDir(p string) ([]string, error) {
	r, ok := f.rel(p)
	if !ok {
		return nil, fs.ErrNotExist
	}
	var names []string
	for _, e := range f.view.ReadDir(r) {
		names = append(names, e.Name)
	}
	return names, nil
}

func (f *snapshotFS) ReadFile(p string) ([]byte, error) {
	r, ok := f.rel(p)
	if !ok {
		return nil, fs.ErrNotExist
	}
	if c, ok := f.files[r]; ok {
		return []byte(c), nil
	}
	return f.view.Read(r)
}

func (f *snapshotFS) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	r, ok := f.rel(p)
	if !ok {
		return "", "", fs.ErrNotExist
	}
	if f.view.IsDir(r) {
		return filesys.ConfirmedDir(path.Join(srcRoot, r)), "", nil
	}
	if _, err := f.ReadFile(p); err != nil {
		return "", "", err
	}
	return filesys.ConfirmedDir(path.Dir(path.Join(srcRoot, r))), path.Base(r), nil
}

// oracle builds a directory with krusty. schema says that a layer sets the
// OpenAPI schema, which krusty keeps in global variables.
func oracle(fsys filesys.FileSystem, dir string, schema bool) (m resmap.ResMap, err error) {
	schemaOnce.Do(resetSchema)
	schemaMu.Lock()
	defer schemaMu.Unlock()
	// Our own builds must find by themselves what they need.
	defer resetSchema()
	if schema {
		openapi.ResetOpenAPI()
	} else {
		// All that kyaml would read, as TestBuiltinLookups shows, in less time.
		n := needs{all: true}
		n.add()
	}
	commands := os.Getenv("PATH")
	os.Setenv("PATH", "")
	defer os.Setenv("PATH", commands)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(fsys, path.Join(srcRoot, dir))
}

// causes says by which words an error of krusty means one of our codes.
var causes = map[string][]string{
	codeNotFound:         {"file does not exist", "must build at directory", "is a directory", "root cannot be empty", "is ambiguous", "not a directory"},
	codeNoKustomization:  {"unable to find one of"},
	codeSeveral:          {"Found multiple kustomization files"},
	codeBadKustomization: {"invalid Kustomization", "kustomization.yaml is empty", "Failed to read kustomization file", "sortOptions"},
	codeBadYAML:          {"MalformedYAMLError", "invalid document separator", "already defined at", "unsupported type: map[interface", "unsupported value", "invalid map merge", "duplicate merge key"},
	codeNotAnObject:      {"missing metadata.name", "missing kind", "missing Resource metadata", "expected array in", "wrong node kind: expected MappingNode"},
	codeDuplicateID:      {"already registered id", "ID conflict", "behavior must be merge or replace", "id matched", "multiple objects"},
	codeNoMatch:          {"no resource matches", "failed to find unique target", "does not match a config", "no matches for Id", "multiple matches"},
	codeBadPatch:         {"patch", "Patch", "PATCH", "error parsing regexp", "merge", "wrong node kind", "operation", "Unexpected kind", "error in remove", "doc is missing", "nil pointer dereference"},
	codeOutside:          {"file does not exist", "cannot be absolute", "must build at directory", "is absolute"},
	codeCycle:            {"cycle detected"},
	codeComponentKind:    {"expected kind"},
	codeBadGenerator:     {"KV pairs", "cannot merge or replace", "must have a name", "illegally repeats", "NewResMapFrom", "configmap", "key name"},
	codeBadTransformer:   {"transform", "validator", "considering field", "updating"},
	codeBadReplacement:   {"replacement", "nothing selected", "fieldPath", "unable to find field", "multiple matches", "target must specify", "delimiter", "wrong node kind", "selector", "unmarshal"},
	codeBadConfiguration: {"fieldspec", "unknown field", "OpenAPI", "open API", "unmarshal", "builtin version", "panic", "converting YAML"},
	codePlugin:           {"plugin", "helm", "Helm"},
	codeNameReference:    {"name reference", "possible referrals", "panic", "namespace is blank"},
	codeVariable:         {"var "},
	codeUnsupported:      {"panic"},
}

func sameCause(err error, code string) bool {
	return slices.ContainsFunc(causes[code], func(s string) bool { return strings.Contains(err.Error(), s) })
}

// contents are the objects of a build as JSON, in order.
func contents(nodes []*yaml.Node) ([]string, error) {
	var out []string
	for _, n := range nodes {
		j, err := kyaml.NewRNode(n).MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(out, string(j))
	}
	return out, nil
}

// decoded are the contents of nodes as others read them. kustomize writes
// objects as text, which is not always without loss, and so must say Node.
func decoded(nodes []*yaml.Node) ([]string, error) {
	var out []string
	for _, n := range nodes {
		m := map[string]any{}
		if err := n.Decode(&m); err != nil {
			return nil, err
		}
		j, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		out = append(out, string(j))
	}
	return out, nil
}

func oracleContents(fsys filesys.FileSystem, dir string, schema bool) ([]string, error) {
	m, err := oracle(fsys, dir, schema)
	if err != nil {
		return nil, err
	}
	var nodes []*yaml.Node
	for _, r := range m.Resources() {
		nodes = append(nodes, r.YNode())
	}
	return contents(nodes)
}

// tally counts how builds compare with the oracle.
type tally struct {
	agree, miss, add, identity, content    int
	bothFail, oracleFails, weFail, outside int
	unresolved, targets, cause             int
	differences                            []string
}

func (t *tally) String() string {
	return fmt.Sprintf("targets %d: agree %d  miss %d  add %d  identity %d  content %d | both fail %d (other cause %d)  oracle fails only %d  we fail only %d | external %d  unresolved %d",
		t.targets, t.agree, t.miss, t.add, t.identity, t.content, t.bothFail, t.cause, t.oracleFails, t.weFail, t.outside, t.unresolved)
}

func (t *tally) plus(o *tally) {
	t.agree += o.agree
	t.miss += o.miss
	t.add += o.add
	t.identity += o.identity
	t.content += o.content
	t.bothFail += o.bothFail
	t.oracleFails += o.oracleFails
	t.weFail += o.weFail
	t.outside += o.outside
	t.unresolved += o.unresolved
	t.targets += o.targets
	t.cause += o.cause
	t.differences = append(t.differences, o.differences...)
}

func (t *tally) bad() bool {
	return t.miss+t.add+t.identity+t.content+t.oracleFails+t.weFail+t.cause > 0
}

func (t *tally) differ(format string, args ...any) {
	if len(t.differences) < 20 {
		t.differences = append(t.differences, fmt.Sprintf(format, args...))
	}
}

// compare builds a target with both and counts.
func (t *tally) compare(b *Builder, fsys filesys.FileSystem, name string, target Target, schema bool) {
	t.targets++
	got := b.Build(target)
	if len(got.External) > 0 && (got.Failure == nil || got.Failure.Code != codePlugin) {
		t.outside++
		return
	}
	if got.Unresolved != nil {
		t.unresolved++
		t.differ("%s: unresolved: %v", name, got.Unresolved)
		return
	}
	want, err := oracleContents(fsys, target.Dir, schema)
	switch {
	case err != nil && got.Failure != nil:
		t.bothFail++
		if !sameCause(err, got.Failure.Code) {
			t.cause++
			t.differ("%s: other cause: we say %+v, the oracle %.400v", name, got.Failure, err)
		}
		return
	case err != nil:
		t.oracleFails++
		t.differ("%s: only the oracle fails: %.600v", name, err)
		return
	case got.Failure != nil:
		t.weFail++
		t.differ("%s: only we fail: %+v at %v", name, got.Failure, b.docs.Positions().Position(got.Failure.Pos))
		return
	}
	var nodes []*yaml.Node
	for _, o := range got.Objects {
		nodes = append(nodes, o.Node())
		if o.UnknownName {
			want = unhash(want, o.Ref.Name)
		}
	}
	have, err := decoded(nodes)
	if err != nil {
		t.content++
		t.differ("%s: cannot be written: %v", name, err)
		return
	}
	t.objects(name, want, have)
}

// unhash takes the hash from the names, and references to them, of an object
// whose hash cannot be known.
func unhash(objects []string, name string) []string {
	hashed := regexp.MustCompile(`"` + regexp.QuoteMeta(name) + `-[a-z0-9]{10}"`)
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = hashed.ReplaceAllLiteralString(o, `"`+name+`"`)
	}
	return out
}

func identity(j string) string {
	var o struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	_ = json.Unmarshal([]byte(j), &o)
	return fmt.Sprint(o)
}

func (t *tally) objects(name string, want, have []string) {
	for i := range min(len(want), len(have)) {
		switch {
		case want[i] == have[i], strings.Contains(have[i], Concealed) && concealed(want[i], want) == have[i]:
			t.agree++
		case identity(want[i]) != identity(have[i]):
			t.identity++
			t.differ("%s: object %d: want %s, have %s", name, i, identity(want[i]), identity(have[i]))
		default:
			t.content++
			t.differ("%s: object %d %s:\nwant %.2000s\nhave %.2000s", name, i, identity(want[i]), want[i], have[i])
		}
	}
	t.miss += max(0, len(want)-len(have))
	t.add += max(0, len(have)-len(want))
	if len(want) != len(have) {
		t.differ("%s: want %d objects, have %d", name, len(want), len(have))
	}
}

// concealed is an object of the oracle's with the values that Secrets of the
// build hold concealed, as ours are.
func concealed(object string, all []string) string {
	for _, j := range all {
		var s struct {
			Kind             string
			Data, StringData map[string]string
		}
		if json.Unmarshal([]byte(j), &s) != nil || s.Kind != "Secret" {
			continue
		}
		for _, v := range s.StringData {
			if v != "" {
				object = strings.ReplaceAll(object, v, Concealed)
			}
		}
		for _, v := range s.Data {
			if b, err := base64.StdEncoding.DecodeString(v); err == nil && len(b) > 0 {
				object = strings.ReplaceAll(object, string(b), Concealed)
			}
		}
	}
	return object
}

func newBuilder(view *snapshot.Snapshot) *Builder {
	return NewBuilder(view, document.NewReader(new(position.Set), document.Limits{}))
}

// corpus returns the repositories of the corpus, or skips.
func corpus(t testing.TB) []string {
	t.Helper()
	dirs, _ := filepath.Glob("../../../../shared/corpus/*")
	dirs = slices.DeleteFunc(dirs, func(d string) bool {
		i, err := os.Stat(d)
		return err != nil || !i.IsDir() || strings.HasPrefix(i.Name(), ".")
	})
	if len(dirs) == 0 {
		t.Skip("SKIPPED: the corpus is not at ../shared/corpus of the repository")
	}
	return dirs
}

// load reads a directory into a snapshot of regular files.
func load(t testing.TB, dir string) *snapshot.Snapshot {
	t.Helper()
	var entries []snapshot.Entry
	contents := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		c, err := os.ReadFile(p)
		contents[rel] = c
		entries = append(entries, snapshot.Entry{Path: rel, Blob: rel})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.New(entries, func(e snapshot.Entry) ([]byte, error) { return bytes.Clone(contents[e.Blob]), nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// roots are the directories of a snapshot with a kustomization file.
func roots(s *snapshot.Snapshot) []string {
	var out []string
	for _, e := range s.Entries() {
		switch path.Base(e.Path) {
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			dir := path.Dir(e.Path)
			if dir == "." {
				dir = ""
			}
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func usesSchema(s *snapshot.Snapshot) bool {
	for _, e := range s.Entries() {
		switch path.Base(e.Path) {
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			c, _ := s.ReadEntry(e)
			if bytes.Contains(c, []byte("openapi")) {
				return true
			}
		}
	}
	return false
}

// TestCorpus compares every kustomization file of every repository of the
// corpus with krusty, object by object.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
	var all tally
	for _, dir := range corpus(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			view := load(t, dir)
			b := newBuilder(view)
			var sum tally
			start := time.Now()
			for _, root := range roots(view) {
				sum.compare(b, &snapshotFS{view: view}, shown(root), Target{Dir: root}, usesSchema(view))
			}
			t.Logf("%v (%v)", &sum, time.Since(start).Round(time.Millisecond))
			for _, d := range sum.differences {
				t.Log(d)
			}
			if sum.bad() {
				t.Errorf("differs from krusty")
			}
			all.plus(&sum)
		})
	}
	t.Logf("all: %v", &all)
}

package flux

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

var update = flag.Bool("update", false, "rewrite the expectations of golden files")

// objects reads the documents of the files of an archive below a prefix.
func objects(t testing.TB, docs *document.Reader, a *txtar.Archive, prefix string) []*kustomize.Object {
	t.Helper()
	s := snapshot.FromTxtar(a, "")
	var out []*kustomize.Object
	for _, e := range s.Entries() {
		if !strings.HasPrefix(e.Path, prefix) {
			continue
		}
		f, err := docs.Read(s, e)
		if err != nil || f.Err != nil {
			t.Fatalf("%s: %v %v", e.Path, err, f.Err)
		}
		for _, d := range f.Documents {
			out = append(out, &kustomize.Object{Ref: d.Ref, Written: d.Ref, Tree: d.Tree, Origin: d.Pos})
		}
	}
	return out
}

// golden compares with the section "want" of an archive, or rewrites it.
func golden(t *testing.T, file string, a *txtar.Archive, name, got string) {
	t.Helper()
	for i, f := range a.Files {
		if f.Name != name {
			continue
		}
		if *update {
			a.Files[i].Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(string(f.Data), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		return
	}
	if *update {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s has no section %q: a case without an expectation proves nothing", file, name)
}

func archives(t *testing.T, pattern string, f func(t *testing.T, file string, a *txtar.Archive)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f(t, file, a)
		})
	}
}

// TestRead compares what objects declare with what testdata/read says they do.
func TestRead(t *testing.T) {
	archives(t, "testdata/read/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		docs := document.NewReader(&position.Set{}, document.Limits{})
		e := Engine()
		var b strings.Builder
		w := &describer{w: &b, set: docs.Positions()}
		todo := objects(t, docs, a, "in/")
		for len(todo) > 0 {
			o := todo[0]
			todo = todo[1:]
			if !e.Handles(o.Ref.GroupKind()) {
				continue
			}
			d := e.Read(o)
			w.declared(d)
			todo = append(d.Objects, todo...)
		}
		golden(t, file, a, "want", b.String())
	})
}

// describer writes what is declared as lines, zero values left out.
type describer struct {
	w   *strings.Builder
	set *position.Set
}

func (d *describer) at(p position.Pos) string { return d.set.Position(p).String() }

func (d *describer) line(head string, pairs ...any) {
	d.w.WriteString(head)
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			if v != "" {
				fmt.Fprintf(d.w, " %s=%s", pairs[i], v)
			}
		case bool:
			if v {
				fmt.Fprintf(d.w, " %s", pairs[i])
			}
		case map[string]string:
			for _, k := range sortedKeys(v) {
				fmt.Fprintf(d.w, " %s.%s=%q", pairs[i], k, v[k])
			}
		case []string:
			if len(v) > 0 {
				fmt.Fprintf(d.w, " %s=%q", pairs[i], v)
			}
		case *controller.KubeConfigRef:
			if v != nil {
				fmt.Fprintf(d.w, " %s=%s/%s/%s#%s@%s", pairs[i], v.Kind, v.Namespace, v.Name, v.Key, d.at(v.Pos))
			}
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	d.w.WriteString("\n")
}

func (d *describer) problem(p *controller.Problem) {
	if p != nil {
		fmt.Fprintf(d.w, "  problem %s at %s: %s\n", p.Code, d.at(p.Pos), p.Message)
	}
}

func (d *describer) declared(x controller.Declared) {
	for _, s := range x.Syncs {
		d.sync("sync", s)
	}
	for _, r := range x.Releases {
		d.line("release "+r.Object.String(), "release", r.ReleaseName, "namespace", r.ReleaseNamespace, "storage", r.StorageNamespace,
			"kubeConfig", r.KubeConfig, "suspend", r.Suspend)
		if c := r.Chart; c != nil {
			d.chart(*c)
		}
		d.from("valuesFrom", r.ValuesFrom)
		d.depends(r.DependsOn)
		d.problem(r.Problem)
	}
	for _, s := range x.Sources {
		d.source("source", s)
	}
	for _, r := range x.Roots {
		d.sync("root", r.Sync)
		d.source("root", r.Source)
	}
	for _, o := range x.Objects {
		d.line("object "+o.Ref.String(), "at", d.at(o.Origin))
	}
	d.problem(x.Problem)
}

func (d *describer) sync(head string, s controller.Sync) {
	d.line(head+" "+s.Object.String(), "path", s.Path, "source", s.Source.String(), "kubeConfig", s.KubeConfig,
		"suspend", s.Suspend, "prune", s.Prune, "sops", s.Decryption, "as", s.ServiceAccount,
		"label", s.CommonLabels, "annotation", s.CommonAnnotations)
	o := s.Overlay
	if o.TargetNamespace+o.NamePrefix+o.NameSuffix != "" || len(o.Components) > 0 {
		d.line("  overlay", "targetNamespace", o.TargetNamespace, "namePrefix", o.NamePrefix, "nameSuffix", o.NameSuffix,
			"components", o.Components, "ignoreMissing", o.IgnoreMissingComponents)
	}
	for _, p := range o.Patches {
		target := ""
		if p.Target != nil {
			target = fmt.Sprintf("%+v", *p.Target)
		}
		d.line("  patch", "at", d.at(p.Pos), "target", target, "text", fmt.Sprintf("%q", p.Text))
	}
	for _, i := range o.Images {
		d.line("  image "+i.Name, "newName", i.NewName, "newTag", i.NewTag, "digest", i.Digest)
	}
	if s.Variables.Declared {
		d.line("  variables", "always", s.Variables.Always, "inline", s.Variables.Inline)
		d.from("from", s.Variables.From)
	}
	d.depends(s.DependsOn)
	d.problem(s.Problem)
}

func (d *describer) from(head string, vs []controller.VariablesFrom) {
	for _, v := range vs {
		d.line("  "+head+" "+v.Kind+"/"+v.Name, "optional", v.Optional, "at", d.at(v.Pos))
	}
}

func (d *describer) depends(ds []controller.Dependency) {
	for _, v := range ds {
		d.line("  dependsOn "+v.Kind+" "+v.Namespace+"/"+v.Name, "at", d.at(v.Pos))
	}
}

func (d *describer) chart(c controller.Chart) {
	d.line("  chart", "name", c.Name, "version", c.Version, "source", c.Source.String(), "values", c.ValuesFiles,
		"strategy", c.ReconcileStrategy, "ignoreMissing", c.IgnoreMissingValuesFiles, "at", d.at(c.Pos))
}

func (d *describer) source(head string, s controller.Source) {
	ignore := ""
	if s.IgnoreSet {
		ignore = fmt.Sprintf("%q@%s", s.Ignore, d.at(s.IgnorePos))
	}
	d.line(head+" "+s.Object.String(), "url", s.URL, "ref", s.Ref, "ignore", ignore, "sparse", s.SparseCheckout,
		"submodules", s.RecurseSubmodules, "layerCopy", s.LayerCopy, "prefix", s.Prefix, "suspend", s.Suspend)
	for _, i := range s.Includes {
		d.line("  include "+i.Source.String(), "from", i.FromPath, "to", i.ToPath, "at", d.at(i.Pos))
	}
	if s.Chart != nil {
		d.chart(*s.Chart)
	}
	if g := s.Generator; g != nil {
		d.line("  generator", "pathPattern", g.PathPattern)
		for _, a := range sortedKeys(g.Sources) {
			d.line("    source "+a, "is", g.Sources[a].String())
		}
		for _, a := range g.Artifacts {
			d.line("    artifact "+a.Name, "namespace", a.Namespace, "at", d.at(a.Pos))
			for _, c := range a.Copy {
				d.line("      copy", "from", c.From, "to", c.To, "exclude", c.Exclude, "strategy", c.Strategy, "optional", c.Optional)
			}
		}
	}
	d.problem(s.Problem)
}

// TestPostBuild compares what becomes of built objects with what
// testdata/postbuild says: objects/ are what kustomize built, sync.yaml is the
// Kustomization. Values of substituteFrom come from the ConfigMaps and Secrets
// of cluster/. The archive's comment may hold the lines "lenient" and
// "incomplete"; "unknown: NAME" as its last line makes every scalar of the
// Kustomization with a dollar sign depend on a variable of that name.
func TestPostBuild(t *testing.T) {
	archives(t, "testdata/postbuild/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		docs := document.NewReader(&position.Set{}, document.Limits{})
		syncs := objects(t, docs, a, "sync.yaml")
		if len(syncs) != 1 {
			t.Fatal("sync.yaml is not one object")
		}
		if name, ok := strings.CutPrefix(lastLine(a.Comment), "unknown: "); ok {
			unknown, root := map[*yaml.Node]string{}, syncs[0].Node()
			eachScalar(root, func(n *yaml.Node) bool {
				unknown[n] = name
				return true
			})
			syncs[0].Tree = packed.Of(root, unknown)
		}
		s := Engine().Read(syncs[0]).Syncs[0]
		if s.Problem != nil {
			t.Fatal(s.Problem.Message)
		}
		vars, complete := map[string]string{}, !strings.Contains(string(a.Comment), "\nincomplete\n")
		for _, from := range s.Variables.From {
			for _, o := range objects(t, docs, a, "cluster/") {
				if o.Ref.Kind == from.Kind && o.Ref.Name == from.Name && o.Ref.Namespace == s.Object.Namespace {
					vs, ok := VariablesOf(o)
					complete = complete && ok
					for k, v := range vs {
						vars[k] = v
					}
				}
			}
		}
		for k, v := range s.Variables.Inline {
			vars[k] = v
		}
		for line := range strings.Lines(string(a.Comment)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "hidden: "); ok {
				s.Variables.Hidden = append(s.Variables.Hidden, name)
			}
		}
		in := &kustomize.Build{Objects: objects(t, docs, a, "objects/")}
		before := dump(t, in.Objects)
		res := postBuild(in, &s, vars, complete, !strings.Contains(string(a.Comment), "\nlenient\n"), false)
		if after := dump(t, in.Objects); after != before {
			t.Errorf("the objects of the build were changed, which other builds share:\n%s", cmp.Diff(before, after))
		}
		golden(t, file, a, "want", describeResult(t, docs.Positions(), res))
	})
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

func dump(t testing.TB, os []*kustomize.Object) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, o := range os {
		if err := enc.Encode(o.Node()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func describeResult(t testing.TB, set *position.Set, res *controller.Result) string {
	var b strings.Builder
	at := func(p position.Pos) string { return set.Position(p).String() }
	if f := res.Failure; f != nil {
		fmt.Fprintf(&b, "failure %s at %s: %s\n", f.Code, at(f.Pos), f.Message)
	}
	if f := res.Unresolved; f != nil {
		fmt.Fprintf(&b, "unresolved %s at %s: %s\n", f.Code, at(f.Pos), f.Message)
	}
	for _, u := range res.Undeclared {
		fmt.Fprintf(&b, "undeclared %s in %s at %s\n", u.Name, u.Object, at(u.Pos))
	}
	for _, u := range res.Unknown {
		fmt.Fprintf(&b, "unknown %s in %s at %s\n", u.Name, u.Object, at(u.Pos))
	}
	for _, d := range res.Dropped {
		fmt.Fprintf(&b, "dropped %s at %s: %s\n", d.Object, at(d.Pos), d.Reason)
	}
	for _, o := range res.Objects {
		head := "object " + o.Ref.String()
		if o.UnknownIdentity {
			head += " (identity unknown)"
		}
		fmt.Fprintf(&b, "%s at %s\n", head, at(o.Origin))
		content := o.Tree.Open()
		leaves(&b, content, content.Node, "  ", at)
	}
	return b.String()
}

// leaves writes each scalar with its path, type and line.
func leaves(b *strings.Builder, o *packed.Content, n *yaml.Node, path string, at func(position.Pos) string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			leaves(b, o, n.Content[i+1], path+"."+n.Content[i].Value, at)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			leaves(b, o, c, fmt.Sprintf("%s[%d]", path, i), at)
		}
	default:
		note := ""
		if v, ok := o.Unknown[n]; ok {
			note = " (unknown: " + v + ")"
		}
		fmt.Fprintf(b, "%s = %s %q %s%s\n", path, n.ShortTag(), n.Value, at(position.Pos(n.Line)), note)
	}
}

// TestBuild builds sync.yaml from the files below repo/ with the real builder.
func TestBuild(t *testing.T) {
	archives(t, "testdata/build/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		docs := document.NewReader(&position.Set{}, document.Limits{})
		s := Engine().Read(objects(t, docs, a, "sync.yaml")[0]).Syncs[0]
		view := snapshot.FromTxtar(a, "repo/")
		res := Engine().Build(kustomize.NewBuilder(view, docs), &s, s.Variables.Inline, true, true)
		golden(t, file, a, "want", describeResult(t, docs.Positions(), res))
	})
}

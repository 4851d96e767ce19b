// Command dumpbuilds says what the analyser builds, object by object, in the
// language of hack/dump. It exists for hack/agreement, which compares it with
// the real tools, and is part of no product: nothing imports it.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/commit"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
	"github.com/gitops-reach/reach/analyser/internal/source"
	"github.com/gitops-reach/reach/hack/dump"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dumpbuilds:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	d, w := json.NewDecoder(in), bufio.NewWriter(out)
	repositories := map[string]*opened{}
	for {
		var req dump.Request
		if err := d.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r := repositories[req.Repository]
		var err error
		if r == nil {
			if r, err = open(req.Repository); err == nil {
				repositories[req.Repository] = r
			}
		}
		reply := &dump.Reply{}
		if err == nil {
			err = r.answer(&req, reply)
		}
		if err != nil {
			reply = &dump.Reply{Error: err.Error()}
		}
		if err := json.NewEncoder(w).Encode(reply); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

type opened struct {
	repository *commit.Repository
	commit     commit.Commit
	snapshot   *snapshot.Snapshot
}

func open(dir string) (*opened, error) {
	r, err := commit.Open(dir, commit.Limits{})
	if err != nil {
		return nil, err
	}
	c, err := r.Resolve("HEAD")
	if err != nil {
		return nil, err
	}
	s, err := r.Snapshot(context.Background(), c, nil)
	if err != nil {
		return nil, err
	}
	return &opened{r, c, s}, nil
}

func (r *opened) answer(req *dump.Request, reply *dump.Reply) error {
	snap, err := changed(r.snapshot, req.Changes)
	if err != nil {
		return err
	}
	if req.Files {
		if reply.Files, err = files(snap); err != nil {
			return err
		}
	}
	plain(snap, req, reply)
	c, err := census.Take(context.Background(), snap, request(r, req))
	if err != nil {
		return err
	}
	syncs(c, reply)
	if req.Generated || len(req.Kustomizations) > 0 {
		return alone(snap, req, reply)
	}
	return nil
}

// changed is a snapshot with other content.
func changed(s *snapshot.Snapshot, changes map[string]*string) (*snapshot.Snapshot, error) {
	if len(changes) == 0 {
		return s, nil
	}
	var entries []snapshot.Entry
	for _, e := range s.Entries() {
		if _, ok := changes[e.Path]; !ok {
			entries = append(entries, e)
		}
	}
	texts := map[string]string{}
	for p, text := range changes {
		if text != nil {
			id := "changed:" + p
			texts[id] = *text
			entries = append(entries, snapshot.Entry{Path: p, Blob: id})
		}
	}
	return snapshot.New(entries, func(e snapshot.Entry) ([]byte, error) {
		if text, ok := texts[e.Blob]; ok {
			return []byte(text), nil
		}
		return s.ReadEntry(e)
	})
}

func files(s *snapshot.Snapshot) ([]dump.File, error) {
	modes := map[snapshot.Mode]string{
		snapshot.Regular: "100644", snapshot.Executable: "100755", snapshot.Symlink: "120000", snapshot.Submodule: "160000",
	}
	var out []dump.File
	for _, e := range s.Entries() {
		f := dump.File{Path: []byte(e.Path), Mode: modes[e.Mode], Blob: e.Blob}
		if e.Mode != snapshot.Submodule {
			content, err := s.ReadEntry(e)
			if err != nil {
				return nil, err
			}
			sum := sha256.Sum256(content)
			f.Digest = hex.EncodeToString(sum[:])
		}
		out = append(out, f)
	}
	return out, nil
}

func plain(s *snapshot.Snapshot, req *dump.Request, reply *dump.Reply) {
	positions := &position.Set{}
	b := kustomize.NewBuilder(s, document.NewReader(positions, document.Limits{}))
	dirs := req.Plain
	if req.AllPlain {
		dirs = nil
		for _, e := range s.Entries() {
			if kustomize.IsKustomizationFile(path.Base(e.Path)) && e.IsFile() {
				dirs = append(dirs, cleanDir(path.Dir(e.Path)))
			}
		}
		slices.Sort(dirs)
		dirs = slices.Compact(dirs)
	}
	for _, dir := range dirs {
		built := build(b.Build(kustomize.Target{Dir: dir}), positions)
		reply.Plain = append(reply.Plain, dump.Plain{Dir: dir, Build: built})
	}
}

func cleanDir(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}

func request(r *opened, req *dump.Request) census.Request {
	out := census.Request{
		Engines: []controller.Engine{flux.Engine()}, Commit: r.commit.ID, OriginURL: r.repository.Info().OriginURL,
	}
	for _, x := range req.Roots {
		out.Roots = append(out.Roots, placement.Root{
			Cluster: cluster.Name(x.Cluster), Path: x.Path, Namespace: x.Namespace, Name: x.Name, DeclaredBy: "flag",
		})
	}
	for _, x := range req.Sources {
		out.Sources = append(out.Sources, source.Mapping(x))
	}
	for _, x := range req.Spokes {
		out.Spokes = append(out.Spokes, cluster.Mapping{
			Controller: cluster.Name(x.Controller), Namespace: x.Namespace, Kind: x.Kind, Reference: x.Reference,
			Key: x.Key, Cluster: cluster.Name(x.Cluster),
		})
	}
	for _, x := range req.Clusters {
		out.Clusters = append(out.Clusters, census.Statement{
			Cluster: cluster.Name(x.Name), Controllers: x.Controllers,
			KustomizeControllerVersion: x.KustomizeControllerVersion, FeatureGates: x.FeatureGates,
		})
	}
	return out
}

func syncs(c *census.Census, reply *dump.Reply) {
	reply.Strict, reply.Views = map[string]bool{}, map[string]dump.View{}
	for _, x := range c.Clusters {
		reply.Strict[string(x.Name)] = x.StrictSubstitution
	}
	builds := map[*controller.Result]int{}
	for _, a := range c.Applied {
		s := dump.Sync{
			Cluster: string(a.Cluster), Target: string(a.Target), Namespace: a.Sync.Object.Namespace, Name: a.Sync.Object.Name,
			State: string(a.State), Reason: a.Reason, Blocked: a.Blocked != nil && a.State != placement.External,
			ViewKey: a.ViewKey, Directory: a.Path, Build: -1,
		}
		if o := a.Object; o != nil && o.Ref.Kind == "Kustomization" {
			s.Object = described(o, c.Positions).Content
		} else {
			s.Object = definition(a.Sync)
		}
		if r := a.Result; r != nil {
			i, ok := builds[r]
			if !ok {
				i = len(reply.Builds)
				builds[r] = i
				b := build(r.Build, c.Positions)
				for _, u := range r.Unknown {
					b.Unknown = append(b.Unknown, u.Name)
				}
				slices.Sort(b.Unknown)
				b.Unknown = slices.Compact(b.Unknown)
				reply.Builds = append(reply.Builds, b)
			}
			s.Build = i
			for _, o := range a.Objects {
				if r.Failure == nil && !slices.Contains(r.Objects, o) {
					s.Made = append(s.Made, described(o, c.Positions))
				}
			}
		}
		if v := c.Views[a.ViewKey]; v != nil {
			if _, ok := reply.Views[a.ViewKey]; !ok {
				reply.Views[a.ViewKey] = view(v)
			}
		}
		reply.Syncs = append(reply.Syncs, s)
	}
}

func view(v *controller.View) dump.View {
	out := dump.View{Files: map[string]string{}, Unknown: len(v.Unknown) > 0}
	var walk func(dir string)
	walk = func(dir string) {
		for _, d := range v.ReadDir(dir) {
			switch {
			case d.Dir:
				out.Dirs = append(out.Dirs, path.Join(dir, d.Name))
				walk(path.Join(dir, d.Name))
			case d.Entry.IsFile():
				out.Files[d.Entry.Path] = d.Entry.Origin
			}
		}
	}
	walk("")
	return out
}

func build(b *kustomize.Build, positions *position.Set) dump.Build {
	out := dump.Build{Failure: failure(b.Failure, positions), Unresolved: failure(b.Unresolved, positions)}
	for _, o := range b.Objects {
		out.Objects = append(out.Objects, described(o, positions))
	}
	for _, u := range b.Uses {
		out.Uses = append(out.Uses, u.Path)
	}
	for _, e := range b.External {
		out.External = append(out.External, e.Kind+" "+e.URL)
	}
	return out
}

func failure(f *kustomize.Failure, positions *position.Set) *dump.Failure {
	if f == nil {
		return nil
	}
	p := positions.Position(f.Pos)
	return &dump.Failure{Code: f.Code, Message: f.Message, File: p.Path, Line: p.Line}
}

func described(o *kustomize.Object, positions *position.Set) dump.Object {
	p, content := positions.Position(o.Origin), o.Tree.Open()
	out := dump.Object{
		Group: o.Ref.Group, Version: o.Ref.Version, Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name,
		UnknownName: o.UnknownName, Unknown: unknown(content.Node, content.Unknown, ""), File: p.Path, Line: p.Line,
	}
	// What cannot be written is null, which equals no object.
	if j, err := kyaml.NewRNode(content.Node).MarshalJSON(); err == nil {
		out.Content = j
	}
	return out
}

// unknown are the places of the values and keys below a node whose text is not
// known.
func unknown(n *yaml.Node, names map[*yaml.Node]string, at string) []string {
	if len(names) == 0 {
		return nil
	}
	var out []string
	if _, ok := names[n]; ok {
		out = append(out, at)
	}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			out = append(out, unknown(c, names, fmt.Sprintf("%s[%d]", at, i))...)
		case n.Kind != yaml.MappingNode:
			out = append(out, unknown(c, names, at)...)
		case i%2 == 1:
			place := at + "." + n.Content[i-1].Value
			if _, ok := names[n.Content[i-1]]; ok {
				out = append(out, place)
			}
			out = append(out, unknown(c, names, place)...)
		}
	}
	return out
}

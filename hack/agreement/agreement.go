package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gitops-reach/reach/hack/dump"
)

// agreement compares a subject as it is committed.
func (b *bench) agreement(s *subject, t *table) error {
	req := s.request
	req.AllPlain, req.Files, req.Generated = true, true, true
	reply, err := b.builds(&req)
	if err != nil {
		return err
	}
	if reply.Error != "" {
		return fmt.Errorf("no census: %s", reply.Error)
	}
	start, sum := time.Now(), newTally()
	if err := b.compareGit(s, reply, sum); err != nil {
		return err
	}
	t.add(s.name, "git", sum, time.Since(start))
	w, err := b.newWork(s)
	if err != nil {
		return err
	}
	defer w.close()
	start, sum = time.Now(), newTally()
	for _, p := range reply.Plain {
		w.plain(&p, sum)
	}
	t.add(s.name, "kustomize", sum, time.Since(start))
	start, sum = time.Now(), newTally()
	if err := w.syncs(reply, sum, everything(reply)); err != nil {
		return err
	}
	t.add(s.name, "flux", sum, time.Since(start))
	start, sum = time.Now(), newTally()
	reply.Syncs = reply.Generated
	if err := w.syncs(reply, sum, everything(reply)); err != nil {
		return err
	}
	t.add(s.name, "generated", sum, time.Since(start))
	return nil
}

// everything are the indices of all Syncs.
func everything(reply *dump.Reply) []int {
	out := make([]int, len(reply.Syncs))
	for i := range out {
		out[i] = i
	}
	return out
}

// work is one repository on disk, for the oracles.
type work struct {
	dir string
	// tree is a clone: the repository as `git clone` lays it out, symbolic
	// links included.
	tree    string
	changes map[string]*string
	// change counts the changes, to tell contents of one path apart.
	change int
	// before are the files that changes replace.
	before map[string]*string
	// views are the checkouts of the builds at hand, by ViewKey; free those of
	// earlier ones.
	views map[string]*checkout
	free  []*checkout
	laid  int
}

func (b *bench) newWork(s *subject) (*work, error) {
	w := &work{dir: filepath.Join(b.dir, "work", s.name), views: map[string]*checkout{}}
	w.tree = filepath.Join(w.dir, "tree")
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	_, err := b.runGit(w.dir, "clone", "-q", s.repository, w.tree)
	return w, err
}

func (w *work) close() { _ = os.RemoveAll(w.dir) }

// read is the content of a file of the repository, with its change.
func (w *work) read(p string) ([]byte, error) {
	if text, ok := w.changes[p]; ok && text != nil {
		return []byte(*text), nil
	}
	return os.ReadFile(filepath.Join(w.tree, p))
}

func (w *work) version(p string) string {
	if _, ok := w.changes[p]; ok {
		return fmt.Sprint(w.change)
	}
	return ""
}

func (w *work) plain(p *dump.Plain, sum *tally) {
	objects, err := krustyBuild(filepath.Join(w.tree, filepath.FromSlash(p.Dir)))
	sum.build(shown(p.Dir), &p.Build, objects, err)
}

func shown(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// syncs compares the Flux Kustomizations of which these are the indices, as
// far as they are built; of equal builds one.
func (w *work) syncs(reply *dump.Reply, sum *tally, indices []int) error {
	clusters := configs(reply)
	known := map[string]bool{}
	for _, s := range reply.Syncs {
		known[s.Cluster+"\x00"+s.Namespace+"\x00"+s.Name] = true
	}
	for _, c := range w.views {
		w.free = append(w.free, c)
	}
	clear(w.views)
	compared := map[string]bool{}
	for _, i := range indices {
		s := &reply.Syncs[i]
		name := s.Cluster + " " + s.Namespace + "/" + s.Name
		switch s.State {
		case "unresolved", "external", "spoke_applied", "path_missing":
			sum.reasons[s.State+" "+s.Reason]++
		}
		if s.Build < 0 {
			continue
		}
		build := &reply.Builds[s.Build]
		if s.State == "unresolved" && !strings.HasPrefix(s.Reason, "parent_") && !strings.HasPrefix(s.Reason, "dependency_") {
			sum.undecidable++
			continue // the object or its source is not what it says
		}
		if string(s.Object) == "null" && s.Blocked {
			sum.unresolved("written so that nobody can read it")
			continue
		}
		if reply.Views[s.ViewKey].Unknown {
			sum.unresolved("artifact with unknown parts")
			continue
		}
		if s.Blocked && len(build.Unknown) == 0 && clusters[s.Cluster].lacks(s.Object, s.Namespace) {
			// The analyser takes what git says for the best that is known; nothing of
			// it is an object that lands.
			sum.unresolved("variables of an object that may not arrive")
			continue
		}
		key, object := clusters.key(reply, s)
		key = fmt.Sprint(key, s.ViewKey, s.Build)
		if compared[key] {
			continue
		}
		compared[key] = true
		c, err := w.view(reply, s.ViewKey)
		if err != nil {
			return err
		}
		objects, err := fluxBuild(object, c.dir, s.Directory, clusters[s.Cluster].client(), reply.Strict[s.Cluster])
		if errors.Is(err, errRefused) && s.Reason == "parent_apply_failed" {
			sum.unresolved("refused by the API server")
			continue
		}
		sum.build(name, build, objects, err)
		if s.Blocked || s.Target == "" {
			continue
		}
		for _, k := range objects {
			if id := identify(k); id.group == "kustomize.toolkit.fluxcd.io" && id.kind == "Kustomization" && id.namespace != "" &&
				!known[s.Target+"\x00"+id.namespace+"\x00"+id.name] {
				sum.miss++
				sum.differ("%s: %v is not followed", name, id)
			}
		}
	}
	return nil
}

// view is the checkout of an artifact: one that was another's before, if there
// is one, since most of it will be equal.
func (w *work) view(reply *dump.Reply, key string) (*checkout, error) {
	v, c := reply.Views[key], w.views[key]
	if c == nil {
		best := -1
		for i, f := range w.free {
			if best < 0 || abs(len(f.have)-len(v.Files)) < abs(len(w.free[best].have)-len(v.Files)) {
				best = i
			}
		}
		if best >= 0 {
			c = w.free[best]
			w.free = append(w.free[:best:best], w.free[best+1:]...)
		} else {
			w.laid++
			c = &checkout{dir: filepath.Join(w.dir, fmt.Sprintf("artifact%d", w.laid)), have: map[string]string{}}
		}
		w.views[key] = c
	}
	return c, c.lay(v, w.read, w.version)
}

func abs(n int) int { return max(n, -n) }

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

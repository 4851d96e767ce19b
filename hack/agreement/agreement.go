package main

import (
	"crypto/sha256"
	"encoding/hex"
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
	req.AllPlain, req.Files = true, true
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
	if err := w.syncs(reply, sum, nil); err != nil {
		return err
	}
	t.add(s.name, "flux", sum, time.Since(start))
	return nil
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
	views  map[string]*checkout
	// done are the results of fluxBuild by what goes into it.
	done map[string]*outcome
}

type outcome struct {
	objects []any
	err     error
}

func (b *bench) newWork(s *subject) (*work, error) {
	w := &work{dir: filepath.Join(b.dir, "work", s.name), views: map[string]*checkout{}, done: map[string]*outcome{}}
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

// syncs compares every Flux Kustomization that is built. With wanted, only
// those for which it returns true; the oracle's results of others are not
// asked for.
func (w *work) syncs(reply *dump.Reply, sum *tally, wanted func(*dump.Sync, *dump.Build, string) bool) error {
	clusters := configs(reply)
	known := map[string]bool{}
	for _, s := range reply.Syncs {
		known[s.Cluster+"\x00"+s.Namespace+"\x00"+s.Name] = true
	}
	compared := map[string]bool{}
	for i := range reply.Syncs {
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
		if strings.HasPrefix(s.State, "unresolved") && !strings.HasPrefix(s.Reason, "parent_") {
			sum.undecidable++
			continue // the object or its source is not what it says
		}
		if reply.Views[s.ViewKey].Unknown {
			sum.unresolved("artifact with unknown parts")
			continue
		}
		object, err := definition(s)
		if err != nil {
			return err
		}
		object = clusters[s.Cluster].certain(object, s, build)
		key := digest(s.ViewKey, s.Directory, string(object), clusters[s.Cluster].text(object, s.Namespace), fmt.Sprint(reply.Strict[s.Cluster]))
		if wanted != nil && !wanted(s, build, key) {
			continue
		}
		if compared[fmt.Sprint(key, s.Build)] {
			continue
		}
		compared[fmt.Sprint(key, s.Build)] = true
		c, err := w.view(reply, s.ViewKey)
		if err != nil {
			return err
		}
		var o outcome
		o.objects, o.err = fluxBuild(object, c.dir, s.Directory, clusters[s.Cluster].client(), reply.Strict[s.Cluster])
		sum.build(name, build, o.objects, o.err)
		if s.Blocked {
			continue
		}
		for _, k := range o.objects {
			if id := identify(k); id.group == "kustomize.toolkit.fluxcd.io" && id.kind == "Kustomization" && id.namespace != "" &&
				!known[s.Target+"\x00"+id.namespace+"\x00"+id.name] {
				sum.miss++
				sum.differ("%s: %v is not followed", name, id)
			}
		}
	}
	return nil
}

// view is the checkout of an artifact.
func (w *work) view(reply *dump.Reply, key string) (*checkout, error) {
	c := w.views[key]
	if c == nil {
		c = &checkout{dir: filepath.Join(w.dir, fmt.Sprintf("artifact%d", len(w.views))), have: map[string]string{}}
		w.views[key] = c
	}
	return c, c.lay(reply.Views[key], w.read, w.version)
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

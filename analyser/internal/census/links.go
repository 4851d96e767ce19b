package census

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/coverage"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// links finds the symbolic links that stand for manifests. A checkout follows
// them, which is why people believe that what they lead to is applied here too;
// an artifact does not hold them (upstream: the archiver of fluxcd/pkg leaves
// out all but regular files and directories).
type links struct {
	snap *snapshot.Snapshot
	// manifests says of directories whether a manifest lies below.
	manifests map[string]bool
}

// considered is a link as a file of the census; false for one that neither has
// the name of a manifest nor leads to any, and so is none as its target is none.
func (l *links) considered(e snapshot.Entry) (coverage.Considered, bool) {
	target, inside := l.follow(e.Path)
	c := coverage.Considered{Path: e.Path, Role: kustomize.RoleOther}
	const seen = "Flux sees nothing here, since no artifact holds a symbolic link"
	switch {
	case !inside:
		c.Link = seen + "; it leads out of the repository or in a circle"
	case l.snap.IsDir(target):
		c.Link = fmt.Sprintf("%s; what lies in %s, to which it leads, lands where something reaches it there", seen, orRoot(target))
	default:
		if f, ok := l.snap.Lookup(target); ok && f.IsFile() {
			c.Link = fmt.Sprintf("%s; %s, to which it leads, lands where something reaches it there", seen, target)
		} else {
			c.Link = fmt.Sprintf("%s, and %s, to which it leads, does not exist either", seen, orRoot(target))
		}
	}
	return c, isManifest(e.Path) || inside && l.leadsToManifests(target)
}

func orRoot(dir string) string {
	if dir == "" {
		return "the root directory"
	}
	return dir
}

// follow returns the path to which a link leads at last. inside is false when
// that is not in the repository, or never ends.
func (l *links) follow(p string) (target string, inside bool) {
	for range 40 {
		link, rest := l.first(p)
		if link == "" {
			return p, true
		}
		e, _ := l.snap.Lookup(link)
		content, err := l.snap.ReadEntry(e)
		if err != nil {
			return "", false
		}
		next, ok := snapshot.Join(strings.TrimSuffix(path.Dir(link), "."), string(content))
		if !ok || strings.HasPrefix(string(content), "/") {
			return "", false
		}
		p = path.Join(next, rest)
	}
	return "", false
}

// first is the first link on the way to p, and what follows it; "" for none.
func (l *links) first(p string) (link, rest string) {
	for i := 0; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if e, ok := l.snap.Lookup(p[:i]); ok && e.Mode == snapshot.Symlink {
			return p[:i], strings.TrimPrefix(p[i:], "/")
		}
	}
	return "", ""
}

func (l *links) leadsToManifests(target string) bool {
	if !l.snap.IsDir(target) {
		e, ok := l.snap.Lookup(target)
		return ok && e.IsFile() && isManifest(target)
	}
	found, known := l.manifests[target]
	if known {
		return found
	}
	prefix := target + "/"
	if target == "" {
		prefix = ""
	}
	entries := l.snap.Entries()
	for i := sort.Search(len(entries), func(i int) bool { return entries[i].Path >= prefix }); i < len(entries) && strings.HasPrefix(entries[i].Path, prefix); i++ {
		if found = entries[i].IsFile() && isManifest(entries[i].Path); found {
			break
		}
	}
	l.manifests[target] = found
	return found
}

package kustomize

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/api/ifc"
	"sigs.k8s.io/kustomize/api/resource"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// loader reads files for kustomize's plugins, relative to a directory of the
// view (upstream: api/internal/loader with LoadRestrictionsNone; the root of
// the view is a wall, as Flux's file system is).
type loader struct {
	view view
	dir  string
	// remote is told of files that are somewhere else.
	remote func(url string)
}

var _ ifc.Loader = (*loader)(nil)

// errRemote is a file outside the snapshot.
var errRemote = errors.New("the file is not in the repository")

func (l *loader) Repo() string { return "" }

// Root is absolute as plugins expect; its last element is a default value of
// the ValueAddTransformer.
func (l *loader) Root() string { return "/" + l.dir }

func (l *loader) Load(p string) ([]byte, error) {
	if isRemoteFile(p) {
		if l.remote != nil {
			l.remote(p)
		}
		return nil, errRemote
	}
	e, f := resolveFile(l.view, l.dir, p, 0)
	if f != nil {
		return nil, f
	}
	return l.view.ReadEntry(e)
}

func (l *loader) New(string) (ifc.Loader, error) {
	return nil, errors.New("plugins open no layers")
}

func (l *loader) Cleanup() error { return nil }

// resolveFile finds a regular file by a path as written in a layer at dir.
func resolveFile(view view, dir, p string, pos position.Pos) (snapshot.Entry, *Failure) {
	full, ok := snapshot.Join(dir, p)
	if !ok {
		return snapshot.Entry{}, fail(codeOutside, pos, fmt.Sprintf("%s leads out of the source", quoteShort(p)))
	}
	e, ok := view.Lookup(full)
	if !ok || !e.IsFile() {
		what := "there is no file "
		if hint := unnameable(view, full); hint != "" {
			return snapshot.Entry{}, fail(codeNotFound, pos, what+shown(full)+hint)
		}
		switch {
		case view.IsDir(full):
			what = "this is a directory, not a file: "
		case ok && e.Mode == snapshot.Symlink:
			what = "this is a symbolic link, which sources do not contain: "
		}
		return snapshot.Entry{}, fail(codeNotFound, pos, what+shown(full))
	}
	return e, nil
}

// isRemoteFile is upstream's IsRemoteFile.
func isRemoteFile(p string) bool {
	if !strings.Contains(p, ":") {
		return false
	}
	u, err := url.Parse(p)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// isRemoteBase reports whether kustomize would clone a repository for a path.
// The parser of such URLs is not public; Origin.Append, which is, tells.
func isRemoteBase(p string) (remote bool) {
	if !strings.Contains(p, ":") && !strings.Contains(strings.ToLower(p), "github.com/") {
		return false
	}
	defer func() {
		if recover() != nil {
			remote = true // a URL that upstream parses but cannot take apart
		}
	}()
	// The prefix "git::" is only stripped, but with a log line.
	if len(p) > 5 && strings.EqualFold(p[:5], "git::") {
		p = p[5:]
	}
	return (&resource.Origin{}).Append(p).Repo != ""
}

// remoteKind says what an http URL in `resources` most likely is. kustomize
// fetches it as a file first and clones it when that yields no objects.
func remoteKind(p string) string {
	u, _, _ := strings.Cut(p, "?")
	switch path.Ext(u) {
	case ".yaml", ".yml", ".json":
		return externalFile
	}
	if isRemoteBase(p) {
		return externalBase
	}
	return externalFile
}

// The kinds of External.
const (
	externalBase  = "remote_base"
	externalFile  = "remote_file"
	externalChart = "helm_chart"
)

// resolveDir finds the directory of a layer by a path as written in a layer
// (upstream: FileLoader.New).
func resolveDir(view view, dir, p string, pos position.Pos) (string, *Failure) {
	if p == "" {
		return "", fail(codeNotFound, pos, "an empty path")
	}
	if strings.HasPrefix(p, "/") {
		return "", fail(codeOutside, pos, quoteShort(p)+" is absolute")
	}
	for _, part := range strings.Split(p, "/") {
		if part != "" && part != "." && part != ".." && strings.Contains(part, "..") {
			return "", fail(codeNotFound, pos, quoteShort(p)+" is ambiguous: look for a wrong indentation")
		}
	}
	full, ok := snapshot.Join(dir, p)
	if !ok {
		return "", fail(codeOutside, pos, quoteShort(p)+" leads out of the source")
	}
	if view.IsDir(full) {
		return full, nil
	}
	if e, ok := view.Lookup(full); ok && e.Mode == snapshot.Symlink {
		return "", fail(codeNotFound, pos, "this is a symbolic link, which sources do not contain: "+full)
	}
	return "", fail(codeNotFound, pos, "there is no "+shown(full)+unnameable(view, full))
}

// unnameable says, of a path that is not there, which name it stands for when
// Flux wrote it into a kustomization file: YAML cannot hold bytes that are not
// UTF-8, and U+FFFD takes the place of each. "" when there is no such name.
func unnameable(view view, full string) string {
	if !strings.ContainsRune(full, utf8.RuneError) {
		return ""
	}
	dir, part, rest := "", "", full
	for rest != "" {
		part, rest, _ = strings.Cut(rest, "/")
		for _, e := range view.ReadDir(dir) {
			if !utf8.ValidString(e.Name) && string([]rune(e.Name)) == part {
				return fmt.Sprintf(": a generated kustomization file cannot name %q, which is not UTF-8", e.Name)
			}
		}
		dir = path.Join(dir, part)
	}
	return ""
}

// contains reports whether directory a is b or above it.
func contains(a, b string) bool {
	return a == "" || a == b || strings.HasPrefix(b, a+"/")
}

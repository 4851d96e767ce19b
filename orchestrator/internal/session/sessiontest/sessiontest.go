// Package sessiontest is an API server made of a file, for tests of what reads
// one: discovery, lists in pages, lists of metadata, single objects, and nothing
// that writes.
package sessiontest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gitops-reach/reach/hack/misbehave"
)

// Served is a kind that the server has.
type Served struct {
	Group, Version, Kind, Resource string
	Namespaced                     bool
	Verbs                          []string
}

// Cluster is what is on a server.
type Cluster struct {
	// Version is its gitVersion.
	Version string
	Served  []Served
	// Objects as they stand in YAML.
	Objects []map[string]any
}

// Load reads an archive: a file "version", a file "served" with lines GROUP/VERSION
// KIND RESOURCE namespaced|cluster [VERBS], "core" for the core group, and files
// that end in .yaml with objects.
func Load(t testing.TB, name string) (*Cluster, *txtar.Archive) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{}
	for _, f := range archive.Files {
		switch {
		case f.Name == "version":
			c.Version = strings.TrimSpace(string(f.Data))
		case f.Name == "served":
			for line := range strings.Lines(string(f.Data)) {
				words := strings.Fields(line)
				if len(words) == 0 {
					continue
				}
				group, version, ok := strings.Cut(words[0], "/")
				if !ok || len(words) < 4 {
					t.Fatalf("%s: %q is not GROUP/VERSION KIND RESOURCE namespaced|cluster", name, line)
				}
				s := Served{Group: group, Version: version, Kind: words[1], Resource: words[2], Namespaced: words[3] == "namespaced", Verbs: []string{"create", "get", "list", "watch"}}
				if group == "core" {
					s.Group = ""
				}
				if len(words) > 4 {
					s.Verbs = strings.Split(words[4], ",")
				}
				c.Served = append(c.Served, s)
			}
		case strings.HasSuffix(f.Name, ".yaml"):
			for doc := range strings.SplitSeq(string(f.Data), "\n---\n") {
				var o map[string]any
				if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
					t.Fatalf("%s: %s: %v", name, f.Name, err)
				}
				c.Objects = append(c.Objects, o)
			}
		}
	}
	return c, archive
}

// Kubeconfig writes a kubeconfig whose context leads to the server with a token.
func Kubeconfig(t testing.TB, s *misbehave.Server, context string) string {
	t.Helper()
	config := map[string]any{
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": s.URL(), "certificate-authority-data": s.CA()}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "t"}}},
		"contexts": []any{map[string]any{"name": context, "context": map[string]any{"cluster": "c", "user": "u"}}},
	}
	b, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ServeHTTP answers as a kube-apiserver does.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "this server can only be read", http.StatusMethodNotAllowed)
		return
	}
	p, ok := misbehave.ParsePath(r.URL.Path)
	switch {
	case r.URL.Path == "/version":
		answer(w, map[string]any{"gitVersion": c.Version})
	case r.URL.Path == "/api" || r.URL.Path == "/apis":
		c.discovery(w, r.URL.Path == "/api")
	case ok && p.Resource != "" && p.Subresource == "":
		c.resource(w, r, p)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (c *Cluster) discovery(w http.ResponseWriter, core bool) {
	type version = map[string]any
	groups := map[string][]string{}
	resources := map[string][]any{}
	for _, s := range c.Served {
		if core != (s.Group == "") {
			continue
		}
		if !slices.Contains(groups[s.Group], s.Version) {
			groups[s.Group] = append(groups[s.Group], s.Version)
		}
		scope := "Cluster"
		if s.Namespaced {
			scope = "Namespaced"
		}
		gv := s.Group + "/" + s.Version
		resources[gv] = append(resources[gv], map[string]any{
			"resource": s.Resource, "responseKind": map[string]any{"group": s.Group, "version": s.Version, "kind": s.Kind}, "scope": scope, "verbs": s.Verbs,
		})
	}
	var items []any
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		var versions []any
		for _, v := range groups[g] {
			versions = append(versions, version{"version": v, "freshness": "Current", "resources": resources[g+"/"+v]})
		}
		items = append(items, map[string]any{"metadata": map[string]any{"name": g}, "versions": versions})
	}
	answer(w, map[string]any{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
}

func text(o map[string]any, keys ...string) string {
	for _, k := range keys[:len(keys)-1] {
		o, _ = o[k].(map[string]any)
	}
	s, _ := o[keys[len(keys)-1]].(string)
	return s
}

// selected reports whether an object has the labels of a selector of the forms
// a=b and !a.
func selected(o map[string]any, selector string) bool {
	meta, _ := o["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	for part := range strings.SplitSeq(selector, ",") {
		key, value, equal := strings.Cut(part, "=")
		without, not := strings.CutPrefix(key, "!")
		_, has := labels[without]
		if part != "" && (not && has || equal && labels[key] != value) {
			return false
		}
	}
	return true
}

func (c *Cluster) resource(w http.ResponseWriter, r *http.Request, p misbehave.Path) {
	at := slices.IndexFunc(c.Served, func(s Served) bool {
		return s.Group == p.Group && s.Version == p.Version && s.Resource == p.Resource
	})
	if at < 0 {
		http.NotFound(w, r)
		return
	}
	s := c.Served[at]
	apiVersion := strings.TrimPrefix(s.Group+"/"+s.Version, "/")
	q := r.URL.Query()
	var found []map[string]any
	for _, o := range c.Objects {
		if text(o, "apiVersion") == apiVersion && text(o, "kind") == s.Kind && selected(o, q.Get("labelSelector")) &&
			(p.Namespace == "" || text(o, "metadata", "namespace") == p.Namespace) && (p.Name == "" || text(o, "metadata", "name") == p.Name) {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b map[string]any) int {
		return cmp.Or(cmp.Compare(text(a, "metadata", "namespace"), text(b, "metadata", "namespace")), cmp.Compare(text(a, "metadata", "name"), text(b, "metadata", "name")))
	})
	if p.Name != "" {
		if len(found) == 0 {
			http.NotFound(w, r)
			return
		}
		answer(w, found[0])
		return
	}
	list := map[string]any{"kind": s.Kind + "List", "apiVersion": apiVersion}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
		for i, o := range found {
			found[i] = map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
		}
	}
	metadata := map[string]any{"resourceVersion": "1"}
	from, _ := strconv.Atoi(q.Get("continue"))
	from = min(from, len(found))
	to := len(found)
	if limit, _ := strconv.Atoi(q.Get("limit")); limit > 0 && from+limit < to {
		to = from + limit
		metadata["continue"] = fmt.Sprint(to)
	}
	list["metadata"], list["items"] = metadata, append([]map[string]any{}, found[from:to]...)
	answer(w, list)
}

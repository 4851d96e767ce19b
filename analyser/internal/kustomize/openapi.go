package kustomize

import (
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// kustomize keeps the OpenAPI schema that tells it merge keys in variables of a
// package, and `openapi:` in a kustomization file sets them. Builds with such a
// field therefore run alone, under what kyaml itself reads; all others share a
// schema that starts without the kinds of Kubernetes and learns them from
// builtin.txt when a merge first needs them: reading all of kyaml's takes longer
// than most builds, and most merges are into kinds that it does not know.
//
// Only merges look at it. Scopes come from a table of kyaml's own, which has
// all that the schema says about them (TestScopes).
var (
	schemaMu   sync.RWMutex
	schemaOnce sync.Once
	// alone tells merges that the schema is a build's own. Guarded by schemaMu.
	alone bool

	// kindsMu guards what kyaml's maps hold: they are read without a lock.
	kindsMu sync.RWMutex
	// known are the kinds that were added, allKnown that all definitions were.
	known    map[string]bool
	allKnown bool
)

// Prepare makes the schema ready ahead of the first build. It may run beside
// anything else.
func Prepare() { schemaOnce.Do(resetSchema) }

// withSchema runs a build under the built-in schema.
func withSchema(build func()) {
	schemaOnce.Do(resetSchema)
	schemaMu.RLock()
	defer schemaMu.RUnlock()
	build()
}

// withOwnSchema runs a build that sets the schema. preload is what Flux does:
// the built-in schema stays beside that of a file.
func withOwnSchema(preload bool, build func()) {
	schemaOnce.Do(resetSchema)
	schemaMu.Lock()
	defer schemaMu.Unlock()
	openapi.ResetOpenAPI()
	if preload {
		_ = openapi.Schema()
	}
	alone = true
	defer func() {
		alone = false
		resetSchema()
	}()
	build()
}

func resetSchema() {
	openapi.ResetOpenAPI()
	openapi.SuppressBuiltInSchemaUse()
	_ = openapi.Schema() // from here on kyaml reads what it holds and writes nothing
	known, allKnown = map[string]bool{}, false
}

// applyMerge merges a patch into r with every schema at hand that kyaml may ask
// for on the way; long is without shortcuts.
func applyMerge(r, patch *resource.Resource, long bool) error {
	if alone {
		return r.ApplySmPatch(patch)
	}
	kindsMu.RLock()
	if !long && mergePlainly(r, patch) {
		kindsMu.RUnlock()
		return nil
	}
	var n needs
	n.look(r.YNode())
	n.look(patch.YNode())
	if n.missing() {
		kindsMu.RUnlock()
		kindsMu.Lock()
		n.add()
		kindsMu.Unlock()
		kindsMu.RLock()
	}
	defer kindsMu.RUnlock()
	return r.ApplySmPatch(patch)
}

// needs are the definitions that a merge may look up.
type needs struct {
	kinds []string
	all   bool
}

// look notes the kinds of a tree. kyaml asks for the type of any mapping with an
// apiVersion and a kind, however deep it stands, so each value of a `kind` counts;
// and a comment of the form {"$ref": ...} may name any definition.
func (n *needs) look(node *yaml.Node) {
	if node == nil || n.all {
		return
	}
	if node.Kind == yaml.AliasNode || refersTo(node.LineComment) || refersTo(node.HeadComment) {
		n.all = true
		return
	}
	for i, c := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.ScalarNode {
			if node.Content[i-1].Value == "kind" && builtinKinds()[c.Value] != nil {
				n.kinds = append(n.kinds, c.Value)
			}
			if c.LineComment == "" && c.HeadComment == "" {
				continue
			}
		}
		n.look(c)
	}
}

// refersTo reports whether kyaml may read a comment as a reference.
func refersTo(comment string) bool {
	if !strings.Contains(comment, "{") {
		return false
	}
	return strings.Contains(comment, `\`) || strings.Contains(strings.ToLower(comment), "$ref")
}

// missing needs the lock for reading, add that for writing.
func (n *needs) missing() bool {
	if n.all {
		return !allKnown
	}
	for _, k := range n.kinds {
		if !known[k] && !allKnown {
			return true
		}
	}
	return false
}

func (n *needs) add() {
	switch {
	case !n.missing():
	case n.all:
		openapi.AddDefinitions(builtinDefinitions())
		allKnown = true
	default:
		for _, k := range n.kinds {
			if !known[k] {
				openapi.AddDefinitions(builtinKinds()[k].definitions())
				known[k] = true
			}
		}
	}
}

// setSchema applies the `openapi` field of a layer; that of the top wins over
// those below, which first is the top.
func (r *run) setSchema(f *kfile, first bool) *Failure {
	if !r.isolated {
		return nil
	}
	var content []byte
	pos := f.field("openapi")
	if p, ok := f.k.OpenAPI["path"]; ok {
		if isRemoteFile(p) {
			return fail(codeRemoteInput, pos, "the schema is not in the repository")
		}
		e, failure := resolveFile(r.b.view, f.dir, p, pos)
		if failure != nil {
			return failure
		}
		var err error
		if content, err = r.b.view.ReadEntry(e); err != nil {
			return fail(codeNotFound, pos, "cannot read "+e.Origin)
		}
		if content == nil {
			content = []byte{}
		}
	}
	if openapi.SetSchema(f.k.OpenAPI, content, first) != nil {
		return fail(codeBadConfiguration, pos, "openapi names a version that kustomize does not have, or both a version and a path")
	}
	return nil
}

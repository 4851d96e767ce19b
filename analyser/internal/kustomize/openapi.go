package kustomize

import (
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// kustomize keeps the OpenAPI schema that tells it merge keys and scopes in
// variables of a package, and `openapi:` in a kustomization file sets them.
// Builds with such a field therefore run alone; all others share the built-in
// schema, which is complete before the first of them starts: kyaml reads its
// maps without a lock.
var (
	schemaMu   sync.RWMutex
	schemaOnce sync.Once
)

// Prepare reads the built-in schema, which takes some 20 ms of a processor,
// ahead of the first build. It may run beside anything else.
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
	defer resetSchema()
	build()
}

func resetSchema() {
	openapi.ResetOpenAPI()
	_ = openapi.Schema()
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

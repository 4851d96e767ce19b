package kustomize

import (
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// template is an object as it is written. It is immutable.
type template struct {
	res  *resource.Resource
	pos  position.Pos
	ref  object.Ref
	sops bool
}

// entry starts the way of a template through the layers.
func (t *template) entry() *entry {
	return &entry{res: t.res, shared: true, origin: t.pos, written: t.ref}
}

// templates are the objects of a file, or why kustomize rejects it.
type templates struct {
	list []template
	err  *Failure
}

// templates reads the objects of an entry of the view. They are not kept: layers
// are, and the trees of what no layer holds take up more than reading them again.
func (b *Builder) templates(e snapshot.Entry) *templates {
	file, err := b.docs.Read(b.view.files, e)
	if err != nil {
		return &templates{err: fail(codeNotFound, 0, "cannot read "+e.Origin)}
	}
	return templatesOf(file)
}

// rejected is why kustomize rejects an entry, looked for once; nil when it does
// not.
func (b *Builder) rejected(e snapshot.Entry) *Failure {
	key := fileKey{e.Origin, e.Blob}
	b.mu.Lock()
	f, known := b.verdicts[key]
	b.mu.Unlock()
	if known {
		return f
	}
	f = b.templates(e).err
	b.mu.Lock()
	defer b.mu.Unlock()
	b.verdicts[key] = f
	return f
}

type fileKey struct{ origin, blob string }

// templatesOf is what kustomize makes of a file (upstream: SliceFromBytes in
// api/resource/factory.go): everything, or nothing and a reason.
func templatesOf(f *document.File) *templates {
	if f.Err != nil {
		return &templates{err: fail(yamlCode(f.Err), f.Err.Pos, f.Err.Message)}
	}
	t := &templates{}
	for _, r := range f.Resources() {
		if r.Reason.Rejected() {
			return &templates{err: fail(codeNotAnObject, r.Pos, reasons[r.Reason])}
		}
		t.list = append(t.list, template{
			res:  &resource.Resource{RNode: *kyaml.NewRNode(r.Node)},
			pos:  r.Pos,
			ref:  r.Ref,
			sops: r.Document.SOPS,
		})
	}
	return t
}

// yamlCode tells what kustomize rejects from what only we refuse to read.
func yamlCode(err *document.Error) string {
	switch err.Code {
	case document.CodeSyntax, document.CodeDuplicateKey, document.CodeNotUTF8:
		return codeBadYAML
	}
	return codeLimit
}

var reasons = map[document.Reason]string{
	document.NotAMapping: "this document is not an object",
	document.NoKind:      "this document is not an object: it has no kind",
	document.NoName:      "this object has no metadata.name",
	document.BadList:     "the items of this list cannot be read",
}

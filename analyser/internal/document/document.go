// Package document turns the bytes of a manifest into documents whose every
// node knows its file and line. It is the only package that parses YAML.
//
// The documents are those that kustomize reads from the same bytes (upstream:
// kyaml kio/byteio_reader.go): the same splitting at separators, the same
// empty documents left out, aliases and merge keys expanded the same way. What
// kustomize rejects although it is YAML is reported as a fact, see Resource;
// the reader itself judges nothing.
//
// Files are hostile until shown otherwise: what one may cost is bounded by
// Limits, and no error repeats text of a file.
package document

import (
	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// File is a parsed file. It is immutable and shared by everything that reads
// the same blob at the same path.
type File struct {
	// Path in the repository.
	Path string
	// Base is the position of the file as a whole.
	Base position.Pos
	// Documents in the order of the file, empty ones left out: those without
	// content, null, {} and [].
	Documents []*Document
	// Err is why the file, or the rest of it after Documents, could not be
	// read: bad syntax, a limit. Nil when all of it was read. kustomize reads
	// nothing of a file that has one.
	Err *Error
}

// Document is one YAML document. It must not be changed; its nodes are copied
// by those who need to.
type Document struct {
	// Index among the documents of the file, from 0.
	Index int
	// Pos is the first line of the content, after comments and "---".
	Pos position.Pos
	// Tree is the content; its root is not of kind DocumentNode. The Line of
	// every node in it is a position.Pos and the Column 0, which tells it from a
	// node that a library parsed again; aliases are expanded the way kustomize
	// expands them.
	Tree *packed.Tree
	// Ref is what the header says: the zero Ref unless apiVersion and kind
	// are strings. Namespace and Name may be empty.
	Ref object.Ref
	// SOPS reports a document encrypted with SOPS: it has a top-level "sops"
	// mapping with a mac.
	SOPS bool
	// List reports that the document is an object of a *List kind, or a
	// ResourceList, with items, which kustomize takes apart.
	List bool

	// unwrapped reports a List or ResourceList that kustomize takes apart
	// while reading, before it expands aliases; expanded are the items that it
	// finds, where there was something to expand: they are not in Tree then.
	unwrapped bool
	expanded  []*packed.Tree
}

// Node is the root of Tree.
func (d *Document) Node() *yaml.Node { return d.Tree.Node() }

// Error is why a file could not be read as YAML.
type Error struct {
	// Code is "syntax", "alias_bomb", "too_large", "too_many_documents",
	// "too_deep", "not_utf8", "duplicate_key".
	Code string
	// Pos is where the YAML library saw it, which may be the start of the
	// enclosing mapping, or the base of the file.
	Pos position.Pos
	// Message says what is wrong without quoting values.
	Message string
}

func (e *Error) Error() string { return e.Message }

// The codes of an Error.
const (
	CodeSyntax           = "syntax"
	CodeAliasBomb        = "alias_bomb"
	CodeTooLarge         = "too_large"
	CodeTooManyDocuments = "too_many_documents"
	CodeTooDeep          = "too_deep"
	CodeNotUTF8          = "not_utf8"
	CodeDuplicateKey     = "duplicate_key"
)

// Limits bound what one file may cost. The zero value means the defaults.
type Limits struct {
	Bytes     int64 // of a file; default 64 MiB
	Nodes     int   // per document after alias expansion; default 1,000,000
	Documents int   // per file; default 100,000
	Depth     int   // of nesting; default 200
}

func (l Limits) orDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	if l.Nodes <= 0 {
		l.Nodes = 1_000_000
	}
	if l.Documents <= 0 {
		l.Documents = 100_000
	}
	if l.Depth <= 0 {
		l.Depth = 200
	}
	return l
}

package document

import (
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/object"
)

// fields are what a header needs. A set bit guards against duplicate keys,
// whose meaning is left to a parse.
type fields struct {
	apiVersion, kind, name, namespace string
	seen                              uint16
}

const (
	seenAPIVersion = 1 << iota
	seenKind
	seenMetadata
	seenName
	seenNamespace
	seenSOPS
	seenMAC
	seenItems
	seenFunctionConfig
)

func (s *scanner) header(only bool) Header {
	f := &s.fields
	h := Header{SOPS: f.seen&seenMAC != 0}
	items, function := f.seen&seenItems != 0, f.seen&seenFunctionConfig != 0
	switch {
	case only && (f.kind == "List" || f.kind == "ResourceList"):
		h.List = items || function
	case strings.HasSuffix(f.kind, "List"):
		h.List = items
	}
	if f.apiVersion != "" && f.kind != "" {
		h.Ref = object.Ref{Kind: f.kind, Namespace: f.namespace, Name: f.name}
		h.Ref.Group, h.Ref.Version = object.SplitAPIVersion(f.apiVersion)
	}
	return h
}

func (s *scanner) rootField(key string, v scalar) bool {
	switch key {
	case "apiVersion":
		s.fields.apiVersion = strings.Clone(v.text)
		return s.known(seenAPIVersion, v.isString())
	case "kind":
		s.fields.kind = strings.Clone(v.text)
		return s.known(seenKind, v.isString())
	case "metadata":
		s.section = "metadata"
		return s.once(seenMetadata) && s.pending
	case "sops":
		s.section = "sops"
		return s.once(seenSOPS) && s.pending
	case "items":
		return s.once(seenItems)
	case "functionConfig":
		return s.once(seenFunctionConfig)
	}
	return true
}

func (s *scanner) nestedField(key string, v scalar) bool {
	switch {
	case s.section == "metadata" && key == "name":
		s.fields.name = strings.Clone(v.text)
		return s.known(seenName, v.isText())
	case s.section == "metadata" && key == "namespace":
		s.fields.namespace = strings.Clone(v.text)
		return s.known(seenNamespace, v.isText())
	case s.section == "sops" && key == "mac":
		return s.once(seenMAC)
	}
	return true
}

// once notes a field of the header.
func (s *scanner) once(bit uint16) bool {
	first := s.fields.seen&bit == 0
	s.fields.seen |= bit
	return first
}

// known notes a field whose text is wanted. That text must not go on in the
// next line: with nothing open, such a line is not plain.
func (s *scanner) known(bit uint16, text bool) bool {
	s.open = 0
	return s.once(bit) && text
}

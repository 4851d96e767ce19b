package kustomize

import (
	"errors"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/gitops-reach/reach/analyser/internal/position"
)

// The codes of Failure.
const (
	codeNotFound         = "not_found"
	codeNoKustomization  = "no_kustomization_file"
	codeSeveral          = "several_kustomization_files"
	codeBadKustomization = "bad_kustomization_file"
	codeBadYAML          = "bad_yaml"
	codeNotAnObject      = "not_an_object"
	codeDuplicateID      = "duplicate_id"
	codeNoMatch          = "patch_no_match"
	codeBadPatch         = "bad_patch"
	codeOutside          = "outside_root"
	codeCycle            = "cycle"
	codeComponentKind    = "component_kind"
	codeBadGenerator     = "bad_generator"
	codeBadTransformer   = "bad_transformer"
	codeBadReplacement   = "bad_replacement"
	codeBadConfiguration = "bad_configuration"
	codeUnsupported      = "unsupported"
	codeLimit            = "limit"
	codePlugin           = "plugin"
	codeEncrypted        = "encrypted"
	codeRemote           = "remote_base_forbidden"
	codeRemoteInput      = "remote_input"
	codeNameReference    = "bad_name_reference"
	codeVariable         = "bad_variable"
	codeSecretIdentity   = "secret_identity"
)

// undecidable are the failures that objects from outside the snapshot could
// prevent: where a layer has external inputs, they are no failures but things
// that cannot be told.
var undecidable = map[string]bool{
	codeNoMatch: true, codeBadReplacement: true, codeBadGenerator: true, codeVariable: true,
}

// fail makes a failure.
func fail(code string, pos position.Pos, message string) *Failure {
	return &Failure{Code: code, Pos: pos, Message: message}
}

// wrap gives an error of a filter or plugin a code and a place. Its text is
// not repeated: upstream's errors quote objects. A Failure keeps its own code.
func wrap(err error, code string, pos position.Pos, message string) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		if f.Pos != 0 {
			return f
		}
		return &Failure{Code: f.Code, Pos: pos, Message: f.Message}
	}
	return fail(code, pos, message)
}

// idString names an object for people.
func idString(id resid.ResId) string {
	var b strings.Builder
	b.WriteString(id.Kind)
	if id.Group != "" {
		b.WriteString("." + id.Group)
	}
	b.WriteByte(' ')
	if id.Namespace != "" {
		b.WriteString(id.Namespace + "/")
	}
	if id.Name == "" {
		b.WriteString("without a name")
	}
	b.WriteString(id.Name)
	return b.String()
}

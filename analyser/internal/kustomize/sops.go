package kustomize

import (
	"bytes"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// input is a file that a generator reads.
type input struct {
	path string
	pos  position.Pos
}

// inputs lists the files that a generator's sources name; node is the entry of
// the generator, or nil.
func (t *target) inputs(s types.KvPairSources, node *yaml.Node) []input {
	at := func(field string, i int) position.Pos {
		list := lookupFold(node, field)
		if list == nil {
			return 0
		}
		if list.Kind == yaml.SequenceNode && i < len(list.Content) {
			list = list.Content[i]
		}
		return position.Pos(list.Line)
	}
	var out []input
	for i, p := range s.EnvSources {
		pos := at("envs", i)
		if pos == 0 {
			pos = at("env", 0)
		}
		out = append(out, input{p, pos})
	}
	for i, p := range s.FileSources {
		out = append(out, input{fileSource(p), at("files", i)})
	}
	return out
}

// fileSource is the path in "[key=]path".
func fileSource(s string) string {
	if _, p, ok := strings.Cut(s, "="); ok {
		return p
	}
	return s
}

// encrypted reports a file that SOPS encrypted, in any of its formats: Flux
// decrypts inputs of generators before it builds (kustomize-controller,
// internal/decryptor).
func (b *Builder) encrypted(e snapshot.Entry) bool {
	content, err := b.view.ReadEntry(e)
	if err != nil || !bytes.Contains(content, []byte("sops")) {
		return false
	}
	switch path.Ext(e.Path) {
	case ".env":
		return hasLine(content, "sops_mac=")
	case ".ini":
		return hasLine(content, "[sops]")
	}
	if hasLine(content, "sops_mac=") || hasLine(content, "[sops]") {
		return true
	}
	f, err := b.docs.Read(b.view, e)
	if err != nil {
		return false
	}
	for _, d := range f.Documents {
		if d.SOPS {
			return true
		}
	}
	return false
}

func hasLine(content []byte, prefix string) bool {
	return bytes.HasPrefix(content, []byte(prefix)) || bytes.Contains(content, []byte("\n"+prefix))
}

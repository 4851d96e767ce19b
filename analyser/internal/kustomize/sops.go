package kustomize

import (
	"bytes"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// input is a file that a generator reads.
type input struct {
	path string
	pos  position.Pos
}

// inputs lists the files that a generator's sources name.
func (t *target) inputs(s types.KvPairSources) []input {
	var out []input
	for _, p := range s.EnvSources {
		out = append(out, input{path: p})
	}
	if s.EnvSource != "" {
		out = append(out, input{path: s.EnvSource})
	}
	for _, p := range s.FileSources {
		out = append(out, input{path: fileSource(p)})
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

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

// sources are the lines of what a generator reads, by the key that each source
// makes: the line of a literal, the line in a file of variables, or a whole file.
func (t *target) sources(s types.KvPairSources, node *yaml.Node) map[string]position.Pos {
	out := map[string]position.Pos{}
	if list := lookupFold(node, "literals"); list != nil && list.Kind == yaml.SequenceNode {
		for _, n := range list.Content {
			key, _, _ := strings.Cut(n.Value, "=")
			out[key] = position.Pos(n.Line)
		}
	}
	for _, p := range s.FileSources {
		key, file, named := strings.Cut(p, "=")
		if !named {
			key, file = path.Base(p), p
		}
		if e, f := resolveFile(t.b.view, t.file.dir, file, 0); f == nil {
			out[key] = t.b.base(e)
		}
	}
	for _, p := range s.EnvSources {
		e, f := resolveFile(t.b.view, t.file.dir, p, 0)
		if f != nil {
			continue
		}
		content, err := t.b.view.ReadEntry(e)
		if err != nil {
			continue
		}
		base, n := t.b.base(e), position.Pos(0)
		for line := range bytes.Lines(content) {
			n++
			key, _, _ := strings.Cut(strings.TrimLeft(string(line), " \t\ufeff"), "=")
			if key = strings.TrimRight(key, "\r\n"); base != 0 {
				out[key] = base + n
			}
		}
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
	f, err := b.docs.Read(b.view.files, e)
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

package kustomize

import (
	"path"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// kfile is a kustomization file. It is immutable; the Flux overlay works on a
// copy.
type kfile struct {
	// dir is the directory in the view.
	dir string
	// entry is the file; the zero Entry for a generated one.
	entry snapshot.Entry
	// name of the file in its directory.
	name string
	// base is the file as a whole, 0 for a generated one.
	base position.Pos
	// node is the root mapping, nil when it could not be parsed.
	node *yaml.Node
	// k is the parsed file; nil when failure says why there is none.
	k *types.Kustomization
	// failure is why kustomize cannot load it.
	failure *Failure
	// absent reports that the directory has no kustomization file.
	absent bool
	// content are the bytes, for the Flux overlay.
	content []byte
	// overlaid are the patches of the overlay, which are the last of
	// k.Patches.
	overlaid []Patch
	// placed are the lines of the fields ("namespace") and elements
	// ("images/2") that the overlay set, 0 where they are not known.
	placed map[string]position.Pos
}

// kfileKey is everything that decides what the kustomization file of a directory
// is: how many there are, and the first.
type kfileKey struct {
	dir   string
	found int
	first snapshot.Entry
}

// maxKfiles bounds the kustomization files that a Builder remembers. Most are needed
// for one build and its layer; those that are not are soon there again.
const maxKfiles = 2_000

// kfile loads the kustomization file of a directory (upstream: LoadKustFile
// and KustTarget.Load in api/internal/target/kusttarget.go). It never returns
// nil.
func (b *Builder) kfile(dir string) *kfile {
	found := b.kustomizationFiles(dir)
	key := kfileKey{dir: dir, found: len(found)}
	if len(found) > 0 {
		key.first = found[0]
	}
	b.mu.Lock()
	f := b.kfiles[key]
	if f == nil {
		if f = b.before.kfile(key); f != nil {
			b.kfiles[key] = f
		}
	}
	b.mu.Unlock()
	if f != nil {
		return f
	}
	f = b.loadKfile(dir, found)
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.kfiles[key]; other != nil {
		return other
	}
	if len(b.kfiles) >= maxKfiles {
		clear(b.kfiles)
	}
	b.kfiles[key] = f
	return f
}

func (b *Builder) loadKfile(dir string, found []snapshot.Entry) *kfile {
	f := &kfile{dir: dir}
	switch len(found) {
	case 0:
		f.absent = true
		f.failure = fail(codeNoKustomization, 0, "the directory "+shown(dir)+" has no kustomization file")
		return f
	case 1:
	default:
		f.failure = fail(codeSeveral, b.base(found[0]), "the directory "+shown(dir)+" has several kustomization files")
		f.entry = found[0]
		return f
	}
	f.entry = found[0]
	f.name = path.Base(f.entry.Path)
	content, err := b.view.ReadEntry(f.entry)
	if err != nil {
		f.failure = fail(codeNotFound, 0, "cannot read "+f.entry.Origin)
		return f
	}
	f.content = content
	file, err := b.docs.Read(b.view.files, f.entry)
	if err == nil {
		f.base = file.Base
		if len(file.Documents) > 0 {
			if n := file.Documents[0].Node(); n.Kind == yaml.MappingNode {
				f.node = n
			}
		}
	}
	pos := f.base
	if err == nil && file.Err != nil {
		pos = file.Err.Pos
	}
	f.k, f.failure = parseKustomization(content, pos, f.node)
	return f
}

// kustomizationFiles returns the entries that kustomize takes for the
// kustomization file of a directory; more than one is an error.
func (b *Builder) kustomizationFiles(dir string) []snapshot.Entry {
	var found []snapshot.Entry
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if e, ok := b.view.Lookup(path.Join(dir, name)); ok && e.IsFile() {
			found = append(found, e)
		}
	}
	return found
}

// parseKustomization reads and checks a kustomization file as kustomize does.
// pos is the place of a syntax error.
func parseKustomization(content []byte, pos position.Pos, node *yaml.Node) (*types.Kustomization, *Failure) {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		message, where := kustomizationError(err, node)
		if where == 0 {
			where = pos
		}
		return nil, fail(codeBadKustomization, where, message)
	}
	return &k, checkKustomization(&k, pos, node)
}

// checkKustomization applies the fixes and checks that follow reading.
func checkKustomization(k *types.Kustomization, pos position.Pos, node *yaml.Node) *Failure {
	k.FixKustomization()
	if k.CheckEmpty() != nil {
		return fail(codeBadKustomization, pos, "the kustomization file is empty")
	}
	if errs := k.EnforceFields(); len(errs) > 0 {
		if n := lookupFold(node, "apiVersion"); n != nil {
			pos = position.Pos(n.Line)
		}
		if n := lookupFold(node, "kind"); n != nil && strings.HasPrefix(errs[0], "kind ") {
			pos = position.Pos(n.Line)
		}
		return fail(codeBadKustomization, pos, "the kustomization file has another type: "+strings.Join(errs, "; "))
	}
	return nil
}

// kustomizationError says what is wrong without quoting values: only the names
// of unknown fields, which are not values, are repeated.
func kustomizationError(err error, node *yaml.Node) (string, position.Pos) {
	s := err.Error()
	if _, field, ok := strings.Cut(s, `unknown field "`); ok {
		field, _, _ = strings.Cut(field, `"`)
		return "the kustomization file has an unknown field " + quoteShort(field), findKey(node, field)
	}
	if _, field, ok := strings.Cut(s, "into Go struct field "); ok {
		field, _, _ = strings.Cut(field, " ")
		name := field[strings.LastIndex(field, ".")+1:]
		return "the kustomization file has a value of the wrong type in " + quoteShort(field), findKey(node, name)
	}
	return "the kustomization file is not valid", 0
}

// findKey returns the line of the first key of that name, wherever it is.
func findKey(n *yaml.Node, name string) position.Pos {
	if n == nil {
		return 0
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if strings.EqualFold(c.Value, name) {
				return position.Pos(c.Line)
			}
			continue
		}
		if p := findKey(c, name); p != 0 {
			return p
		}
	}
	return 0
}

// lookupFold is lookup without regard to case, as encoding/json reads.
func lookupFold(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	if v := lookup(n, name); v != nil {
		return v
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if strings.EqualFold(n.Content[i].Value, name) {
			return n.Content[i+1]
		}
	}
	return nil
}

// item returns element i of a list field, or nil.
func (f *kfile) item(field string, i int) *yaml.Node {
	n := lookupFold(f.node, field)
	if n == nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
		return nil
	}
	return n.Content[i]
}

// at is the line of element i of a list field, or of the field, or the file.
func (f *kfile) at(field string, i int) position.Pos {
	if n := f.item(field, i); n != nil && n.Line != 0 {
		return position.Pos(n.Line)
	}
	return f.field(field)
}

// field is the line of a top-level field, or the file.
func (f *kfile) field(name string) position.Pos {
	if f.node != nil {
		for i := 0; i+1 < len(f.node.Content); i += 2 {
			if strings.EqualFold(f.node.Content[i].Value, name) {
				return position.Pos(f.node.Content[i].Line)
			}
		}
	}
	return f.base
}

// setBy is the line that set a field or an element of the kustomization file as
// it is built: pos, unless the overlay did.
func (f *kfile) setBy(key string, pos position.Pos) position.Pos {
	if p, ok := f.placed[key]; ok {
		return p
	}
	return pos
}

// resourceAt is the line of resources[i]; those past the field are `bases`.
func (f *kfile) resourceAt(i int) position.Pos {
	n := 0
	if r := lookupFold(f.node, "resources"); r != nil {
		n = len(r.Content)
	}
	if i >= n {
		return f.at("bases", i-n)
	}
	return f.at("resources", i)
}

// textPos is the first line of the text of a scalar, which for block scalars
// is the line after the indicator.
func textPos(n *yaml.Node) position.Pos {
	if n.Line != 0 && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return position.Pos(n.Line + 1)
	}
	return position.Pos(n.Line)
}

// base is the position of an entry as a whole.
func (b *Builder) base(e snapshot.Entry) position.Pos {
	f, err := b.docs.Read(b.view.files, e)
	if err != nil {
		return 0
	}
	return f.Base
}

// shown is a directory for people.
func shown(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// quoteShort quotes a name from a file, cut to a harmless length between two
// characters. What is not UTF-8 stays as it is.
func quoteShort(s string) string {
	if len(s) > 60 {
		end := 57
		for end > 57-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "..."
	}
	return `"` + harmless.Replace(s) + `"`
}

// harmless replaces control characters and quotes.
var harmless = func() *strings.Replacer {
	pairs := []string{`"`, "?"}
	for r := range rune(' ') {
		pairs = append(pairs, string(r), "?")
	}
	return strings.NewReplacer(pairs...)
}()

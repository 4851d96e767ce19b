package finding

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// plainValue finds Secrets that stand in the repository in clear: documents,
// whether or not anything applies them, and what generators and inline patches
// put into Secrets. Nothing of a value, nor its key, is ever told.
//
// No value in clear are: an empty one; one that SOPS encrypted or is meant to
// leave as it is; a placeholder, which holds a ${VAR} without a default, is
// <all in brackets> or one character over and over; a reference to a store; what
// begins as an encrypted message; a certificate or public key; true and false.
// SealedSecrets and ExternalSecrets hold none.
var plainValue = &Rule{
	Name:     "reach.secret.plain_value",
	Doc:      "A Secret stands in the repository in clear: whoever may read the repository, now or in its history, has it.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		r := &plainSecrets{model: m, seen: map[position.Pos]bool{}, lands: map[position.Pos][]placement.Object{}}
		for _, o := range m.Objects {
			if isSecret(o.Ref) {
				r.lands[o.Object.Origin] = append(r.lands[o.Object.Origin], o)
			}
		}
		for _, s := range m.Secrets {
			if !isSecret(s.Ref) {
				r.elsewhere++
				continue
			}
			clear := r.document(s)
			switch {
			case clear > 0:
				r.found = append(r.found, plainSecret{s.At, s.Ref, clear})
			case s.SOPS != nil:
				r.elsewhere++
			}
		}
		r.built()
		return r.findings()
	},
}

// AboutSecret reports what stands for a Secret in a repository.
func AboutSecret(r object.Ref) bool {
	switch r.Kind {
	case "SealedSecret", "ExternalSecret", "ClusterExternalSecret":
		return r.Group != ""
	}
	return isSecret(r)
}

func isSecret(r object.Ref) bool { return r.Group == "" && r.Kind == "Secret" }

type plainSecrets struct {
	model *Model
	// seen are the values that documents hold, in clear or not.
	seen  map[position.Pos]bool
	lands map[position.Pos][]placement.Object
	found []plainSecret
	// elsewhere counts the Secrets that are encrypted, or kept in a store.
	elsewhere int
}

type plainSecret struct {
	at     position.Pos
	ref    object.Ref
	values int
}

// document counts the values in clear of a document.
func (r *plainSecrets) document(s WrittenSecret) int {
	n := 0
	meant := encryptedBy(s.SOPS.Node())
	for _, section := range []string{"data", "stringData"} {
		each(field(s.Tree.Node(), section), func(key string, v *yaml.Node) {
			r.seen[position.Pos(v.Line)] = true
			if inClear(key, v, section == "data") && meant(section, key) {
				n++
			}
		})
	}
	return n
}

// built looks at what a build puts into Secrets and no document holds.
func (r *plainSecrets) built() {
	clear := map[position.Pos]map[position.Pos]bool{}
	looked := map[*kustomize.Object]bool{}
	for _, a := range r.model.Applied {
		for _, o := range a.Objects {
			if !isSecret(o.Ref) || looked[o] || field(o.Node(), "sops") != nil {
				continue
			}
			looked[o] = true
			at, content := o.Origin, o.Tree.Open()
			for _, section := range []string{"data", "stringData"} {
				values := field(content.Node, section)
				if field(values, "sops_mac") != nil {
					continue // a file of variables that SOPS encrypted
				}
				each(values, func(key string, v *yaml.Node) {
					pos := position.Pos(v.Line)
					if _, unknown := content.Unknown[v]; unknown || r.seen[pos] || o.Written.Name != "" && pos == 0 || !inClear(key, v, section == "data") {
						return
					}
					pos = cmp.Or(pos, at)
					if clear[at] == nil {
						clear[at] = map[position.Pos]bool{}
						r.found = append(r.found, plainSecret{at: at, ref: o.Ref})
					}
					clear[at][pos] = true
				})
			}
		}
	}
	for i := range r.found {
		if r.found[i].values == 0 {
			r.found[i].values = len(clear[r.found[i].at])
		}
	}
}

func (r *plainSecrets) findings() []Finding {
	m := r.model
	var out []Finding
	for _, s := range r.found {
		f := Finding{
			At: m.Positions.Position(s.at), Kind: s.ref.Kind, Namespace: s.ref.Namespace, Name: s.ref.Name, Count: s.values,
			Message: fmt.Sprintf("%s stands here in clear, with %s", s.ref, plural(s.values, "value", "values")),
			Remedy:  "If it is a secret, consider it known: replace it where it is used, then encrypt it here (SOPS, SealedSecret) or refer to a store (ExternalSecret). If it is none, a ConfigMap says so.",
		}
		var names []cluster.Name
		for _, o := range r.lands[s.at] {
			names = append(names, o.Cluster)
			if len(f.Facts) < mostFacts {
				f.Facts = append(f.Facts, Fact{Cluster: o.Cluster, Text: "lands as " + o.Ref.String() + ", applied by " + o.Applied.Controller(), At: m.Positions.Position(o.Applied.Sync.Pos)})
			}
		}
		if names = clustersOf(names); len(names) > 0 {
			first := r.lands[s.at][0]
			f.Trace, f.Namespace, f.Name = first.Applied.Trace(m.Positions), first.Ref.Namespace, first.Ref.Name
			if len(names) == 1 {
				f.Cluster = names[0]
			}
			f.Message += ", and lands on " + some(names, 6) + "."
		} else {
			f.Message += "; nothing that is known here applies it."
		}
		f.Facts = append(f.Facts, Fact{Text: fmt.Sprintf("in the repository: %s in clear, %d encrypted or in a store",
			plural(len(r.found), "Secret", "Secrets"), r.elsewhere)})
		out = append(out, f)
	}
	return out
}

// each calls f for the scalars of a mapping.
func each(m *yaml.Node, f func(key string, v *yaml.Node)) {
	if m == nil || m.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if v := resolved(m.Content[i+1]); v.Kind == yaml.ScalarNode {
			f(m.Content[i].Value, v)
		}
	}
}

// encryptedBy returns which values SOPS is meant to encrypt: all but those that
// the document's own rules leave (upstream: getsops/sops Tree.shouldBeEncrypted).
// Without SOPS nothing is left.
func encryptedBy(sops *yaml.Node) func(...string) bool {
	rule := func(name string) string { return text(sops, name) }
	match := func(pattern string, path []string) bool {
		re, err := regexp.Compile(pattern)
		return err == nil && slices.ContainsFunc(path, re.MatchString)
	}
	suffix := func(s string, path []string) bool {
		return slices.ContainsFunc(path, func(p string) bool { return strings.HasSuffix(p, s) })
	}
	return func(path ...string) bool {
		if sops == nil {
			return true
		}
		encrypted := true
		if s := rule("unencrypted_suffix"); s != "" && suffix(s, path) {
			encrypted = false
		}
		if s := rule("encrypted_suffix"); s != "" {
			encrypted = suffix(s, path)
		}
		if s := rule("unencrypted_regex"); s != "" && match(s, path) {
			encrypted = false
		}
		if s := rule("encrypted_regex"); s != "" {
			encrypted = match(s, path)
		}
		if rule("encrypted_comment_regex") != "" || rule("unencrypted_comment_regex") != "" {
			encrypted = false // a comment decides, which is not looked at
		}
		return encrypted
	}
}

var (
	variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*([^}]*)\}`) })
	brackets = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(<[^<>]+>|\{\{[^{}]+\}\})$`) })
	// elsewhereKept begins a reference to a store (bank-vaults, vals, 1Password)
	// or an encrypted message.
	elsewhereKept = []string{
		"ENC[", "vault:", "ref+", "op://", "-----BEGIN AGE ENCRYPTED FILE-----", "age-encryption.org/", "-----BEGIN PGP MESSAGE-----", "$ANSIBLE_VAULT;",
	}
)

// inClear reports a value of a Secret that stands in clear.
func inClear(key string, v *yaml.Node, encoded bool) bool {
	value := strings.TrimSpace(v.Value)
	if v.ShortTag() == "!!null" || value == "" || placeholder(value) {
		return false
	}
	if encoded {
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value), ""))
		if err == nil {
			value = strings.TrimSpace(string(decoded))
		}
	}
	switch {
	case value == "" || placeholder(value) || public(key, value):
		return false
	case strings.Contains(value, "ENC[AES256_GCM,") && strings.Contains(value, "sops"):
		return false // a file that SOPS encrypted
	}
	return !slices.ContainsFunc(elsewhereKept, func(p string) bool { return strings.HasPrefix(value, p) })
}

// placeholder reports a value that something else fills in.
func placeholder(value string) bool {
	if brackets().MatchString(value) || strings.Trim(value, value[:1]) == "" {
		return true
	}
	found := variable().FindAllStringSubmatch(value, -1)
	for _, f := range found {
		// ${VAR:=default}, ${VAR:-default}, ${VAR=default}, ${VAR-default}
		operator := strings.TrimLeft(strings.TrimPrefix(f[1], ":"), "-=")
		if f[1] != "" && strings.ContainsAny(f[1][:min(2, len(f[1]))], "-=") && operator != "" {
			return false
		}
	}
	return len(found) > 0
}

// public reports what everybody may know: certificates, public keys, switches.
func public(key, value string) bool {
	if key == "known_hosts" || strings.HasSuffix(key, ".pub") || value == "true" || value == "false" || strings.HasPrefix(value, "ssh-") && !strings.Contains(value, "\n") {
		return true
	}
	if strings.Contains(value, "PRIVATE KEY-----") {
		return false
	}
	return strings.HasPrefix(value, "-----BEGIN CERTIFICATE-----") || strings.HasPrefix(value, "-----BEGIN PUBLIC KEY-----")
}

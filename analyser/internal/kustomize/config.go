package kustomize

import (
	_ "embed"
	"fmt"
	"sort"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// fieldConfig says which fields of which kinds the transformers touch
// (upstream: api/internal/plugins/builtinconfig TransformerConfig). The JSON
// names are the format of `configurations` files. A fieldConfig is immutable
// once it is shared.
type fieldConfig struct {
	NamePrefix                types.FsSlice `json:"namePrefix,omitempty"`
	NameSuffix                types.FsSlice `json:"nameSuffix,omitempty"`
	NameSpace                 types.FsSlice `json:"namespace,omitempty"`
	CommonLabels              types.FsSlice `json:"commonLabels,omitempty"`
	Labels                    types.FsSlice `json:"labels,omitempty"`
	TemplateLabels            types.FsSlice `json:"templateLabels,omitempty"`
	VolumeClaimTemplateLabels types.FsSlice `json:"volumeClaimTemplateLabels,omitempty"`
	CommonAnnotations         types.FsSlice `json:"commonAnnotations,omitempty"`
	NameReference             nameRefs      `json:"nameReference,omitempty"`
	VarReference              types.FsSlice `json:"varReference,omitempty"`
	Images                    types.FsSlice `json:"images,omitempty"`
	Replicas                  types.FsSlice `json:"replicas,omitempty"`

	// complete reports that all defaults are in, so that merging them again
	// changes nothing.
	complete bool
}

// nameRef lists the fields that may hold the name of an object of a kind.
type nameRef struct {
	resid.Gvk `json:",inline,omitempty"`
	Referrers types.FsSlice `json:"fieldSpecs,omitempty"`
}

type nameRefs []nameRef

// The order is upstream's: it decides in which order references are written.
func (s nameRefs) Len() int           { return len(s) }
func (s nameRefs) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s nameRefs) Less(i, j int) bool { return s[i].IsLessThan(s[j].Gvk) }

// specs returns the lists of field specs other than name references, with
// their names, in a fixed order.
func (c *fieldConfig) specs() []namedSpecs {
	return []namedSpecs{
		{"namePrefix", &c.NamePrefix},
		{"nameSuffix", &c.NameSuffix},
		{"namespace", &c.NameSpace},
		{"commonLabels", &c.CommonLabels},
		{"labels", &c.Labels},
		{"templateLabels", &c.TemplateLabels},
		{"volumeClaimTemplateLabels", &c.VolumeClaimTemplateLabels},
		{"commonAnnotations", &c.CommonAnnotations},
		{"varReference", &c.VarReference},
		{"images", &c.Images},
		{"replicas", &c.Replicas},
	}
}

type namedSpecs struct {
	name  string
	specs *types.FsSlice
}

// sort orders all lists as upstream does after each merge.
func (c *fieldConfig) sort() {
	for _, s := range c.specs() {
		sort.Sort(*s.specs)
	}
	sort.Sort(c.NameReference)
}

// merge returns c with everything of o added; specs that differ only in
// whether they create the field are an error. Neither argument is changed.
func (c *fieldConfig) merge(o *fieldConfig) (*fieldConfig, error) {
	if c == o || o == nil || o == defaultConfig() && c.complete || o.isZero() {
		return c, nil
	}
	if c.isZero() && o.complete {
		return o, nil
	}
	m := &fieldConfig{complete: c.complete || o.complete}
	mine, theirs := c.specs(), o.specs()
	for i, out := range m.specs() {
		merged, err := types.FsSlice.MergeAll(mine[i].specs.DeepCopy(), *theirs[i].specs)
		if err != nil {
			return nil, fmt.Errorf("merging %s: %w", out.name, err)
		}
		*out.specs = merged
	}
	refs, err := c.NameReference.merge(o.NameReference)
	if err != nil {
		return nil, fmt.Errorf("merging nameReference: %w", err)
	}
	m.NameReference = refs
	m.sort()
	return m, nil
}

func (c *fieldConfig) isZero() bool {
	for _, s := range c.specs() {
		if len(*s.specs) > 0 {
			return false
		}
	}
	return len(c.NameReference) == 0
}

func (s nameRefs) merge(o nameRefs) (nameRefs, error) {
	out := make(nameRefs, len(s), len(s)+len(o))
	for i, r := range s {
		out[i] = nameRef{r.Gvk, r.Referrers.DeepCopy()}
	}
	for _, r := range o {
		found := false
		for i := range out {
			if !out[i].Equals(r.Gvk) {
				continue
			}
			found = true
			merged, err := out[i].Referrers.MergeAll(r.Referrers)
			if err != nil {
				return nil, err
			}
			out[i].Referrers = merged
		}
		if !found {
			out = append(out, nameRef{r.Gvk, r.Referrers.DeepCopy()})
		}
	}
	return out, nil
}

// parseFieldConfig reads a `configurations` file. Unknown fields and duplicate
// keys are errors, as upstream.
func parseFieldConfig(data []byte) (*fieldConfig, error) {
	var c fieldConfig
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return nil, err
	}
	c.sort()
	return &c, nil
}

//go:embed fieldspecs.txt
var defaultFieldSpecs string

// defaultConfig is what every layer starts from.
var defaultConfig = sync.OnceValue(func() *fieldConfig {
	c, err := parseDefaults(defaultFieldSpecs)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return c
})

// parseDefaults reads fieldspecs.txt; the file explains its format.
func parseDefaults(text string) (*fieldConfig, error) {
	c := &fieldConfig{complete: true}
	lists := map[string]*types.FsSlice{}
	for _, s := range c.specs() {
		lists[s.name] = s.specs
	}
	var into *types.FsSlice
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case len(f) == 2 && f[0] == "list" && lists[f[1]] != nil:
			into = lists[f[1]]
		case len(f) == 2 && f[0] == "referral":
			c.NameReference = append(c.NameReference, nameRef{Gvk: parseGvk(f[1])})
			into = &c.NameReference[len(c.NameReference)-1].Referrers
		case into != nil && (len(f) == 2 || len(f) == 3 && f[2] == "create"):
			*into = append(*into, types.FieldSpec{Gvk: parseGvk(f[0]), Path: f[1], CreateIfNotPresent: len(f) == 3})
		default:
			return nil, fmt.Errorf("line %d: %q", n+1, line)
		}
	}
	return c, nil
}

// parseGvk reads "group/version/kind" with "*" for what is not restricted.
func parseGvk(s string) resid.Gvk {
	p := strings.SplitN(s, "/", 3)
	for i := range p {
		if p[i] == "*" {
			p[i] = ""
		}
	}
	return resid.Gvk{Group: p[0], Version: p[1], Kind: p[2]}
}

func formatGvk(g resid.Gvk) string {
	p := []string{g.Group, g.Version, g.Kind}
	for i := range p {
		if p[i] == "" {
			p[i] = "*"
		}
	}
	return strings.Join(p, "/")
}

// format writes c in the format of fieldspecs.txt, without the comment.
func (c *fieldConfig) format() string {
	var b strings.Builder
	list := func(s types.FsSlice) {
		for _, f := range s {
			fmt.Fprintf(&b, "%s %s", formatGvk(f.Gvk), f.Path)
			if f.CreateIfNotPresent {
				b.WriteString(" create")
			}
			b.WriteByte('\n')
		}
	}
	for _, s := range c.specs() {
		if len(*s.specs) > 0 {
			fmt.Fprintf(&b, "\nlist %s\n", s.name)
			list(*s.specs)
		}
	}
	for _, r := range c.NameReference {
		fmt.Fprintf(&b, "\nreferral %s\n", formatGvk(r.Gvk))
		list(r.Referrers)
	}
	return b.String()
}

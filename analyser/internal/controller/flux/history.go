package flux

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// substituted carries the histories of traced objects over to what substitution
// made of them. in and out are of one length; an object that is in both is as it
// was. out's new objects belong to the caller.
func substituted(in, out []*kustomize.Object) {
	for i, o := range in {
		if o.History == nil || out[i] == o {
			continue
		}
		out[i].History = o.History.Follow(o.Node(), out[i].Node(), func(_ fieldpath.Path, old, _ *yaml.Node) kustomize.Cause {
			c := kustomize.Cause{Kind: kustomize.StepSubstitution, What: "substitute", Pos: o.Origin}
			if old == nil {
				return c
			}
			c.Pos = positionOr(old, o.Origin)
			c.Variables = variablesIn(old.Value)
			if len(c.Variables) > 0 {
				c.Pos = useLine(old, c.Variables[0], o.Origin)
			}
			return c
		})
	}
}

// variablesIn are the variables that a text uses, sorted, each once.
func variablesIn(text string) []string {
	e, err := parseExpression(text)
	if err != nil {
		return nil
	}
	var out []string
	e.uses(func(name string, _ bool) { out = append(out, name) })
	slices.Sort(out)
	return slices.Compact(out)
}

// labelled carries the histories of traced objects over to what the
// spec.commonMetadata of declared made of them.
func labelled(in, out []*kustomize.Object, declared *packed.Tree) {
	for i, o := range in {
		if o.History == nil {
			continue
		}
		common := lookup(lookup(declared.Node(), "spec"), "commonMetadata")
		out[i].History = o.History.Follow(o.Node(), out[i].Node(), func(p fieldpath.Path, _, value *yaml.Node) kustomize.Cause {
			c := kustomize.Cause{Kind: kustomize.StepMetadata, What: "commonMetadata"}
			if len(p) == 3 && value != nil {
				if n := lookup(lookup(common, p[1].Key), p[2].Key); n != nil {
					c.Pos = position.Pos(n.Line)
				}
			}
			return c
		})
	}
}

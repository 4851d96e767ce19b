package census

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/finding"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// reference is how one Flux object names another on its own cluster.
type reference struct {
	owner   object.Ref
	applied *placement.Applied
	field   string
	key     object.Key
	pos     position.Pos
}

// dangling finds references to objects that the build renamed: what they name
// is not on the cluster, and an object that was written with that name is there
// under another.
func (w *worklist) dangling() []finding.Dangling {
	type place struct {
		on  string
		key object.Key
	}
	there, renamed := map[place]bool{}, map[place]string{}
	for _, a := range w.applied {
		for _, o := range a.Objects {
			key := o.Ref.Key()
			if !isReferred(key.GroupKind()) {
				continue
			}
			there[place{string(a.Target), key}] = true
			if written := w.writtenName(o); written != "" && written != key.Name {
				was := key
				was.Name = written
				if p := (place{string(a.Target), was}); renamed[p] == "" || key.Name < renamed[p] {
					renamed[p] = key.Name
				}
			}
		}
	}
	var out []finding.Dangling
	for _, r := range w.references() {
		p := place{string(r.applied.Cluster), r.key}
		if r.owner.Kind == "HelmRelease" {
			p.on = string(r.applied.Target)
		}
		actual := renamed[p]
		if there[p] || actual == "" {
			continue
		}
		out = append(out, finding.Dangling{
			Owner: r.owner, Applied: r.applied, Field: r.field, Kind: r.key.Kind,
			Namespace: r.key.Namespace, Name: r.key.Name, Actual: actual, Pos: r.pos,
		})
	}
	return out
}

func isReferred(k object.GroupKind) bool {
	return k.Group == "" && (k.Kind == "ConfigMap" || k.Kind == "Secret") || k.Group == fluxSourceGroup
}

const fluxSourceGroup = "source.toolkit.fluxcd.io"

// references are what the Kustomizations and HelmReleases of the census read on
// the cluster where they live.
func (w *worklist) references() []reference {
	var out []reference
	for _, a := range w.applied {
		s := a.Sync
		add := func(owner object.Ref, field, group, kind, namespace, name string, pos position.Pos) {
			out = append(out, reference{owner, a, field, object.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}, pos})
		}
		values := func(owner object.Ref, field string, from []controller.VariablesFrom) {
			for _, v := range from {
				add(owner, field, "", v.Kind, owner.Namespace, v.Name, v.Pos)
			}
		}
		kubeConfig := func(owner object.Ref, ref *controller.KubeConfigRef) {
			if ref != nil {
				add(owner, "spec.kubeConfig", "", ref.Kind, ref.Namespace, ref.Name, ref.Pos)
			}
		}
		if a.Object != nil {
			add(s.Object, "spec.sourceRef", fluxSourceGroup, s.Source.Kind, s.Source.Namespace, s.Source.Name, s.Pos)
			values(s.Object, "spec.postBuild.substituteFrom", s.Variables.From)
			kubeConfig(s.Object, s.KubeConfig)
		}
		for _, r := range a.Releases {
			owner := r.Object.Ref
			values(owner, "spec.valuesFrom", r.Release.ValuesFrom)
			kubeConfig(owner, r.Release.KubeConfig)
			if c := r.Release.Chart; c != nil {
				field := "spec.chart.spec.sourceRef"
				if c.Name == "" {
					field = "spec.chartRef"
				}
				add(owner, field, fluxSourceGroup, c.Source.Kind, c.Source.Namespace, c.Source.Name, c.Pos)
			}
		}
	}
	return out
}

// writtenName is the name of an object where it is written: in its document, or
// in the generator's entry of the kustomization file.
func (w *worklist) writtenName(o *kustomize.Object) string {
	if o.Written.Name != "" {
		return o.Written.Name
	}
	e, ok := w.snap.Lookup(w.positions.Position(o.Origin).Path)
	if !ok || !e.IsFile() {
		return ""
	}
	f := w.file(e)
	if f == nil {
		return ""
	}
	for _, d := range f.Documents {
		for _, list := range []string{"configMapGenerator", "secretGenerator"} {
			g := field(d.Node(), list)
			if g == nil || g.Kind != yaml.SequenceNode {
				continue
			}
			for _, entry := range g.Content {
				if name := text(entry, "name"); position.Pos(entry.Line) == o.Origin && generatedFrom(o, name) {
					return name
				}
			}
		}
	}
	return ""
}

// hashSuffix is what kustomize puts behind the name of a generated object.
var hashSuffix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[2456789bcdfghkmt]{10}$`) })

// generatedFrom reports that an object may be what a generator's entry of a
// name makes.
func generatedFrom(o *kustomize.Object, name string) bool {
	return name != "" && slices.ContainsFunc([]string{o.Ref.Name, hashSuffix().ReplaceAllString(o.Ref.Name, "")}, func(s string) bool {
		return strings.Contains(s, name)
	})
}

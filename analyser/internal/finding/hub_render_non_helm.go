package finding

import (
	"slices"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// hubRenderNonHelm finds plain objects among HelmReleases that install into a
// spoke: the objects stay on the hub. Of a Namespace it says how often its
// document creates one on a hub in this way, and what lives in each.
var hubRenderNonHelm = &Rule{
	Name:     "reach.flux.hub_render_layer_non_helm_object",
	Doc:      "A Kustomization that renders HelmReleases for a spoke also applies a plain object, which therefore lands on the hub.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
		namespaces := map[position.Pos][]hubNamespace{}
		var about []position.Pos
		for _, a := range m.Applied {
			if a.Blocked != nil || a.Sync.KubeConfig != nil || a.Root != nil {
				continue
			}
			var spokes []string
			values := map[object.Key]bool{}
			for _, r := range a.Releases {
				if r.Class == placement.RemoteHubRender && !slices.Contains(spokes, string(r.Target)) {
					spokes = append(spokes, string(r.Target))
				}
				for _, v := range r.Release.ValuesFrom {
					values[object.Key{Kind: v.Kind, Namespace: r.Release.Object.Namespace, Name: v.Name}] = true
				}
			}
			if len(spokes) == 0 {
				continue
			}
			slices.Sort(spokes)
			for _, o := range a.Objects {
				if belongsToHub(o.Ref.GroupKind()) || values[o.Ref.Key()] {
					continue
				}
				f := aboutSync(m, a)
				f.At = m.Positions.Position(o.Origin)
				f.Kind, f.Namespace, f.Name = o.Ref.Kind, o.Ref.Namespace, o.Ref.Name
				f.Message = o.Ref.String() + " is applied on " + string(a.Cluster) + " by Kustomization " + a.Controller() +
					", whose HelmReleases install into " + list(spokes) + ": the object is on the hub, not on the spoke."
				f.Remedy = "If it is meant for the spoke, move it into a Kustomization with spec.kubeConfig, or into the chart."
				out, about = append(out, f), append(about, 0)
				if o.Ref.Group == "" && o.Ref.Kind == "Namespace" {
					about[len(about)-1] = o.Origin
					namespaces[o.Origin] = append(namespaces[o.Origin], hubNamespace{a, o.Ref.Name, spokes})
				}
			}
		}
		lives := livesIn(m, len(namespaces) > 0)
		for i := range out {
			if created := namespaces[about[i]]; about[i] != 0 {
				out[i].Message += " Its document creates a Namespace on a hub " + times(len(created)) + "."
				out[i].Facts = hubNamespaceFacts(m, created, lives)
			}
		}
		return out
	},
}

// hubNamespace is a Namespace that a hub-render layer creates on its hub.
type hubNamespace struct {
	applied *placement.Applied
	name    string
	spokes  []string
}

// inhabitants are the objects of a namespace.
type inhabitants struct{ objects, releases int }

func livesIn(m *Model, wanted bool) map[where]inhabitants {
	out := map[where]inhabitants{}
	for _, o := range m.Objects {
		if !wanted || o.Ref.Namespace == "" {
			continue
		}
		w := where{o.Cluster, o.Ref.Namespace}
		n := out[w]
		n.objects++
		if o.Ref.Kind == "HelmRelease" {
			n.releases++
		}
		out[w] = n
	}
	return out
}

// hubNamespaceFacts says of each what is known to live in it on the hub: one
// that holds the HelmReleases is needed there, one that holds nothing may have
// been meant for the spoke.
func hubNamespaceFacts(m *Model, created []hubNamespace, lives map[where]inhabitants) []Fact {
	var out []Fact
	for _, c := range created {
		if len(out) == mostFacts {
			break
		}
		w := where{c.applied.Target, c.name}
		objects, releases := lives[w].objects, lives[w].releases
		text := "Namespace " + c.name + " for " + list(c.spokes) + ": nothing that is known here lives in it on the hub"
		if objects > 0 {
			text = "Namespace " + c.name + " for " + list(c.spokes) + ": " + plural(objects, "object lives", "objects live") + " in it on the hub, " +
				plural(releases, "HelmRelease", "HelmReleases") + " among them"
		}
		out = append(out, Fact{c.applied.Cluster, text + ", applied by " + c.applied.Controller(), m.Positions.Position(c.applied.Sync.Pos)})
	}
	return out
}

// belongsToHub reports kinds that a hub-render layer needs on the hub: what
// Flux's own controllers read there.
func belongsToHub(k object.GroupKind) bool {
	switch k.Group {
	case "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "source.extensions.fluxcd.io",
		"kustomize.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "fluxcd.controlplane.io":
		return true
	}
	return false
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return plural(n, "time", "times")
}

package finding

import (
	"slices"

	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// hubRenderNonHelm finds plain objects among HelmReleases that install into a
// spoke: the objects stay on the hub.
var hubRenderNonHelm = &Rule{
	Name:     "reach.flux.hub_render_layer_non_helm_object",
	Doc:      "A Kustomization that renders HelmReleases for a spoke also applies a plain object, which therefore lands on the hub.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
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
				out = append(out, f)
			}
		}
		return out
	},
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

package census

import (
	"maps"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// facts are what one round of the worklist learned about the clusters and what
// the next round may rely on. Two rounds with equal facts have equal results.
type facts struct {
	clusters map[cluster.Name]*clusterFacts
}

// clusterFacts are the objects on one cluster that other objects refer to.
// Where two Syncs apply one object the first in the order of the worklist
// counts; that they do is a finding.
type clusterFacts struct {
	// syncs and sources by the object that declares them.
	syncs   map[object.Key]*kustomize.Object
	sources map[controller.SourceRef]declaredSource
	// configs are ConfigMaps and Secrets.
	configs map[object.Key]*kustomize.Object
	// controllers are Deployments of Flux controllers, by controller name.
	controllers map[string]*kustomize.Object
	// definitions are CustomResourceDefinitions by the kind that they define.
	definitions map[object.GroupKind]*kustomize.Object
	// named are all Kustomizations and HelmReleases that are declared, those
	// that may never arrive among them, by kind without a version.
	named map[object.Key]bool
	// instance is a FluxInstance.
	instance *kustomize.Object
}

type declaredSource struct {
	object *kustomize.Object
	source *controller.Source
	// artifact is what the ref names when it is an ExternalArtifact and source
	// is the ArtifactGenerator that makes it.
	artifact *controller.GeneratedArtifact
	by       *blockedFact
}

// blockedFact says that the object may not be there at all.
type blockedFact struct{ reason string }

func newFacts() *facts { return &facts{clusters: map[cluster.Name]*clusterFacts{}} }

func (f *facts) on(c cluster.Name) *clusterFacts {
	cf := f.clusters[c]
	if cf == nil {
		cf = &clusterFacts{
			syncs: map[object.Key]*kustomize.Object{}, sources: map[controller.SourceRef]declaredSource{},
			configs: map[object.Key]*kustomize.Object{}, controllers: map[string]*kustomize.Object{},
			definitions: map[object.GroupKind]*kustomize.Object{}, named: map[object.Key]bool{},
		}
		f.clusters[c] = cf
	}
	return cf
}

// equal reports whether both hold the same objects. Builds are memoised, so
// the same object is the same pointer.
func (f *facts) equal(g *facts) bool {
	return maps.EqualFunc(f.clusters, g.clusters, func(a, b *clusterFacts) bool {
		return maps.Equal(a.syncs, b.syncs) && maps.Equal(a.configs, b.configs) &&
			maps.Equal(a.controllers, b.controllers) && maps.Equal(a.definitions, b.definitions) && a.instance == b.instance &&
			maps.EqualFunc(a.sources, b.sources, func(x, y declaredSource) bool { return x.object == y.object })
	})
}

// fluxControllers are the controllers whose Deployments tell that a cluster
// runs Flux, by the name of their image.
var fluxControllers = []string{
	"kustomize-controller", "helm-controller", "source-controller",
	"notification-controller", "image-reflector-controller", "image-automation-controller", "source-watcher",
}

// record keeps what other objects refer to.
func (cf *clusterFacts) record(o *kustomize.Object) {
	key := o.Ref.Key()
	switch {
	case key.Group == "" && (key.Kind == "ConfigMap" || key.Kind == "Secret"):
		if _, ok := cf.configs[key]; !ok {
			cf.configs[key] = o
		}
	case key.Group == "apps" && key.Kind == "Deployment":
		for _, name := range fluxControllers {
			if key.Name == name && cf.controllers[name] == nil && strings.Contains(deploymentImage(o), name) {
				cf.controllers[name] = o
			}
		}
	case key.Group == "apiextensions.k8s.io" && key.Kind == "CustomResourceDefinition":
		k := object.GroupKind{Group: text(o.Node(), "spec", "group"), Kind: text(o.Node(), "spec", "names", "kind")}
		if cf.definitions[k] == nil {
			cf.definitions[k] = o
		}
	case key.Group == "fluxcd.controlplane.io" && key.Kind == "FluxInstance":
		if cf.instance == nil {
			cf.instance = o
		}
	}
}

// knownControllers are the controllers that the cluster runs as far as the
// repository and the user say, sorted, and what says so.
func (w *worklist) knownControllers(c cluster.Name, f *facts) (names []string, evidence string) {
	set := map[string]bool{}
	cf := f.clusters[c]
	if cf != nil {
		for _, n := range slices.Sorted(maps.Keys(cf.controllers)) {
			set[n] = true
			if evidence == "" {
				evidence = "Deployment " + cf.controllers[n].Ref.Namespace + "/" + n
			}
		}
		if cf.instance != nil {
			for _, n := range instanceComponents(cf.instance) {
				set[n] = true
			}
			if evidence == "" {
				evidence = "FluxInstance " + cf.instance.Ref.Namespace + "/" + cf.instance.Ref.Name
			}
		}
	}
	if seen := w.req.Observed.On(c); seen != nil {
		for _, x := range seen.Controllers {
			set[x.Name] = true
			if evidence == "" {
				evidence = "seen running in " + x.Namespace
			}
		}
	}
	for _, s := range w.req.Clusters {
		if s.Cluster == c {
			for _, n := range s.Controllers {
				set[n] = true
			}
			if len(s.Controllers) > 0 && evidence == "" {
				evidence = "stated in the configuration"
			}
		}
	}
	return slices.Sorted(maps.Keys(set)), evidence
}

// runs reports whether a controller is known to run on a cluster, which counts
// for roots too: what reconciles itself runs kustomize-controller.
func (w *worklist) runs(c cluster.Name, controllerName string, f *facts) bool {
	names, _ := w.knownControllers(c, f)
	if slices.Contains(names, controllerName) {
		return true
	}
	return w.rooted[c] && (len(names) == 0 || controllerName == "kustomize-controller" || controllerName == "source-controller")
}

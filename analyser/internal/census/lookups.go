package census

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/observed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/source"
)

// spoke names the cluster behind a reference. A ConfigMap in the repository
// that names the endpoint tells which references lead to one cluster.
func (w *worklist) spoke(on cluster.Name, ref controller.KubeConfigRef) cluster.Name {
	var provider, place string
	if ref.Kind == "ConfigMap" {
		if cf := w.prev.clusters[on]; cf != nil {
			if o := cf.configs[object.Key{Kind: "ConfigMap", Namespace: ref.Namespace, Name: ref.Name}]; o != nil {
				provider = text(o.Node(), "data", "provider")
				place = text(o.Node(), "data", "cluster")
				if place == "" || provider == "generic" {
					place = text(o.Node(), "data", "address")
				}
			}
		}
	}
	if _, key, known := w.kubeConfigKey(on, ref); known {
		ref.Key = key
	}
	return w.registry.Spoke(on, ref, provider, place)
}

// kubeConfigKey is the key of a kubeconfig Secret that a reference means: the
// one that it names, else "value", else "value.yaml" (upstream:
// fluxcd/pkg/runtime/client/impersonator.go). known is false when the Secret is
// not in the repository; ok is false when it has no such key. Keys of a Secret
// can be read even when SOPS encrypted its values.
func (w *worklist) kubeConfigKey(on cluster.Name, ref controller.KubeConfigRef) (ok bool, key string, known bool) {
	cf := w.prev.clusters[on]
	if cf == nil || ref.Kind != "Secret" {
		return false, "", false
	}
	o := cf.configs[object.Key{Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name}]
	if o == nil || o.UnknownName {
		return false, "", false
	}
	has := func(k string) bool {
		return field(o.Node(), "data", k) != nil || field(o.Node(), "stringData", k) != nil
	}
	if ref.Key != "" {
		return has(ref.Key), ref.Key, true
	}
	for _, k := range []string{"value", "value.yaml"} {
		if has(k) {
			return true, k, true
		}
	}
	return false, "", true
}

// variables are the values that a Sync substitutes, read where its controller
// reads them: in its namespace on its own cluster. complete is false when a
// ConfigMap or Secret is not in the repository or cannot be read there.
func (w *worklist) variables(a *placement.Applied) (vars map[string]string, complete bool) {
	v := a.Sync.Variables
	vars, complete = map[string]string{}, true
	for _, from := range v.From {
		key := object.Key{Kind: from.Kind, Namespace: a.Sync.Object.Namespace, Name: from.Name}
		var o *kustomize.Object
		if cf := w.prev.clusters[a.Cluster]; cf != nil {
			o = cf.configs[key]
		}
		if o == nil {
			complete = false
			continue
		}
		values, whole := flux.VariablesOf(o)
		complete = complete && whole
		for k, val := range values {
			vars[k] = val
		}
	}
	for k, val := range v.Inline {
		vars[k] = val
	}
	return vars, complete
}

// secretVariables are the names of the variables that a Sync takes from
// Secrets: those of which the last source is one.
func (w *worklist) secretVariables(a *placement.Applied) []string {
	secret := map[string]bool{}
	for _, from := range a.Sync.Variables.From {
		key := object.Key{Kind: from.Kind, Namespace: a.Sync.Object.Namespace, Name: from.Name}
		if cf := w.prev.clusters[a.Cluster]; cf != nil && cf.configs[key] != nil {
			values, _ := flux.VariablesOf(cf.configs[key])
			for name := range values {
				secret[name] = from.Kind == "Secret"
			}
		}
	}
	var out []string
	for name, is := range secret {
		if _, inline := a.Sync.Variables.Inline[name]; is && !inline {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// missingVariables names the ConfigMaps and Secrets that a Sync substitutes
// from and that are not at the place where its controller reads them.
func (w *worklist) missingVariables(a *placement.Applied) []controller.VariablesFrom {
	var out []controller.VariablesFrom
	for _, from := range a.Sync.Variables.From {
		key := object.Key{Kind: from.Kind, Namespace: a.Sync.Object.Namespace, Name: from.Name}
		if cf := w.prev.clusters[a.Cluster]; cf == nil || cf.configs[key] == nil {
			out = append(out, from)
		}
	}
	return out
}

const strictGate = "StrictPostBuildSubstitutions"

// strict reports whether an undeclared variable fails a build on a cluster:
// from kustomize-controller 1.9 on, unless the feature gate is off (upstream:
// kustomize-controller internal/features). An unknown version counts as a
// current one.
func (w *worklist) strict(on cluster.Name) bool {
	version, gates, _ := w.kustomizeController(on)
	if g, ok := gates[strictGate]; ok {
		return g
	}
	if version == "" {
		return true
	}
	major, minor, ok := majorMinor(version)
	return !ok || major > 1 || major == 1 && minor >= 9
}

// kustomizeController is the version and the feature gates of the controller
// that reconciles Kustomizations on a cluster, as far as the repository or the
// user says; known is false when neither says the version.
func (w *worklist) kustomizeController(on cluster.Name) (version string, gates map[string]bool, known bool) {
	gates = map[string]bool{}
	if cf := w.prev.clusters[on]; cf != nil {
		if d := cf.controllers["kustomize-controller"]; d != nil {
			version = imageVersion(deploymentImage(d))
			for _, arg := range controllerArgs(d) {
				if v, ok := strings.CutPrefix(arg, "--feature-gates="); ok {
					for g := range strings.SplitSeq(v, ",") {
						name, on, _ := strings.Cut(g, "=")
						if b, err := strconv.ParseBool(on); err == nil {
							gates[name] = b
						}
					}
				}
			}
		}
	}
	for _, s := range w.req.Clusters {
		if s.Cluster != on {
			continue
		}
		if s.KustomizeControllerVersion != "" {
			version = strings.TrimPrefix(s.KustomizeControllerVersion, "v")
		}
		for g, b := range s.FeatureGates {
			gates[g] = b
		}
	}
	if seen := w.running(on, "kustomize-controller"); seen != nil {
		version = cmp.Or(seen.Version, version)
		maps.Copy(gates, seen.FeatureGates)
	}
	return version, gates, version != ""
}

// running is a controller that was seen on a cluster; what runs there counts more
// than what the repository says.
func (w *worklist) running(on cluster.Name, name string) *observed.Controller {
	c := w.req.Observed.On(on)
	if c == nil {
		return nil
	}
	for i := range c.Controllers {
		if c.Controllers[i].Name == name {
			return &c.Controllers[i]
		}
	}
	return nil
}

func (w *worklist) noRemoteBases(on cluster.Name) bool {
	if seen := w.running(on, "kustomize-controller"); seen != nil {
		return flagOn(seen.Args, "--no-remote-bases")
	}
	if cf := w.prev.clusters[on]; cf != nil {
		if d := cf.controllers["kustomize-controller"]; d != nil {
			return hasFlag(d, "--no-remote-bases")
		}
	}
	return false
}

// hasFlag reports that a controller runs with a boolean flag on; the last one
// counts.
func hasFlag(d *kustomize.Object, flag string) bool { return flagOn(controllerArgs(d), flag) }

func flagOn(args []string, flag string) bool {
	on := false
	for _, arg := range args {
		if name, value, set := strings.Cut(arg, "="); name == flag {
			b, err := strconv.ParseBool(value)
			on = !set || err == nil && b
		}
	}
	return on
}

func controllerArgs(d *kustomize.Object) []string {
	var out []string
	for _, c := range containers(d) {
		for _, list := range []string{"command", "args"} {
			if f := field(c, list); f != nil {
				for _, n := range f.Content {
					out = append(out, n.Value)
				}
			}
		}
	}
	return out
}

func majorMinor(version string) (major, minor int, ok bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return major, minor, err1 == nil && err2 == nil
}

func sourceObject(ref controller.SourceRef) object.Ref {
	return object.Ref{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// release decides where a HelmRelease installs.
func (w *worklist) release(a *placement.Applied, o *kustomize.Object, r *controller.Release) *placement.Release {
	out := &placement.Release{
		Cluster: a.Target, Target: a.Target, Release: r, Object: o, Applied: a,
		Class: placement.Local, Outcome: placement.Outcome{State: placement.Resolved},
	}
	remote := a.Target != a.Cluster
	switch {
	case r.Problem != nil:
		out.Outcome = placement.Outcome{State: placement.StateUnresolved, Reason: r.Problem.Code, Detail: r.Problem.Message, Pos: r.Problem.Pos}
	case remote && !w.runs(a.Target, "helm-controller", w.prev):
		// The HelmRelease is an object on the spoke; nothing is known to
		// install its chart there.
		out.Class = placement.RemoteDirect
		out.Outcome = placement.Outcome{
			State: placement.SpokeApplied, Reason: "controller_unknown", Pos: r.Pos,
			Detail: "the HelmRelease is applied to " + string(a.Target) + ", where nothing shows that helm-controller runs",
		}
	case r.Chart != nil && w.chartDenied(out):
	case r.Suspend:
		out.Outcome = placement.Outcome{
			State: placement.Suspended, Reason: "suspended", Pos: r.Pos,
			Detail: "spec.suspend is true: the release stays as it was installed last",
		}
	}
	if r.KubeConfig != nil {
		out.Target = w.spoke(a.Target, *r.KubeConfig)
		if ok, _, known := w.kubeConfigKey(a.Target, *r.KubeConfig); known && !ok && out.State == placement.Resolved {
			out.Class, out.Outcome = placement.Unresolved, noKey(*r.KubeConfig)
		}
		if out.State != placement.SpokeApplied && out.Class != placement.Unresolved {
			out.Class = placement.RemoteHubRender
		}
	}
	if a.Blocked != nil {
		out.Class = placement.Unresolved
		out.Outcome = *a.Blocked
	}
	w.chart(out)
	return out
}

// chartDenied reports a chart in another namespace that helm-controller refuses
// to read.
func (w *worklist) chartDenied(out *placement.Release) bool {
	c := out.Release.Chart
	detail, denied := w.denied(out.Cluster, "helm-controller", out.Release.Object.Namespace, c.Source)
	if denied {
		out.Outcome = placement.Outcome{State: placement.Failed, Reason: "access_denied", Detail: detail, Pos: c.Pos}
		out.ChartBlocked = &out.Outcome
	}
	return denied
}

// chart finds the files of this repository that a release installs.
func (w *worklist) chart(out *placement.Release) {
	c := out.Release.Chart
	if c == nil {
		return
	}
	if c.Source.Kind == "HelmChart" {
		d, ok := w.sourceOn(out.Cluster, c.Source)
		if !ok || d.source.Chart == nil {
			return
		}
		c = d.source.Chart
	}
	if c.Source.Kind == "HelmRepository" || c.Source.Kind == "" {
		return
	}
	view, o := w.view(out.Cluster, c.Source, 0)
	if view == nil {
		return
	}
	if o.State != placement.Resolved {
		out.ChartBlocked = &o
	}
	engine := w.engine(out.Release.Engine)
	dir := engine.Directory(c.Name)
	if p := source.Unknown(view, dir); p != nil {
		o := unknownPart(p)
		out.ChartBlocked = &o
	}
	values := map[string]bool{}
	for _, f := range c.ValuesFiles {
		f = engine.Directory(f)
		values[f] = true
		if e, ok := view.Lookup(f); (!ok || !e.IsFile()) && !c.IgnoreMissingValuesFiles && source.Unknown(view, f) == nil && out.ChartBlocked == nil && out.State == placement.Resolved {
			out.Outcome = placement.Outcome{
				State: placement.PathMissing, Reason: "path_missing", Pos: c.Pos,
				Detail: "there is no values file " + quote(f) + " in the artifact of " + c.Source.String(),
			}
			out.ChartBlocked = &out.Outcome
		}
	}
	detail := gate(c)
	for _, e := range view.Below(dir) {
		role := kustomize.RoleOther
		if values[e.Path] || len(values) == 0 && e.Path == joined(dir, "values.yaml") {
			role = kustomize.RoleValues
		}
		delete(values, e.Path)
		out.Files = append(out.Files, placement.ChartFile{Path: e.Origin, Role: role, Detail: detail, Pos: c.Pos})
	}
	for f := range values {
		if e, ok := view.Lookup(f); ok {
			out.Files = append(out.Files, placement.ChartFile{Path: e.Origin, Role: kustomize.RoleValues, Detail: detail, Pos: c.Pos})
		}
	}
	if len(out.Files) == 0 && out.ChartBlocked == nil && out.State == placement.Resolved {
		out.Outcome = placement.Outcome{
			State: placement.PathMissing, Reason: "path_missing", Pos: c.Pos,
			Detail: "there is no directory " + quote(dir) + " in the artifact of " + c.Source.String(),
		}
	}
}

// gate is what a change of a chart's files waits for (upstream: source-controller
// reconcileStrategy; the default keeps a chart until its version changes, and
// spec.chart.spec.version is ignored for charts that are not in a
// HelmRepository).
func gate(c *controller.Chart) string {
	switch c.ReconcileStrategy {
	case "ChartVersion":
		return "reconcileStrategy ChartVersion: a change reaches the cluster only with a new version in Chart.yaml"
	case "Revision":
		return "reconcileStrategy Revision: every new revision of the source is a new chart"
	}
	return ""
}

func joined(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

package finding

// helmReleaseUnderKubeConfig finds HelmReleases that are themselves applied to
// a spoke.
var helmReleaseUnderKubeConfig = &Rule{
	Name:     "reach.flux.helmrelease_under_kubeconfig",
	Doc:      "A HelmRelease inside a layer that is applied to a spoke lands there as an object: without Flux on the spoke its kind does not exist and the whole Kustomization fails.",
	Severity: Fatal,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.Sync.KubeConfig == nil {
				continue
			}
			for _, r := range a.Releases {
				f := aboutSync(m, a)
				f.At = m.Positions.Position(r.Object.Origin)
				f.Cluster, f.Kind = a.Target, r.Object.Ref.Kind
				f.Namespace, f.Name = r.Object.Ref.Namespace, r.Object.Ref.Name
				f.Trace = r.Trace(m.Positions)
				f.Message = "HelmRelease " + r.Controller() + " is applied to " + string(a.Target) + " through the kubeConfig of Kustomization " + a.Controller()
				if m.Runs(a.Target, "helm-controller") {
					f.Severity = Info
					f.Message += "; helm-controller runs there and reads its sources there."
					f.Remedy = "Nothing, if the spoke is meant to install the chart itself."
				} else {
					f.Message += ", and nothing shows that helm-controller runs there: without the CRD the whole Kustomization fails, without the controller nothing is installed."
					f.Remedy = "Apply the HelmRelease on the hub with spec.kubeConfig of its own, or install Flux on the spoke and say so under clusters in the configuration."
				}
				out = append(out, f)
			}
		}
		return out
	},
}

// kustomizationUnderKubeConfig finds Kustomizations that are themselves
// applied to a spoke.
var kustomizationUnderKubeConfig = &Rule{
	Name:     "reach.flux.kustomization_under_kubeconfig",
	Doc:      "A Kustomization inside a layer that is applied to a spoke lands there as an object: without Flux on the spoke its kind does not exist and the parent fails.",
	Severity: Fatal,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			p := a.Parent
			if p == nil || p.Sync.KubeConfig == nil {
				continue
			}
			f := aboutSync(m, a)
			f.Message = "Kustomization " + a.Controller() + " is applied to " + string(a.Cluster) + " through the kubeConfig of Kustomization " + p.Controller()
			if m.Runs(a.Cluster, "kustomize-controller") {
				f.Severity = Info
				f.Message += "; kustomize-controller runs there and reads its sources there."
				f.Remedy = "Nothing, if the spoke is meant to reconcile it itself."
			} else {
				f.Message += ", and nothing shows that kustomize-controller runs there: without the CRD the parent fails, without the controller nothing is applied."
				f.Remedy = "Apply it on the hub with spec.kubeConfig of its own, or install Flux on the spoke and say so under clusters in the configuration."
			}
			out = append(out, f)
		}
		return out
	},
}

package flux

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

// readHelmRelease reads a HelmRelease (upstream: helm-controller/api v2,
// v2beta2, v2beta1).
func readHelmRelease(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	ns := r.obj.Ref.Namespace
	h := controller.Release{Engine: Name, Object: r.obj.Ref, Pos: r.obj.Origin}

	spec.get("interval").required().duration()
	h.Suspend = spec.get("suspend").boolean()
	h.KubeConfig = readKubeConfig(spec.get("kubeConfig"), ns)
	h.DependsOn = readDependsOn(spec.get("dependsOn"), r.obj.Ref.Kind, ns)

	target := spec.get("targetNamespace").between(1, 63)
	h.ReleaseName = shortName(releaseName(spec.get("releaseName").between(1, 53), target, r.obj.Ref.Name))
	h.ReleaseNamespace = or(target, ns)
	h.StorageNamespace = or(spec.get("storageNamespace").between(1, 63), ns)
	for _, e := range spec.get("valuesFrom").list() {
		h.ValuesFrom = append(h.ValuesFrom, controller.VariablesFrom{
			Kind:     e.get("kind").required().oneOf("Secret", "ConfigMap"),
			Name:     e.get("name").required().between(1, 253),
			Optional: e.get("optional").boolean(),
			Pos:      e.pos(),
		})
	}
	h.Chart = readChart(spec, ns)
	h.Problem = r.problem()
	d.Releases = append(d.Releases, h)
}

// releaseName is the name before it is shortened (upstream:
// HelmRelease.GetReleaseName).
func releaseName(explicit, target, name string) string {
	switch {
	case explicit != "":
		return explicit
	case target != "":
		return target + "-" + name
	}
	return name
}

// shortName fits a release name into Helm's 53 characters: the first 40, a
// dash and 12 digits of the SHA-256 of the whole (upstream: helm-controller
// internal/release ShortenName).
func shortName(name string) string {
	const limit, digits = 53, 12
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:limit-digits-1] + "-" + hex.EncodeToString(sum[:])[:digits]
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// readChart reads spec.chart or spec.chartRef, of which the CRD wants exactly
// one.
func readChart(spec field, ns string) *controller.Chart {
	chart, ref := spec.get("chart"), spec.get("chartRef")
	switch {
	case chart.set() && ref.set():
		spec.r.fail("invalid_spec", max(chart.pos(), ref.pos()), "either spec.chart or spec.chartRef must be set, not both")
	case ref.set():
		return &controller.Chart{
			Source: readSourceRef(ref, ns, "OCIRepository", "HelmChart", "ExternalArtifact"),
			Pos:    ref.pos(),
		}
	case !chart.set():
		spec.r.fail("invalid_spec", spec.pos(), "either spec.chart or spec.chartRef must be set")
		return nil
	}
	return chartTemplate(chart.get("spec").required(), ns)
}

// chartTemplate reads a chart specification: that of a HelmRelease's
// spec.chart or that of a HelmChart. valuesFile is the deprecated field of the
// beta versions; it is merged first.
func chartTemplate(f field, ns string) *controller.Chart {
	c := &controller.Chart{
		Name:                     f.get("chart").required().between(1, 2048),
		Version:                  f.get("version").text(),
		Source:                   readSourceRef(f.get("sourceRef").required(), ns, "HelmRepository", "GitRepository", "Bucket"),
		ReconcileStrategy:        or(f.get("reconcileStrategy").oneOf("ChartVersion", "Revision"), "ChartVersion"),
		IgnoreMissingValuesFiles: f.get("ignoreMissingValuesFiles").boolean(),
		Pos:                      f.pos(),
	}
	if v := f.get("valuesFile").text(); v != "" {
		c.ValuesFiles = append(c.ValuesFiles, v)
	}
	c.ValuesFiles = append(c.ValuesFiles, f.get("valuesFiles").texts()...)
	return c
}

package observe

import (
	"context"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// kindOf names the kind of something that is read whole, also where the server
// does not serve it.
func kindOf(read session.Read) string { return kinds[read.Group+"/"+read.Resource] }

var kinds = map[string]string{
	"kustomize.toolkit.fluxcd.io/kustomizations": "Kustomization", "helm.toolkit.fluxcd.io/helmreleases": "HelmRelease",
	"fluxcd.controlplane.io/resourcesets": "ResourceSet", "fluxcd.controlplane.io/fluxinstances": "FluxInstance",
	"source.toolkit.fluxcd.io/gitrepositories": "GitRepository", "source.toolkit.fluxcd.io/ocirepositories": "OCIRepository",
	"source.toolkit.fluxcd.io/buckets": "Bucket", "source.toolkit.fluxcd.io/helmrepositories": "HelmRepository",
	"source.toolkit.fluxcd.io/helmcharts": "HelmChart", "source.toolkit.fluxcd.io/externalartifacts": "ExternalArtifact",
	"apps/deployments": "Deployment", "/nodes": "Node",
	"config.openshift.io/infrastructures": "Infrastructure", "config.openshift.io/clusterversions": "ClusterVersion",
	"config.openshift.io/ingresses": "Ingress", "config.openshift.io/networks": "Network",
	"config.openshift.io/clusteroperators": "ClusterOperator", "operator.openshift.io/ingresscontrollers": "IngressController",
	"machineconfiguration.openshift.io/machineconfigpools": "MachineConfigPool",
	"operators.coreos.com/subscriptions":                   "Subscription", "operators.coreos.com/clusterserviceversions": "ClusterServiceVersion",
}

// whole are the jobs that read what reads.txt names.
func (r *reader) whole(read session.Read, k session.Kind) []job {
	one := func(j job) []job { return []job{j} }
	switch k.Kind {
	case "Kustomization", "HelmRelease", "ResourceSet", "FluxInstance":
		return each(r, read, k, func(b *buffer, h holder) { r.holderFacts(b, k, h) })
	case "GitRepository", "OCIRepository", "Bucket", "HelmRepository", "HelmChart", "ExternalArtifact":
		return each(r, read, k, func(b *buffer, s source) { b.add(sourceFact(k, s)) })
	case "Deployment":
		return each(r, read, k, func(b *buffer, d deployment) { b.add(controllerFact(d)) })
	case "ClusterOperator":
		return each(r, read, k, func(b *buffer, o clusterOperator) { b.add(o.fact()) })
	case "IngressController":
		return each(r, read, k, func(b *buffer, i ingress) { b.add(i.fact()) })
	case "MachineConfigPool":
		return each(r, read, k, func(b *buffer, p machineConfigPool) { b.add(p.fact()) })
	case "Subscription":
		return each(r, read, k, func(b *buffer, s subscription) { b.add(s.fact()) })
	case "ClusterServiceVersion":
		return each(r, read, k, func(b *buffer, v clusterServiceVersion) { b.add(v.fact()) })
	case "Node":
		return one(func(ctx context.Context, b *buffer) { r.nodes(ctx, b, k) })
	case "Infrastructure":
		return one(single[infrastructure](r, read, k))
	case "ClusterVersion":
		return one(single[clusterVersion](r, read, k))
	case "Ingress":
		return one(single[ingress](r, read, k))
	case "Network":
		return one(single[network](r, read, k))
	}
	// A server that serves another kind under the name.
	reading := reading(k)
	reading.Name, reading.Selector = read.Name, read.Selector
	reading.Outcome, reading.Detail = reachv1.Outcome_OUTCOME_MALFORMED, "the server serves another kind by that name"
	return one(func(_ context.Context, b *buffer) { b.reading(reading) })
}

// each lists a kind in every namespace that is read.
func each[T named](r *reader, read session.Read, k session.Kind, tell func(*buffer, T)) []job {
	var out []job
	for _, namespace := range r.namespaces(k) {
		q := session.Query{Resource: where(k), Namespace: namespace, Selector: read.Selector, Whole: true}
		out = append(out, func(ctx context.Context, b *buffer) {
			list(ctx, r, b, k, q, func(item T) { tell(b, item) })
		})
	}
	return out
}

// single gets the one object of a kind.
func single[T interface{ fact() *reachv1.Fact }](r *reader, read session.Read, k session.Kind) job {
	return func(ctx context.Context, b *buffer) {
		get(ctx, r, b, k, read.Name, func(v T) { b.add(v.fact()) })
	}
}

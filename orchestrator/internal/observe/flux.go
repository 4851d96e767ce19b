package observe

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// condition is a condition of a status; its message is not read.
type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	LastTransitionTime stamp  `json:"lastTransitionTime"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// word is a reason as the API conventions want it: CamelCase, no sentence.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_,:]{0,127}$`) })

func conditions(all []condition) []*reachv1.Condition {
	var out []*reachv1.Condition
	for _, c := range all[:min(len(all), 32)] {
		if !word().MatchString(c.Type) {
			continue
		}
		if !word().MatchString(c.Reason) {
			c.Reason = ""
		}
		out = append(out, &reachv1.Condition{
			Type: c.Type, Status: clip(c.Status, 16), Reason: c.Reason,
			LastTransition: c.LastTransitionTime.proto(), ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

// reference is a reference of Flux to an object.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
}

const sourceGroup = "source.toolkit.fluxcd.io"

// to is the reference of an object in namespace, nil for none.
func (r reference) to(namespace string) *reachv1.ObjectReference {
	if r.Name == "" {
		return nil
	}
	group := sourceGroup
	if r.APIVersion != "" {
		group, _ = groupVersion(r.APIVersion)
	}
	if r.Namespace == "" {
		r.Namespace = namespace
	}
	return &reachv1.ObjectReference{Group: group, Kind: clip(r.Kind, maxName), Namespace: clip(r.Namespace, maxName), Name: clip(r.Name, maxName)}
}

// holder is an object with an inventory: a Kustomization, a HelmRelease, a
// ResourceSet, a FluxInstance. They use the same names for the same things.
type holder struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Suspend         bool      `json:"suspend"`
		Prune           *bool     `json:"prune"`
		DeletionPolicy  string    `json:"deletionPolicy"`
		SourceRef       reference `json:"sourceRef"`
		ChartRef        reference `json:"chartRef"`
		Path            string    `json:"path"`
		TargetNamespace string    `json:"targetNamespace"`
		Chart           struct {
			Spec struct {
				SourceRef reference `json:"sourceRef"`
			} `json:"spec"`
		} `json:"chart"`
		KubeConfig struct {
			SecretRef struct {
				Name string `json:"name"`
				Key  string `json:"key"`
			} `json:"secretRef"`
			ConfigMapRef struct {
				Name string `json:"name"`
			} `json:"configMapRef"`
		} `json:"kubeConfig"`
		ReleaseName      string `json:"releaseName"`
		StorageNamespace string `json:"storageNamespace"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration    int64       `json:"observedGeneration"`
		Conditions            []condition `json:"conditions"`
		LastAppliedRevision   string      `json:"lastAppliedRevision"`
		LastAttemptedRevision string      `json:"lastAttemptedRevision"`
		LastOrigin            string      `json:"lastAppliedOriginRevision"`
		Inventory             *struct {
			Entries []struct {
				ID string `json:"id"`
				V  string `json:"v"`
			} `json:"entries"`
		} `json:"inventory"`
		History []struct {
			Name         string `json:"name"`
			Namespace    string `json:"namespace"`
			ChartName    string `json:"chartName"`
			ChartVersion string `json:"chartVersion"`
			Version      int32  `json:"version"`
			Status       string `json:"status"`
		} `json:"history"`
	} `json:"status"`
}

func (h holder) meta() *metadata { return &h.Metadata }

// holderFacts tells of an object with an inventory, and of the inventory.
func (r *reader) holderFacts(b *buffer, k session.Kind, h holder) {
	m, spec, status := &h.Metadata, &h.Spec, &h.Status
	f := &reachv1.InventoryHolder{
		Group: k.Group, Version: k.Version, Kind: k.Kind, Namespace: m.Namespace, Name: m.Name, Uid: clip(m.UID, 128),
		Generation: m.Generation, ObservedGeneration: status.ObservedGeneration, Conditions: conditions(status.Conditions),
		Suspend: spec.Suspend, Prune: spec.Prune, DeletionPolicy: clip(spec.DeletionPolicy, 64),
		Created: m.CreationTimestamp.proto(), Deleted: m.DeletionTimestamp.proto(),
		Source: spec.SourceRef.to(m.Namespace), Path: clip(spec.Path, 4096), TargetNamespace: clip(spec.TargetNamespace, maxName),
		LastAppliedRevision: clip(status.LastAppliedRevision, maxText), LastAttemptedRevision: clip(status.LastAttemptedRevision, maxText),
		LastAppliedOriginRevision: clip(status.LastOrigin, maxText),
		ReleaseName:               clip(spec.ReleaseName, maxName), StorageNamespace: clip(spec.StorageNamespace, maxName),
		HasInventory: status.Inventory != nil, Labels: telling(m.Labels), Annotations: telling(m.Annotations),
	}
	for _, ref := range []reference{spec.ChartRef, spec.Chart.Spec.SourceRef} {
		if f.Source == nil {
			f.Source = ref.to(m.Namespace)
		}
	}
	switch secret, config := spec.KubeConfig.SecretRef, spec.KubeConfig.ConfigMapRef; {
	case secret.Name != "":
		f.KubeConfig = &reachv1.ObjectReference{Kind: "Secret", Namespace: m.Namespace, Name: clip(secret.Name, maxName)}
		f.KubeConfigKey = clip(secret.Key, maxName)
	case config.Name != "":
		f.KubeConfig = &reachv1.ObjectReference{Kind: "ConfigMap", Namespace: m.Namespace, Name: clip(config.Name, maxName)}
	}
	for _, release := range status.History {
		if f.Release == nil || release.Version > f.Release.Revision {
			f.Release = &reachv1.ReleaseFact{
				Name: clip(release.Name, maxName), Namespace: clip(release.Namespace, maxName), Chart: clip(release.ChartName, maxName),
				ChartVersion: clip(release.ChartVersion, 128), Revision: release.Version, Status: clip(release.Status, 64),
			}
		}
	}
	var entries []*reachv1.InventoryEntry
	if status.Inventory != nil {
		f.Entries = int64(len(status.Inventory.Entries))
		// When they are too many none is told: the analyser sees that some are
		// missing and says nothing about any.
		if r.room(len(status.Inventory.Entries)) {
			for _, e := range status.Inventory.Entries {
				entries = append(entries, &reachv1.InventoryEntry{Id: clip(e.ID, maxText), V: clip(e.V, 64)})
			}
		}
	}
	b.add(&reachv1.Fact{Fact: &reachv1.Fact_Holder{Holder: f}})
	b.entries(&reachv1.ObjectReference{Group: k.Group, Kind: k.Kind, Namespace: m.Namespace, Name: m.Name}, entries)
}

// source is a source object.
type source struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		URL        string            `json:"url"`
		Endpoint   string            `json:"endpoint"`
		BucketName string            `json:"bucketName"`
		Ref        map[string]string `json:"ref"`
		Suspend    bool              `json:"suspend"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		Conditions         []condition `json:"conditions"`
		Artifact           struct {
			Revision       string `json:"revision"`
			LastUpdateTime stamp  `json:"lastUpdateTime"`
			// Of what a registry says of an artifact only this is read.
			Metadata struct {
				Origin string `json:"org.opencontainers.image.revision"`
			} `json:"metadata"`
		} `json:"artifact"`
	} `json:"status"`
}

func (s source) meta() *metadata { return &s.Metadata }

func sourceFact(k session.Kind, s source) *reachv1.Fact {
	m := &s.Metadata
	f := &reachv1.SourceFact{
		Group: k.Group, Version: k.Version, Kind: k.Kind, Namespace: m.Namespace, Name: m.Name,
		Url: withoutUser(s.Spec.URL), Revision: clip(s.Status.Artifact.Revision, maxText), Updated: s.Status.Artifact.LastUpdateTime.proto(),
		OriginRevision: clip(s.Status.Artifact.Metadata.Origin, maxText),
		Generation:     m.Generation, ObservedGeneration: s.Status.ObservedGeneration, Suspend: s.Spec.Suspend, Conditions: conditions(s.Status.Conditions),
	}
	if s.Spec.BucketName != "" {
		f.Url = withoutUser(path.Join(s.Spec.Endpoint, s.Spec.BucketName))
	}
	// The order of precedence of source-controller's API; for OCI digest, semver,
	// tag.
	for _, key := range []string{"commit", "digest", "name", "semver", "tag", "branch"} {
		if v := s.Spec.Ref[key]; v != "" && f.Ref == "" {
			f.Ref = clip(key+":"+v, maxText)
		}
	}
	return &reachv1.Fact{Fact: &reachv1.Fact_Source{Source: f}}
}

// withoutUser is a URL without user, password, parameters and fragment; "" when
// it cannot be told whether it has any.
func withoutUser(s string) string {
	if !strings.Contains(s, "://") {
		// git@host:path, or host/bucket
		s = s[strings.LastIndex(s, "@")+1:]
		s, _, _ = strings.Cut(s, "?")
		return clip(s, maxText)
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return clip(u.String(), maxText)
}

// deployment is that of a controller; its environment is not read.
type deployment struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Image string   `json:"image"`
					Args  []string `json:"args"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ReadyReplicas int32 `json:"readyReplicas"`
	} `json:"status"`
}

func (d deployment) meta() *metadata { return &d.Metadata }

// controllerArgs are the arguments that are told, beside feature gates.
var controllerArgs = []string{"--no-cross-namespace-refs", "--no-remote-bases", "--watch-all-namespaces", "--watch-label-selector"}

// controllerFact tells of the controller of a Deployment, the one whose image is
// named after a controller.
func controllerFact(d deployment) *reachv1.Fact {
	f := &reachv1.ControllerFact{Name: d.Metadata.Name, Namespace: d.Metadata.Namespace, ReadyReplicas: d.Status.ReadyReplicas}
	containers := d.Spec.Template.Spec.Containers
	for i, c := range containers {
		name, version := image(c.Image)
		controller := strings.HasSuffix(name, "-controller") || name == "flux-operator"
		if !controller && (i > 0 || len(containers) > 1) {
			continue
		}
		if controller {
			f.Name = name
		}
		f.Version = version
		for j, arg := range c.Args {
			key, value, ok := strings.Cut(arg, "=")
			if !ok && j+1 < len(c.Args) && !strings.HasPrefix(c.Args[j+1], "-") {
				value = c.Args[j+1]
				arg = key + "=" + value
			}
			addArg(f, key, value, arg)
		}
		break
	}
	return &reachv1.Fact{Fact: &reachv1.Fact_Controller{Controller: f}}
}

// image splits "host/path/kustomize-controller:v1.9.6@sha256:..." into the last
// part of its name and the version in its tag.
func image(ref string) (name, version string) {
	ref, _, _ = strings.Cut(ref, "@")
	ref = ref[strings.LastIndex(ref, "/")+1:]
	name, tag, _ := strings.Cut(ref, ":")
	version = strings.TrimPrefix(tag, "v")
	if !semver().MatchString(version) {
		version = ""
	}
	return clip(name, maxName), version
}

var semver = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]{1,64})?$`)
})

// addArg notes an argument of a controller, if it may be told.
func addArg(f *reachv1.ControllerFact, key, value, arg string) {
	if key == "--feature-gates" {
		for gate := range strings.SplitSeq(value, ",") {
			name, on, ok := strings.Cut(strings.TrimSpace(gate), "=")
			if ok && word().MatchString(name) && len(f.GetFeatureGates()) < 100 {
				if f.FeatureGates == nil {
					f.FeatureGates = map[string]bool{}
				}
				f.FeatureGates[name] = strings.EqualFold(on, "true")
			}
		}
		return
	}
	for _, known := range controllerArgs {
		if key == known && len(f.GetArgs()) < 16 {
			f.Args = append(f.Args, clip(arg, maxText))
		}
	}
}

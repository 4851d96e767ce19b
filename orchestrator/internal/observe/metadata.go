package observe

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Bounds of what a server may write into one object.
const (
	maxName   = 253
	maxText   = 1024
	maxLabels = 64
	maxOwners = 64
	// Kubernetes itself keeps up to ten managers that update, and any number that
	// apply.
	maxManagers = 64
)

// metadata is what is read of an object's metadata.
type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	Generation        int64             `json:"generation"`
	CreationTimestamp stamp             `json:"creationTimestamp"`
	DeletionTimestamp stamp             `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	OwnerReferences   []struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		UID        string `json:"uid"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences"`
	// The fields that a manager manages are not read.
	ManagedFields []struct {
		Manager     string `json:"manager"`
		Operation   string `json:"operation"`
		Subresource string `json:"subresource"`
		Time        stamp  `json:"time"`
	} `json:"managedFields"`
}

// object is an object of which only metadata is read.
type object struct {
	Metadata metadata `json:"metadata"`
}

func (o object) meta() *metadata { return &o.Metadata }

// usable reports whether the names are such as an API server gives out.
func (m *metadata) usable(namespaced bool) bool {
	return plainName(m.Name) && (m.Namespace == "" || plainName(m.Namespace)) && (namespaced || m.Namespace == "") && !(namespaced && m.Namespace == "")
}

// plainName reports whether s can name an object: names of RBAC may hold nearly
// everything but a slash and a percent sign.
func plainName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == '/' || r == utf8.RuneError || unicode.IsControl(r) })
}

// present is what is told of the object.
func (m *metadata) present(k session.Kind) *reachv1.PresentObject {
	o := &reachv1.PresentObject{
		Group: k.Group, Version: k.Version, Kind: k.Kind, Namespace: m.Namespace, Name: m.Name, Uid: clip(m.UID, 128),
		Labels: telling(m.Labels), Annotations: telling(m.Annotations),
		Created: m.CreationTimestamp.proto(), Deleted: m.DeletionTimestamp.proto(),
	}
	_, o.HasLastApplied = m.Annotations[lastApplied]
	for _, r := range m.OwnerReferences[:min(len(m.OwnerReferences), maxOwners)] {
		group, version := groupVersion(r.APIVersion)
		o.Owners = append(o.Owners, &reachv1.OwnerReference{
			Group: group, Version: version, Kind: clip(r.Kind, maxName), Name: clip(r.Name, maxName), Uid: clip(r.UID, 128), Controller: r.Controller,
		})
	}
	for _, f := range m.ManagedFields[:min(len(m.ManagedFields), maxManagers)] {
		o.Managers = append(o.Managers, &reachv1.FieldManager{
			Manager: clip(f.Manager, 128), Operation: clip(f.Operation, 32), Subresource: clip(f.Subresource, 64), Time: f.Time.proto(),
		})
	}
	return o
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// owners are the domains of labels and annotations that tell an owner; keys of
// domains below count too.
var owners = []string{
	"toolkit.fluxcd.io", "fluxcd.controlplane.io", "argoproj.io", "projectsveltos.io", "meta.helm.sh", "helm.sh",
	"operators.coreos.com", "openshift.io",
}

// ownerKeys are further keys that tell an owner.
var ownerKeys = []string{
	"kubernetes.io/bootstrapping", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/part-of",
	"addonmanager.kubernetes.io/mode",
}

// tellsOwner reports whether a label or an annotation may be told.
func tellsOwner(key string) bool {
	if slices.Contains(ownerKeys, key) || strings.HasPrefix(key, "olm.") {
		return true
	}
	domain, _, ok := strings.Cut(key, "/")
	return ok && slices.ContainsFunc(owners, func(d string) bool { return below(domain, d) })
}

// below reports whether a domain is d or one below it.
func below(domain, d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) }

// telling is what may be told of labels or annotations.
func telling(all map[string]string) map[string]string {
	var out map[string]string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if len(key) > maxName+64 || !tellsOwner(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		if out[key] = clip(all[key], maxText); len(out) == maxLabels {
			break
		}
	}
	return out
}

// stamp is a time as the API writes it; what is none is left out.
type stamp string

func (s stamp) proto() *timestamppb.Timestamp {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil || t.Year() < 1 {
		return nil
	}
	return timestamppb.New(t)
}

// groupVersion splits "apps/v1" and "v1".
func groupVersion(apiVersion string) (group, version string) {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", group
	}
	return clip(group, maxName), clip(version, maxName)
}

// clip is s in no more than n bytes, without characters that are not printed.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for s != "" && !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

func clipped(all []string, most, n int) []string {
	out := slices.Clone(all[:min(len(all), most)])
	for i := range out {
		out[i] = clip(out[i], n)
	}
	return out
}

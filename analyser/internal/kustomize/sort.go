package kustomize

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// The order of kinds that `sortOptions: {order: legacy}` means without lists of
// its own (upstream: SortOrderTransformer, which is not public).
var (
	legacyFirst = []string{
		"Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition",
		"ServiceAccount", "PodSecurityPolicy", "Role", "ClusterRole",
		"RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Endpoints",
		"Service", "LimitRange", "PriorityClass", "PersistentVolume",
		"PersistentVolumeClaim", "Deployment", "StatefulSet", "CronJob",
		"PodDisruptionBudget",
	}
	legacyLast = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)

// sort orders the entries as sortOptions say.
func (acc *accumulation) sort(o types.SortOptions) *Failure {
	switch {
	case o.Order == types.FIFOSortOrder && o.LegacySortOptions == nil:
		return nil
	case o.Order != types.LegacySortOrder:
		return fail(codeBadKustomization, 0, "sortOptions.order is fifo without further options, or legacy")
	}
	first, last := legacyFirst, legacyLast
	if l := o.LegacySortOptions; l != nil {
		first, last = l.OrderFirst, l.OrderLast
	}
	rank := map[string]int{}
	for i, k := range first {
		rank[k] = i - len(first)
	}
	for i, k := range last {
		rank[k] = 1 + i
	}
	type sortable struct {
		entry *entry
		id    resid.ResId
	}
	list := make([]sortable, len(acc.list))
	for i, e := range acc.list {
		list[i] = sortable{e, e.res.CurId()}
	}
	slices.SortStableFunc(list, func(a, b sortable) int {
		if a.id.Gvk.Equals(b.id.Gvk) {
			return strings.Compare(sortKey(a.id), sortKey(b.id))
		}
		return cmp.Or(
			cmp.Compare(rank[a.id.Kind], rank[b.id.Kind]),
			compareGvk(a.id.Gvk, b.id.Gvk),
		)
	})
	acc.list = nil
	for _, s := range list {
		acc.list = append(acc.list, s.entry)
	}
	entries := acc.list
	acc.list = nil
	if err := acc.add(entries...); err != nil {
		return wrap(err, codeDuplicateID, 0, "")
	}
	return nil
}

func orElse(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}

func compareGvk(a, b resid.Gvk) int {
	key := func(g resid.Gvk) string {
		return orElse(g.Group, "~G") + "_" + orElse(g.Version, "~V") + "_" + orElse(g.Kind, "~K")
	}
	c := strings.Compare(key(a), key(b))
	if a.Kind == types.NamespaceKind && b.Kind == types.NamespaceKind && (a.Group == "" || b.Group == "") {
		return -c
	}
	return c
}

func sortKey(id resid.ResId) string {
	return id.Gvk.String() + "|" + orElse(id.Namespace, "~X") + "|" + orElse(id.Name, "~N")
}

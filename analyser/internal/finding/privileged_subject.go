package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// privilegedSubject finds people and teams with the rights of an administrator,
// and where these land.
//
// A person or team is a subject of kind User or Group. Service accounts are not,
// in any spelling, nor is what Kubernetes reserves for itself ("system:"), but
// for the groups that mean everybody, nor the user as whom Flux may act in a
// namespace ("gotk:<namespace>:reconciler"). The rights are those of cluster-admin, or
// of a role with a rule that allows every verb on every resource of all groups,
// of the core group (secrets, pods) or of rbac itself; what an aggregated role
// gathers on the cluster counts. A role that the repository does not apply there
// cannot be judged, which a note says.
var privilegedSubject = &Rule{
	Name:     "reach.rbac.privileged_subject",
	Doc:      "A binding gives a person's or a team's subject cluster-admin or wildcard rights on the clusters where it lands.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		rights, bindings := rightsOf(m)
		type key struct {
			origin position.Pos
			ref    object.Key
		}
		type landed struct {
			object placement.Object
			right  string
		}
		found := map[key][]landed{}
		var order []key
		for _, b := range bindings {
			if len(people(b.Object)) == 0 {
				continue
			}
			right, _ := rights[b.Cluster].granted(b.Object)
			if right == "" {
				continue
			}
			k := key{b.Object.Origin, b.Ref.Key()}
			if found[k] == nil {
				order = append(order, k)
			}
			found[k] = append(found[k], landed{b, right})
		}
		var out []Finding
		for _, k := range order {
			on := found[k]
			first := on[0]
			var names []cluster.Name
			for _, l := range on {
				names = append(names, l.object.Cluster)
			}
			names = clustersOf(names)
			f := aboutSync(m, first.object.Applied)
			f.At = m.Positions.Position(first.object.Object.Origin)
			f.Kind, f.Namespace, f.Name, f.Count = k.ref.Kind, k.ref.Namespace, k.ref.Name, len(names)
			if f.Cluster = first.object.Cluster; len(names) > 1 {
				f.Cluster = ""
			}
			where := "the whole cluster"
			if k.ref.Kind == "RoleBinding" {
				where = "the namespace " + k.ref.Namespace
			}
			who := people(first.object.Object)
			f.Message = fmt.Sprintf("%s gives %s %s, over %s, on %s.", first.object.Ref, some(who, 4), first.right, where, some(names, 6))
			f.Remedy = "Decide whether that is meant on each of these clusters; where it is not, bind a narrower role, or grant it for the time that it is needed."
			for _, l := range on {
				if len(f.Facts) == mostFacts {
					break
				}
				f.Facts = append(f.Facts, Fact{
					Cluster: l.object.Cluster, Text: some(people(l.object.Object), 4) + ": " + l.right + " over " + where + ", applied by " + l.object.Applied.Controller(),
					At: m.written(l.object.Object, field(l.object.Object.Node(), "roleRef", "name")),
				})
			}
			out = append(out, f)
		}
		return out
	},
	Note: func(m *Model) []string {
		rights, bindings := rightsOf(m)
		unknown := map[string]bool{}
		for _, b := range bindings {
			if len(people(b.Object)) > 0 {
				if _, missing := rights[b.Cluster].granted(b.Object); missing != "" {
					unknown[missing+" on "+string(b.Cluster)] = true
				}
			}
		}
		if len(unknown) == 0 {
			return nil
		}
		var names []string
		for n := range unknown {
			names = append(names, n)
		}
		slices.Sort(names)
		return []string{"People or teams are bound to roles that this repository does not apply, so nothing says what these allow: " + some(names, 5) + "."}
	},
}

const rbac = "rbac.authorization.k8s.io"

// clusterRights are the roles of one cluster, as the repository applies them.
type clusterRights struct {
	// roles by kind, namespace and name.
	roles map[object.Key]*kustomize.Object
	// patterns remembers which are wildcards.
	judged map[object.Key]string
}

func rightsOf(m *Model) (map[cluster.Name]*clusterRights, []placement.Object) {
	rights := map[cluster.Name]*clusterRights{}
	var bindings []placement.Object
	for _, o := range m.Objects {
		if o.Ref.Group != rbac || o.Object.UnknownIdentity {
			continue
		}
		r := rights[o.Cluster]
		if r == nil {
			r = &clusterRights{roles: map[object.Key]*kustomize.Object{}, judged: map[object.Key]string{}}
			rights[o.Cluster] = r
		}
		key := o.Ref.Key()
		switch key.Kind {
		case "ClusterRole", "ClusterRoleBinding":
			key.Namespace = ""
		}
		switch key.Kind {
		case "ClusterRole", "Role":
			r.roles[key] = o.Object
		case "ClusterRoleBinding", "RoleBinding":
			bindings = append(bindings, o)
		}
	}
	return rights, bindings
}

// people are the subjects of a binding that are people or teams, sorted, as
// "User jane" or "Group team-a".
func people(binding *kustomize.Object) []string {
	content := binding.Tree.Open()
	var out []string
	for _, s := range items(content.Node, "subjects") {
		name := field(s, "name")
		if name == nil || name.Kind != yaml.ScalarNode || name.Value == "" {
			continue
		}
		if _, unknown := content.Unknown[name]; unknown {
			continue
		}
		kind := text(s, "kind")
		switch everybody := name.Value == "system:authenticated" || name.Value == "system:unauthenticated" ||
			name.Value == "system:serviceaccounts" || name.Value == "system:authenticated:oauth"; {
		case kind == "Group" && everybody:
			out = append(out, "everybody in Group "+name.Value)
		case (kind == "User" || kind == "Group") && !strings.HasPrefix(name.Value, "system:") && !strings.HasPrefix(name.Value, "gotk:"):
			out = append(out, kind+" "+name.Value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// granted says what a binding grants when that is the rights of an
// administrator, and which role cannot be judged since the repository does not
// apply it to the cluster; both are empty for a role that is known and narrow.
func (r *clusterRights) granted(binding *kustomize.Object) (right, missing string) {
	content := binding.Tree.Open()
	kind, name := text(content.Node, "roleRef", "kind"), text(content.Node, "roleRef", "name")
	if _, unknown := content.Unknown[field(content.Node, "roleRef", "name")]; unknown || name == "" {
		return "", ""
	}
	key := object.Key{Group: rbac, Kind: kind, Name: name}
	if kind == "Role" {
		key.Namespace = binding.Ref.Namespace
	}
	if kind == "ClusterRole" && name == "cluster-admin" {
		return "cluster-admin", ""
	}
	if why := r.wildcard(key, 0); why != "" {
		return why + " (" + kind + " " + name + ")", ""
	}
	_, builtIn := aggregations[name]
	if r.roles[key] == nil && !(kind == "ClusterRole" && (builtIn || strings.HasPrefix(name, "system:"))) {
		return "", kind + " " + name
	}
	return "", ""
}

// aggregations are the ClusterRoles that Kubernetes has anyhow and that gather
// others by a label (upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
var aggregations = map[string]struct{ gathers, gatheredBy string }{
	"admin": {"aggregate-to-admin", ""},
	"edit":  {"aggregate-to-edit", "admin"},
	"view":  {"aggregate-to-view", "edit"},
}

// wildcard says whether a role, with what it gathers, allows everything that
// makes an administrator; "" when it does not.
func (r *clusterRights) wildcard(key object.Key, depth int) string {
	if why, ok := r.judged[key]; ok {
		return why
	}
	if depth > 10 {
		return ""
	}
	r.judged[key] = "" // what gathers itself adds nothing
	why := ""
	if role := r.roles[key]; role != nil {
		for _, rule := range items(role.Node(), "rules") {
			why = cmp.Or(why, everything(rule))
		}
		for _, s := range items(role.Node(), "aggregationRule", "clusterRoleSelectors") {
			why = cmp.Or(why, r.gathered(depth, func(o *kustomize.Object) bool { return selects(s, o) }))
		}
	}
	if a, ok := aggregations[key.Name]; ok && key.Kind == "ClusterRole" {
		why = cmp.Or(why, r.gathered(depth, func(o *kustomize.Object) bool {
			return text(o.Node(), "metadata", "labels", rbac+"/"+a.gathers) == "true"
		}))
		for name, other := range aggregations {
			if other.gatheredBy == key.Name {
				why = cmp.Or(why, r.wildcard(object.Key{Group: rbac, Kind: "ClusterRole", Name: name}, depth+1))
			}
		}
	}
	r.judged[key] = why
	return why
}

// gathered looks at the ClusterRoles that a selector means.
func (r *clusterRights) gathered(depth int, selected func(*kustomize.Object) bool) string {
	why := ""
	for key, o := range r.roles {
		if key.Kind == "ClusterRole" && selected(o) {
			if w := r.wildcard(key, depth+1); w != "" && (why == "" || w < why) {
				why = w
			}
		}
	}
	return why
}

// selects reports a label selector that means an object. One with an operator
// that is not known selects nothing.
func selects(selector *yaml.Node, o *kustomize.Object) bool {
	labels := field(o.Node(), "metadata", "labels")
	m := field(selector, "matchLabels")
	n := 0
	if m != nil && m.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(m.Content); i += 2 {
			n++
			if v := field(labels, m.Content[i].Value); v == nil || v.Value != m.Content[i+1].Value {
				return false
			}
		}
	}
	for _, e := range items(selector, "matchExpressions") {
		n++
		v, values := field(labels, text(e, "key")), texts(e, "values")
		ok := false
		switch text(e, "operator") {
		case "In":
			ok = v != nil && slices.Contains(values, v.Value)
		case "NotIn":
			ok = v == nil || !slices.Contains(values, v.Value)
		case "Exists":
			ok = v != nil
		case "DoesNotExist":
			ok = v == nil
		}
		if !ok {
			return false
		}
	}
	return n > 0
}

// everything says what a rule allows when that makes an administrator.
func everything(rule *yaml.Node) string {
	if !slices.Contains(texts(rule, "verbs"), "*") || !slices.Contains(texts(rule, "resources"), "*") || len(texts(rule, "resourceNames")) > 0 {
		return ""
	}
	groups := texts(rule, "apiGroups")
	switch {
	case slices.Contains(groups, "*"):
		return "every verb on every resource"
	case slices.Contains(groups, ""):
		return "every verb on every resource of the core group, secrets among them,"
	case slices.Contains(groups, rbac):
		return "every verb on roles and bindings"
	}
	return ""
}

package object

import (
	"errors"
	"strings"
)

// ErrMalformedID is returned by ParseID. It does not repeat the id.
var ErrMalformedID = errors.New("not an inventory id: want <namespace>_<name>_<group>_<kind>")

// ID is the key under which Flux's inventories list the object:
//
//	<namespace>_<name>_<group>_<kind>
//
// with an empty namespace for cluster-scoped objects, an empty group for the
// core group, and "__" for each colon in the name of an RBAC object. The
// version stands beside the id in an inventory, not in it. Upstream:
// fluxcd/cli-utils pkg/object/objmetadata.go.
func (k Key) ID() string {
	name := k.Name
	if k.Group == "rbac.authorization.k8s.io" {
		switch k.Kind {
		case "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding":
			name = strings.ReplaceAll(name, ":", "__")
		}
	}
	return k.Namespace + "_" + name + "_" + k.Group + "_" + k.Kind
}

// ParseID reads an id the way Flux does: the namespace ends at the first
// underscore, the kind starts after the last, the group after the one before,
// and what is between is the name, whatever its kind, with "__" for a colon. A
// single underscore within the name is an error. The name may be empty: some
// releases of kustomize-controller stored such entries.
func ParseID(id string) (Key, error) {
	var k Key
	rest, ok := id, false
	if k.Namespace, rest, ok = strings.Cut(rest, "_"); !ok {
		return Key{}, ErrMalformedID
	}
	if rest, k.Kind, ok = cutLast(rest, "_"); !ok {
		return Key{}, ErrMalformedID
	}
	if rest, k.Group, ok = cutLast(rest, "_"); !ok {
		return Key{}, ErrMalformedID
	}
	k.Name = strings.ReplaceAll(rest, "__", ":")
	if strings.Contains(k.Name, "_") {
		return Key{}, ErrMalformedID
	}
	return k, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Package object is the leaf vocabulary of Kubernetes objects: what names one,
// how Flux's inventories write that name, and which kinds have no namespace.
package object

import (
	"cmp"
	"strings"
)

// Ref names one object on one cluster, with the version in which it is
// written. Group is empty for the core group, Namespace for objects without
// one.
type Ref struct {
	Group, Version, Kind, Namespace, Name string
}

// Key is a Ref without its version: two Refs with one Key are one object on a
// cluster.
type Key struct {
	Group, Kind, Namespace, Name string
}

// GroupKind names a kind without a version.
type GroupKind struct {
	Group, Kind string
}

// Key drops the version.
func (r Ref) Key() Key { return Key{r.Group, r.Kind, r.Namespace, r.Name} }

// GroupKind drops everything but group and kind.
func (r Ref) GroupKind() GroupKind { return GroupKind{r.Group, r.Kind} }

// APIVersion is "group/version", or the version alone in the core group.
func (r Ref) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// String is "Kind.group namespace/name", for people.
func (r Ref) String() string { return r.Key().String() }

func (k Key) String() string {
	s := k.GroupKind().String() + " "
	if k.Namespace != "" {
		s += k.Namespace + "/"
	}
	return s + k.Name
}

// GroupKind of the key.
func (k Key) GroupKind() GroupKind { return GroupKind{k.Group, k.Kind} }

// String is "Kind.group", or "Kind" in the core group.
func (g GroupKind) String() string {
	if g.Group == "" {
		return g.Kind
	}
	return g.Kind + "." + g.Group
}

// SplitAPIVersion splits "group/version"; the core group is empty.
func SplitAPIVersion(apiVersion string) (group, version string) {
	if g, v, ok := strings.Cut(apiVersion, "/"); ok {
		return g, v
	}
	return "", apiVersion
}

// Compare orders by group, kind, namespace, name, version.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(r.Key().Compare(o.Key()), strings.Compare(r.Version, o.Version))
}

// Compare orders by group, kind, namespace, name.
func (k Key) Compare(o Key) int {
	return cmp.Or(
		strings.Compare(k.Group, o.Group), strings.Compare(k.Kind, o.Kind),
		strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name),
	)
}

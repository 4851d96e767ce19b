// Package objectname reads the names of objects on a command line:
//
//	KIND[.GROUP]/[NAMESPACE/]NAME[@CLUSTER]
package objectname

import (
	"errors"
	"fmt"
	"strings"
)

// Name is an object, or as much of its name as was given.
type Name struct {
	Kind string
	// Group when HasGroup: "" is the core group, written "Secret./name".
	Group    string
	HasGroup bool
	// Namespace when HasNamespace: "" is none, written "Kind//name".
	Namespace    string
	HasNamespace bool
	Name         string
	// Cluster, empty for all.
	Cluster string
}

// ErrMalformed is what every error of Parse wraps.
var ErrMalformed = errors.New("an object is named KIND[.GROUP]/[NAMESPACE/]NAME[@CLUSTER], for example Deployment.apps/shop/frontend")

// maxLength bounds what Parse reads.
const maxLength = 2048

// Parse reads a name. What follows the last @ is the cluster, which may hold
// slashes; a name that itself holds an @ is followed by another one.
func Parse(s string) (Name, error) {
	if len(s) > maxLength {
		return Name{}, fmt.Errorf("%w; this is longer than %d bytes", ErrMalformed, maxLength)
	}
	var n Name
	rest := s
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		rest, n.Cluster = s[:i], s[i+1:]
	}
	parts := strings.Split(rest, "/")
	switch len(parts) {
	case 2:
		n.Name = parts[1]
	case 3:
		n.Namespace, n.HasNamespace, n.Name = parts[1], true, parts[2]
	default:
		return Name{}, ErrMalformed
	}
	n.Kind, n.Group, n.HasGroup = strings.Cut(parts[0], ".")
	if n.Kind == "" || n.Name == "" {
		return Name{}, ErrMalformed
	}
	return n, nil
}

// String writes the name so that Parse reads it again.
func (n Name) String() string {
	s := n.Kind
	if n.HasGroup {
		s += "." + n.Group
	}
	s += "/"
	if n.HasNamespace {
		s += n.Namespace + "/"
	}
	s += n.Name
	if n.Cluster != "" || strings.Contains(s, "@") {
		s += "@" + n.Cluster
	}
	return s
}

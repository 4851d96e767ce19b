// Package crds pins the modules from which hack/live takes the definitions of
// custom kinds: OpenShift's and OLM's as they are published, HelmRelease and
// the kinds of Flux's notification-controller from their Go types by
// controller-gen. It is a module of its own, which nothing imports.
//
// A module from which only files are taken is kept in go.mod by the imports
// below; go mod tidy adds what their tests need.
package crds

import (
	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/notification-controller/api/v1"
	_ "github.com/openshift/api/config/v1"
	_ "github.com/operator-framework/api/crds"
)
